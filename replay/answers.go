package replay

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// This file checks what no crossing says: that the engine hands to user code
// what it tells. Scripted seams look at nothing, so an engine that tells one
// thing and answers another would replay without a difference.

// answers are the checks of what the engine hands to scripted seams.
type answers interface {
	// answered is told what the operation x answered.
	answered(x *adk.Crossing, err error)
	// wrong is told that the engine handed out got where want was told.
	wrong(x *adk.Crossing, field string, want, got any)
	// lastReturn is how the last call in the strand of an operation returned.
	lastReturn(x *adk.Crossing) *adk.Crossing
	// answeredBytes is told what the opening x of a media answered.
	answeredBytes(x *adk.Crossing, got []byte, err error)
	// resolution is the settlement that resolved the gate of a wait.
	resolution(x *adk.Crossing) *adk.Crossing
	// handed is told what an obligation is called with.
	handed(s adk.Scope, record adk.Record, key string)
}

// wrong reports that the engine handed user code something else than the
// crossing x says, or leads to. The crossings of other strands may have come
// between, so it is x that is pointed to, and not where the cursor stands. A
// late operation is none that was recorded: it has no number.
func (p *player) wrong(x *adk.Crossing, field string, want, got any) {
	if x.Seq == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fields := []FieldDiff{{Field: field, Want: shortly(want), Got: shortly(got)}}
	if w, is := want.(error); is && fields[0].Want == fields[0].Got { // two chains with the same words
		if g, is := got.(error); is {
			fields = jsonDiff(field, p.comparer.text(adk.FieldErr, &adk.Crossing{Err: w}), p.comparer.text(adk.FieldErr, &adk.Crossing{Err: g}))
		}
	}
	p.report(&Divergence{Class: ChangedOutput, Crossing: x.Seq, Expected: p.describe(x), Fields: fields}, x)
}

// answered compares what an operation answered with what was told of it.
func (p *player) answered(x *adk.Crossing, err error) {
	p.mu.Lock()
	told := x
	if x.Phase == adk.Begin {
		told = p.done[x.Op]
		delete(p.done, x.Op)
	}
	wrong := told != nil && !p.comparer.sameError(told.Err, err)
	p.mu.Unlock()
	if wrong {
		p.wrong(told, "answer", told.Err, err)
	}
}

// answeredFlag is answered for an operation that also answers yes or no.
func (s *stage) answeredFlag(x *adk.Crossing, flag bool, err error) {
	s.director.answered(x, err)
	if err == nil && flag != x.Flag {
		s.director.wrong(x, "answer", x.Flag, flag)
	}
}

// lastReturn is how the last call in the strand of an operation returned: of a
// fetch its obligation, of an execute its handler.
func (p *player) lastReturn(x *adk.Crossing) *adk.Crossing {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.returned[x.Strand]
}

// answeredRecords is answered for a fetch.
func answeredRecords[T adk.Record](s *stage, x *adk.Crossing, got []T, err error) {
	s.director.answered(x, err)
	from := s.director.lastReturn(x)
	if err != nil || from == nil {
		return
	}
	if !slices.EqualFunc(from.Records, got, func(a adk.Record, b T) bool { return sameRecord(a, b) }) {
		s.director.wrong(from, "answer", len(from.Records), len(got))
	}
}

// answeredResult is answered for an execute.
func (s *stage) answeredResult(x *adk.Crossing, got adk.ToolResult, err error) {
	s.director.answered(x, err)
	from := s.director.lastReturn(x)
	if err == nil && from != nil && !equalResults(from.Result, got) {
		s.director.wrong(from, "answer", from.Result, got)
	}
}

// answeredBytes is answered for the opening of a media. A late one, which was not
// recorded as one, answers with its error alone.
func (p *player) answeredBytes(x *adk.Crossing, got []byte, err error) {
	p.mu.Lock()
	told := p.done[x.Op]
	p.mu.Unlock()
	p.answered(x, err)
	if err != nil || told == nil {
		return
	}
	if want, _ := told.Value.([]byte); !bytes.Equal(want, got) {
		p.wrong(told, "answer", told.Value, got)
	}
}

// answeredValue is answered for the wait for a gate.
func (s *stage) answeredValue(x *adk.Crossing, got any, err error) {
	s.director.answered(x, err)
	from := s.director.resolution(x)
	if err == nil && from != nil && !plain.Equal(from.Value, got) {
		s.director.wrong(from, "answer", from.Value, got)
	}
}

// resolution takes the settlement of a wait out of what is remembered. It is kept by
// the wait and not by the gate: before its waiter has compared it, another may have
// waited for a gate of that id.
func (p *player) resolution(x *adk.Crossing) *adk.Crossing {
	p.mu.Lock()
	defer p.mu.Unlock()
	settled := p.resolved[x.Op]
	delete(p.resolved, x.Op)
	return settled
}

// remember keeps what answers are compared with. mu is held.
func (p *player) remember(x *adk.Crossing) {
	switch {
	case x.Phase == adk.Done && x.Kind != adk.KindNext:
		p.done[x.Op] = x
	case x.Kind == adk.KindReturn:
		p.returned[x.Strand] = x
	case x.Kind == adk.KindSettle && x.Status == adk.GateResolved:
		p.resolved[p.gateOps[x.Name]] = x
	}
}

// handed compares what an obligation is called with with what its call says.
func (p *player) handed(s adk.Scope, record adk.Record, key string) {
	p.mu.Lock()
	x, turn, dispatch := p.calls[s.Call], p.namer.fold.turnID, ""
	if c := p.namer.fold.calls[s.Call]; c != nil {
		dispatch = p.namer.fold.origin(c).DispatchID
	}
	p.mu.Unlock()
	switch {
	case x == nil:
	case s.TurnID != turn:
		p.wrong(x, "scope turn", turn, s.TurnID)
	case s.DispatchID != dispatch:
		p.wrong(x, "scope dispatch", dispatch, s.DispatchID)
	case !sameRecord(x.Record, record):
		p.wrong(x, "record", x.Record, record)
	case x.Key != key:
		p.wrong(x, "key", x.Key, key)
	}
}

// handedArgs compares what a handler is called with with what its call says.
func (p *player) handedArgs(dc *adk.DispatchContext, tool *adk.Tool, args map[string]any) {
	id, _ := dc.Where()
	p.mu.Lock()
	x := p.calls[id]
	p.mu.Unlock()
	switch {
	case x == nil:
	case x.Seam.Name != tool.Name():
		p.wrong(x, "tool", x.Seam.Name, tool.Name())
	case !plain.Equal(x.Args, args):
		p.wrong(x, "args", fmt.Sprint(x.Args), fmt.Sprint(args))
	}
}

// today is a recorded tool with what it did, behind a check of what it is handed.
func (p *player) today(tool *adk.Tool) *adk.Tool {
	return tool.WithHandler(func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
		p.handedArgs(dc, tool, args)
		return p.stage.scriptedHandler(ctx, dc, args)
	})
}

// executable is the recorded tool itself.
func (p *player) executable(_ adk.Handle, recorded *adk.Tool) *adk.Tool {
	return p.stage.tool(recorded)
}
