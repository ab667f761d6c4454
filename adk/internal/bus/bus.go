// Package bus delivers events to listeners. A Bus is a list of listeners that may change while they
// are called. A Relay makes listeners hear the events that several goroutines emit in one order.
package bus

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Bus is a list of listeners. Reading it takes a snapshot, so a listener may register and
// unsubscribe others while it runs. The zero Bus is empty.
type Bus[L any] struct {
	mu      sync.Mutex
	entries atomic.Pointer[[]*Entry[L]]
}

// Entry is one registration. The zero Entry takes every event.
type Entry[L any] struct {
	Listeners L

	once  bool          // the entry takes only one event of each kind
	spent atomic.Uint64 // a bit for each kind that a once entry has taken
}

// Takes reports whether the entry takes an event of a kind, which must be below 64. For a once
// entry, only the first call for each kind returns true.
func (e *Entry[L]) Takes(kind uint8) bool {
	if !e.once {
		return true
	}
	bit := uint64(1) << kind
	return e.spent.Or(bit)&bit == 0
}

// Add registers listeners after the others, with once for only one event of each kind. off removes
// them again.
func (b *Bus[L]) Add(listeners L, once bool) (off func()) {
	added := &Entry[L]{Listeners: listeners, once: once}
	b.replace(func(old []*Entry[L]) []*Entry[L] { return append(old, added) })
	return func() {
		b.replace(func(old []*Entry[L]) []*Entry[L] {
			return slices.DeleteFunc(old, func(e *Entry[L]) bool { return e == added })
		})
	}
}

// replace replaces the list by an edited copy.
func (b *Bus[L]) replace(edit func([]*Entry[L]) []*Entry[L]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fresh := edit(slices.Clone(b.All()))
	b.entries.Store(&fresh)
}

// All returns the current list; it must not be changed.
func (b *Bus[L]) All() []*Entry[L] {
	if list := b.entries.Load(); list != nil {
		return *list
	}
	return nil
}
