package trace

import (
	"iter"
	"sync"

	"github.com/adkreplay/adkreplay/internal/wire"
)

// body holds the crossings of a trace. They stay encoded as they were read until a caller asks for
// all of them at once.
type body struct {
	mu    sync.Mutex
	held  *wire.Held // nil once there are lines
	lines []Line
}

// is returns the crossings in the form in which the body holds them: encoded or as lines. The other
// result is nil.
func (b *body) is() (*wire.Held, []Line) {
	if b == nil {
		return nil, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held, b.lines
}

// Len returns the number of crossings in the trace.
func (t *Trace) Len() int {
	held, lines := t.body.is()
	if held != nil {
		return held.Len()
	}
	return len(lines)
}

// All iterates over the crossings in order, with their indexes from 0. Unless Lines was called
// before, each crossing is decoded when it is yielded, and changing it does not change the trace.
func (t *Trace) All() iter.Seq2[int, *Line] {
	return func(yield func(int, *Line) bool) {
		held, lines := t.body.is()
		for i := range lines {
			if !yield(i, &lines[i]) {
				return
			}
		}
		if held == nil {
			return
		}
		for i := range held.Len() {
			if len(lines) == 0 {
				lines = make([]Line, min(linesAtOnce, held.Len()-i))
			}
			line := &lines[0]
			lines = lines[1:]
			if line.Extra = held.Into(i, &line.Crossing); !yield(i, line) {
				return
			}
		}
	}
}

// Lines returns all crossings at once, for callers that need random access or want to change them.
// A change to a returned line changes the trace. From this call on, the trace holds all crossings
// decoded, at about half a kilobyte each.
func (t *Trace) Lines() []Line {
	if t.body == nil {
		return nil
	}
	b := t.body
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held != nil {
		b.lines = make([]Line, b.held.Len())
		for i := range b.lines {
			b.lines[i].Extra = b.held.Into(i, &b.lines[i].Crossing)
		}
		b.held = nil
	}
	return b.lines
}

// SetLines replaces the crossings of the trace and takes ownership of the slice. Copies of the
// trace keep their own crossings.
func (t *Trace) SetLines(lines []Line) { t.body = &body{lines: lines} }
