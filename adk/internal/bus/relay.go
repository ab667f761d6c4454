package bus

import "sync"

// Relay lets only one goroutine at a time emit the events of a stream, so that listeners hear them
// in order. Events that other goroutines report meanwhile wait here, and the emitting goroutine
// emits them too. A Relay is guarded by the lock that is passed to its methods, which must always
// be the same one. Events are large, so they are passed by pointer; the Relay calls no function
// with them, so an event that need not wait stays on the stack.
type Relay[From, Event any] struct {
	emitting bool
	waiting  []pending[From, Event]
}

type pending[From, Event any] struct {
	from  From
	event Event
}

// UnlockToEmit releases mu, which must be held. If mine is true, the caller has to emit the event,
// and then every event that Next returns. Otherwise another goroutine is emitting and will emit the
// event.
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

// Next returns the next event that was reported while the previous one was emitted, and from whom.
// If event is nil, there is none, and the caller has finished emitting. Next locks mu.
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
