package transcript

import (
	"errors"
	"io"
	"iter"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// State is what an engine held after a crossing of a recorded run: everything that the crossings
// lead to (DET-8), and what was open.
type State struct {
	// Crossing is the number of the crossing, and Crossings is how many the trace has.
	Crossing  int `json:"crossing"`
	Crossings int `json:"crossings"`
	// At is the time since the first crossing, in nanoseconds.
	At time.Duration `json:"at"`
	// Seam is the path of the seam call that the crossing belongs to. Line is how a transcript
	// shows the crossing.
	Seam string `json:"seam"`
	Line string `json:"line"`
	// Cancelled is true if the run's context was done.
	Cancelled bool `json:"cancelled,omitempty"`
	// Calls holds the open seam calls, in the order in which they began.
	Calls []OpenCall `json:"calls"`
	// Turn is what the turn's context held; nil for a standalone dispatch. Dispatches holds the
	// open dispatches, the outermost first.
	Turn       *HeldContext  `json:"turn,omitempty"`
	Dispatches []HeldContext `json:"dispatches,omitempty"`
	// Gates holds the gates that a call waited for.
	Gates []OpenGate `json:"gates,omitempty"`

	names *describe.Namer
}

// OpenCall is a seam call that has not returned.
type OpenCall struct {
	Call   int    `json:"call"`
	In     int    `json:"in,omitempty"` // the call in which it was made
	Seam   string `json:"seam"`
	Strand int    `json:"strand,omitempty"`
	// Since is the number of the crossing with which it began.
	Since int `json:"since"`
	// Operations are those that the call waits for, as a transcript shows them.
	Operations []string `json:"operations,omitempty"`
}

// HeldContext is what a turn context or a dispatch context held.
type HeldContext struct {
	// ID is the id of the turn or the dispatch; empty before its start event.
	ID string `json:"id,omitempty"`
	// Seam is the path of the dispatch's call; empty for the turn.
	Seam string `json:"seam,omitempty"`
	// Iteration is the current or last iteration of the dispatch, from 0. Iterations is how many
	// were started.
	Iteration  int `json:"iteration,omitempty"`
	Iterations int `json:"iterations,omitempty"`
	// Signal is ack or nack after the dispatch got one.
	Signal string `json:"signal,omitempty"`
	// Waiting is how many changes wait for the flush to the turn.
	Waiting int `json:"waiting,omitempty"`

	Prompt string `json:"prompt"`
	// The sets and the registry, in order.
	Instructions []adk.Record `json:"instructions,omitempty"`
	Messages     []adk.Record `json:"messages,omitempty"`
	Memories     []adk.Record `json:"memories,omitempty"`
	Retrievables []adk.Record `json:"retrievables,omitempty"`
	Thoughts     []adk.Record `json:"thoughts,omitempty"`
	ToolCalls    []adk.Record `json:"toolCalls,omitempty"`
	Tools        []adk.Record `json:"tools,omitempty"`
	// Stash is the nested tree.
	Stash HeldStash `json:"stash,omitempty"`
	// Streams holds what was reported in the dispatch, in the order in which the reports began.
	Streams []HeldStream `json:"streams,omitempty"`
}

// sets iterates over the sets and the registry, in the order of a state.
func (h *HeldContext) sets() iter.Seq2[adk.CollectionName, *[]adk.Record] {
	members := map[adk.CollectionName]*[]adk.Record{
		adk.Instructions: &h.Instructions, adk.Messages: &h.Messages, adk.Memories: &h.Memories, adk.Retrievables: &h.Retrievables,
		adk.Thoughts: &h.Thoughts, adk.ToolCalls: &h.ToolCalls, adk.Tools: &h.Tools,
	}
	return func(yield func(adk.CollectionName, *[]adk.Record) bool) {
		for _, of := range adk.Collections() {
			if !yield(of, members[of]) {
				return
			}
		}
	}
}

// HeldStream is a message, a thought or a tool call that was being reported.
type HeldStream = state.HeldStream

// HeldStash is the nested tree of a stash. Its JSON is that of a trace.
type HeldStash map[string]any

// MarshalJSON writes the tree so that a reader can distinguish the kinds of numbers.
func (s HeldStash) MarshalJSON() ([]byte, error) {
	return plain.AppendJSON(nil, map[string]any(s)), nil
}

// OpenGate is a gate that a call waited for.
type OpenGate struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
	// Seam is the path of the waiting call. Since is the number of the crossing with which the wait
	// began.
	Seam  string `json:"seam"`
	Since int    `json:"since"`
	// Result is how the gate was settled, if its waiter had not woken up yet.
	Result string `json:"result,omitempty"`
}

// At returns what the engine held after crossing n of a trace, counted from 1. It reads the trace
// to its end. If that fails after crossing n, At returns both the state and the error.
func At(recorded io.Reader, n int, options ...trace.Options) (*State, error) {
	r, err := trace.NewReader(recorded, options...)
	if err != nil {
		return nil, err
	}
	b := newStateBuilder()
	var state *State
	number := 0
	for {
		line, err := r.Next()
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			if state != nil {
				state.Crossings = number
			}
			return state, errors.Join(noCrossing(n, number), err)
		}
		number++
		if number < n {
			b.pass(number, &line.Crossing)
		}
		if number == n {
			state = b.state(number, &line.Crossing)
		}
	}
}

// begun is what began with a crossing.
type begun struct {
	number int
	words  string
	text   string // the reason of a gate
}

// stateBuilder folds the crossings up to the requested one.
type stateBuilder struct {
	names *describe.Namer
	began time.Time
	begun map[int]begun // by call
	ops   map[int]begun // by operation; only open ones
}

func newStateBuilder() *stateBuilder {
	return &stateBuilder{names: describe.New(state.New()), begun: map[int]begun{}, ops: map[int]begun{}}
}

func (b *stateBuilder) pass(number int, x *adk.Crossing) {
	if b.began.IsZero() {
		b.began = x.At
	}
	switch {
	case x.Kind == adk.KindCall:
		b.begun[x.ID] = begun{number: number}
	case x.Phase == adk.Begin:
		b.names.Note(x)
		b.ops[x.Op] = begun{number, b.names.Operation(x), x.Text}
	case x.Phase == adk.Done:
		delete(b.ops, x.Op)
	}
	_ = b.names.Pass(x) // transcripts report what no engine can emit
}

// state adds the last crossing, and returns what the engine holds after it.
func (b *stateBuilder) state(number int, x *adk.Crossing) *State {
	f := b.names.Fold
	s := &State{Crossing: number, Line: b.names.Line(x), Calls: []OpenCall{}, names: b.names}
	s.Seam = f.SeamOf(x)
	b.pass(number, x)
	s.At, s.Cancelled = x.At.Sub(b.began), f.Cancelled
	for _, c := range f.Open() {
		s.Calls = append(s.Calls, b.call(c))
		if d := c.Dispatch; d != nil && d.Call == c {
			s.Dispatches = append(s.Dispatches, heldDispatch(d))
		}
	}
	if root := f.Root; root != nil && !f.Standalone() {
		turn := held(root)
		turn.ID = f.TurnID
		s.Turn = &turn
	}
	for _, g := range f.Gates {
		s.Gates = append(s.Gates, OpenGate{ID: g.ID, Reason: b.ops[g.Op].text, Seam: g.Call.Seam.String(), Since: b.ops[g.Op].number, Result: g.Result})
	}
	return s
}

func (b *stateBuilder) call(c *state.Call) OpenCall {
	open := OpenCall{Call: c.ID, In: c.ParentID(), Seam: c.Seam.String(), Strand: c.Strand, Since: b.begun[c.ID].number}
	for _, op := range b.names.Fold.Running(c) {
		open.Operations = append(open.Operations, b.ops[op.Number].words)
	}
	return open
}

// held returns what is visible through a context.
func held(v *state.View) HeldContext {
	h := HeldContext{Prompt: v.Prompt(), Stash: v.Stash()}
	for of, records := range h.sets() {
		*records = v.Records(of)
	}
	return h
}

func heldDispatch(d *state.Dispatch) HeldContext {
	h := held(d.Visible)
	h.ID, h.Seam = d.ID, d.Call.Seam.String()
	h.Iteration, h.Iterations, h.Waiting = d.Iteration, d.Started, len(d.Queue)
	switch {
	case d.Acked:
		h.Signal = adk.StatusAck
	case d.Nacked:
		h.Signal = adk.StatusNack
	}
	for _, stream := range d.Streams {
		h.Streams = append(h.Streams, d.Stream(stream))
	}
	return h
}
