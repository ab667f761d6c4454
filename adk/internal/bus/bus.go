// Package bus brings events to listeners: a Bus is the list of them, which may change
// while they are called, and a Relay keeps the order in which events are heard that
// several goroutines emit.
package bus

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Bus is a list of listeners. Reading it takes a snapshot, so a listener may register
// and unsubscribe while it runs. The zero Bus has none.
type Bus[L any] struct {
	mu      sync.Mutex
	entries atomic.Pointer[[]*Entry[L]]
}

// Entry is one registration. The zero Entry hears each kind of event as often as it
// comes.
type Entry[L any] struct {
	Listeners L

	once  bool          // each kind is heard once
	spent atomic.Uint64 // a bit for each kind that was heard
}

// Takes reports whether the entry still hears events of a kind, which is below 64, and
// for a once entry uses that up.
func (e *Entry[L]) Takes(kind uint8) bool {
	if !e.once {
		return true
	}
	bit := uint64(1) << kind
	return e.spent.Or(bit)&bit == 0
}

// Add registers listeners behind the others, with once for one event of each kind, and
// gives what removes them again.
func (b *Bus[L]) Add(listeners L, once bool) (off func()) {
	added := &Entry[L]{Listeners: listeners, once: once}
	b.replace(func(old []*Entry[L]) []*Entry[L] { return append(old, added) })
	return func() {
		b.replace(func(old []*Entry[L]) []*Entry[L] {
			return slices.DeleteFunc(old, func(e *Entry[L]) bool { return e == added })
		})
	}
}

// replace puts an edited copy in the place of the list.
func (b *Bus[L]) replace(edit func([]*Entry[L]) []*Entry[L]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fresh := edit(slices.Clone(b.All()))
	b.entries.Store(&fresh)
}

// All is the present list; it must not be changed.
func (b *Bus[L]) All() []*Entry[L] {
	if list := b.entries.Load(); list != nil {
		return *list
	}
	return nil
}
