package bus

import "sync"

// Relay lets one goroutine at a time emit the events of a stream, so that listeners hear
// them in their order; those that come meanwhile wait here and are emitted by the one
// that is at it. It is guarded by the lock that its methods are given, always the same.
// Events are large and go by reference; nothing here calls what it is given, so that one
// that need not wait stays on the stack.
type Relay[From, Event any] struct {
	emitting bool
	waiting  []pending[From, Event]
}

type pending[From, Event any] struct {
	from  From
	event Event
}

// UnlockToEmit releases mu, which is held, and reports whether the event is the caller's
// to emit, and what Next gives after it. Otherwise somebody is at it.
func (y *Relay[From, Event]) UnlockToEmit(mu *sync.Mutex, from From, event *Event) (mine bool) {
	mine = !y.emitting
	if mine {
		y.emitting = true
	} else {
		y.waiting = append(y.waiting, pending[From, Event]{from, *event})
	}
	mu.Unlock()
	return mine
}

// Next gives what came while the last event was emitted, and from whom; a nil event ends
// the emitting. It takes mu.
func (y *Relay[From, Event]) Next(mu *sync.Mutex) (from From, event *Event) {
	mu.Lock()
	if len(y.waiting) == 0 {
		y.emitting = false
		mu.Unlock()
		return from, nil
	}
	first := &y.waiting[0] // nobody else's from here on: the list only grows behind it
	y.waiting = y.waiting[1:]
	mu.Unlock()
	return first.from, &first.event
}
