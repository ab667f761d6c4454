package replay

import (
	"errors"
	"io"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// State is what an engine held after a crossing of a recorded run: all that its
// crossings lead to (DET-8), and what was open.
type State struct {
	// Crossing is the number of the crossing, and Crossings how many the trace
	// has.
	Crossing  int `json:"crossing"`
	Crossings int `json:"crossings"`
	// At is the time since the first crossing, in nanoseconds.
	At time.Duration `json:"at"`
	// Seam is the path of the seam call that the crossing belongs to, and Line
	// how a transcript says it.
	Seam string `json:"seam"`
	Line string `json:"line"`
	// Cancelled tells that the run's context was done.
	Cancelled bool `json:"cancelled,omitempty"`
	// Calls are the seam calls that were open, in the order in which they began.
	Calls []OpenCall `json:"calls"`
	// Turn is what the turn's context held; of a dispatch called alone there is
	// none. Dispatches are the dispatches that were open, the outermost first.
	Turn       *HeldContext  `json:"turn,omitempty"`
	Dispatches []HeldContext `json:"dispatches,omitempty"`
	// Gates are those that somebody waited for.
	Gates []OpenGate `json:"gates,omitempty"`

	names *namer
}

// OpenCall is a seam call that has not returned.
type OpenCall struct {
	Call   int    `json:"call"`
	In     int    `json:"in,omitempty"` // the call that it was made in
	Seam   string `json:"seam"`
	Strand int    `json:"strand,omitempty"`
	// Since is the number of the crossing with which it began.
	Since int `json:"since"`
	// Operations are those that the call waits for, as transcripts say them.
	Operations []string `json:"operations,omitempty"`
}

// HeldContext is what a turn context or a dispatch context held.
type HeldContext struct {
	// ID is that of the turn or the dispatch; empty before its start was told.
	ID string `json:"id,omitempty"`
	// Seam is the path of the dispatch's call; empty for the turn.
	Seam string `json:"seam,omitempty"`
	// Iteration is the dispatch's present or last one, from 0, and Iterations is
	// how many were started.
	Iteration  int `json:"iteration,omitempty"`
	Iterations int `json:"iterations,omitempty"`
	// Signal is ack or nack once the dispatch has one.
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
	// Streams are what was reported in the dispatch, in the order in which it
	// was met.
	Streams []HeldStream `json:"streams,omitempty"`
}

// HeldStash is the nested tree of a stash. As JSON it is what a trace writes.
type HeldStash map[string]any

// MarshalJSON writes the tree so that the kinds of numbers can be told.
func (s HeldStash) MarshalJSON() ([]byte, error) {
	return plain.AppendJSON(nil, map[string]any(s)), nil
}

// HeldStream is a message, a thought or a tool call that was being reported.
type HeldStream struct {
	// Kind is message, thought or toolCall.
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Sealed tells that it was complete.
	Sealed bool `json:"sealed,omitempty"`
	// Text is the text so far of a message or a thought.
	Text string `json:"text,omitempty"`
	// Tool and Args are what was known of a tool call.
	Tool string         `json:"tool,omitempty"`
	Args map[string]any `json:"args,omitempty"`
}

// OpenGate is a gate that somebody waited for.
type OpenGate struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
	// Seam is the path of the call that waited, and Since the crossing with which
	// it began to.
	Seam  string `json:"seam"`
	Since int    `json:"since"`
	// Result is how it has settled, if its waiter was not awake yet.
	Result string `json:"result,omitempty"`
}

// StateAt is what the engine held after crossing n of a trace, from 1. The trace
// is read to its end. Where that fails behind crossing n, it gives the state as
// well as the error.
func StateAt(trace io.Reader, n int, options ...Options) (*State, error) {
	r, err := NewReader(trace, options...)
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

// stateBuilder folds the crossings up to the one that is asked for.
type stateBuilder struct {
	names *namer
	began time.Time
	begun map[int]begun // by call
	ops   map[int]begun // by operation; those that are open
}

func newStateBuilder() *stateBuilder {
	return &stateBuilder{names: newNamer(NewFold()), begun: map[int]begun{}, ops: map[int]begun{}}
}

func (b *stateBuilder) pass(number int, x *adk.Crossing) {
	if b.began.IsZero() {
		b.began = x.At
	}
	switch {
	case x.Kind == adk.KindCall:
		b.begun[x.ID] = begun{number: number}
	case x.Phase == adk.Begin:
		b.names.note(x)
		b.ops[x.Op] = begun{number, b.names.operation(x), x.Text}
	case x.Phase == adk.Done:
		delete(b.ops, x.Op)
	}
	_ = b.names.pass(x) // whether an engine tells it is for transcripts to say
}

// state takes the last crossing in, and gives what the engine holds.
func (b *stateBuilder) state(number int, x *adk.Crossing) *State {
	f := b.names.fold
	s := &State{Crossing: number, Line: b.names.line(x), Calls: []OpenCall{}, names: b.names}
	s.Seam = f.seamOf(x)
	b.pass(number, x)
	s.At, s.Cancelled = x.At.Sub(b.began), f.cancelled
	for _, c := range f.open() {
		s.Calls = append(s.Calls, b.call(c))
		if d := c.dispatch; d != nil && d.call == c {
			s.Dispatches = append(s.Dispatches, heldDispatch(d))
		}
	}
	if root := f.root; root != nil && !f.alone() {
		turn := held(root)
		turn.ID = f.turnID
		s.Turn = &turn
	}
	for _, g := range f.gates {
		s.Gates = append(s.Gates, OpenGate{ID: g.id, Reason: b.ops[g.op].text, Seam: g.call.seam.String(), Since: b.ops[g.op].number, Result: g.result})
	}
	return s
}

func (b *stateBuilder) call(c *foldCall) OpenCall {
	open := OpenCall{Call: c.id, In: c.parentID(), Seam: c.seam.String(), Strand: c.strand, Since: b.begun[c.id].number}
	for _, op := range b.names.fold.running(c) {
		open.Operations = append(open.Operations, b.ops[op.number].words)
	}
	return open
}

// open are the calls that have not returned, in the order in which they began.
func (f *Fold) open() (calls []*foldCall) {
	for _, c := range f.calls {
		if !c.ended {
			calls = append(calls, c)
		}
	}
	slices.SortFunc(calls, func(a, b *foldCall) int { return a.id - b.id })
	return calls
}

// running are the operations of a call that are not done, in their order.
func (f *Fold) running(c *foldCall) (ops []*foldOp) {
	for _, op := range f.ops {
		if op.call == c {
			ops = append(ops, op)
		}
	}
	slices.SortFunc(ops, func(a, b *foldOp) int { return a.number - b.number })
	return ops
}

// alone reports whether the run is a dispatch that was called alone.
func (f *Fold) alone() bool {
	for _, c := range f.calls {
		if c.parent == nil && c.dispatch != nil && c.dispatch.visible == f.root {
			return true
		}
	}
	return false
}

// held is what is visible through a context.
func held(v *Visible) HeldContext {
	return HeldContext{
		Prompt: v.Prompt(), Instructions: v.Records(adk.Instructions), Messages: v.Records(adk.Messages),
		Memories: v.Records(adk.Memories), Retrievables: v.Records(adk.Retrievables), Thoughts: v.Records(adk.Thoughts),
		ToolCalls: v.Records(adk.ToolCalls), Tools: v.Records(adk.Tools), Stash: v.Stash(),
	}
}

func heldDispatch(d *foldDispatch) HeldContext {
	h := held(d.visible)
	h.ID, h.Seam = d.id, d.call.seam.String()
	h.Iteration, h.Iterations, h.Waiting = d.iteration, d.started, len(d.queue)
	switch {
	case d.acked:
		h.Signal = adk.StatusAck
	case d.nacked:
		h.Signal = adk.StatusNack
	}
	for _, stream := range d.streams {
		h.Streams = append(h.Streams, d.stream(stream))
	}
	return h
}

// stream is a stream of the dispatch, a new one where it is not known.
func (d *foldDispatch) stream(s thing) HeldStream {
	switch s.space {
	case spaceMessage:
		m := d.messages[s.id]
		return HeldStream{Kind: string(adk.RecordMessage), ID: s.id, Sealed: m.sealed, Text: m.full.String()}
	case spaceThought:
		t := d.thoughts[s.id]
		return HeldStream{Kind: string(adk.RecordThought), ID: s.id, Sealed: t.sealed, Text: t.full.String()}
	}
	call := d.reported[s.id]
	return HeldStream{Kind: string(adk.RecordToolCall), ID: s.id, Sealed: call.Complete, Tool: call.Tool, Args: call.Args}
}
