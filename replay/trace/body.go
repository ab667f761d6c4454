package trace

import (
	"iter"
	"sync"

	"github.com/adkreplay/adkreplay/internal/wire"
)

// body are the crossings of a trace: as they were read, until somebody wants to have them
// all at once.
type body struct {
	mu    sync.Mutex
	held  *wire.Held // nil once there are lines
	lines []Line
}

// is what the crossings are held as: one of both.
func (b *body) is() (*wire.Held, []Line) {
	if b == nil {
		return nil, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held, b.lines
}

// Len is how many crossings the trace has.
func (t *Trace) Len() int {
	held, lines := t.body.is()
	if held != nil {
		return held.Len()
	}
	return len(lines)
}

// All are the crossings with their places from 0, in their order. Unless Lines was called,
// each is made when it is given, and stays as it is in the trace whatever is done to it.
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

// Lines are all crossings at once, for who takes them in another order or changes them:
// what is changed in them is changed in the trace. From then on the trace holds them as
// they are here, in about half a kilobyte each.
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

// SetLines gives the trace other crossings, and takes the slice over. Copies of the trace
// keep those that they have.
func (t *Trace) SetLines(lines []Line) { t.body = &body{lines: lines} }
