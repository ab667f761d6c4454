package replay

import (
	"bytes"
	"context"
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file checks what no crossing shows: that the engine hands to user code what its crossings
// say. Scripted seams look at nothing, so an engine whose crossings say one thing and whose answers
// are another would otherwise replay without a difference.

// Wrong reports that the engine handed user code something else than the crossing x says, or leads
// to. The divergence points to x and not to the cursor, because crossings of other strands may have
// come between. A late operation was not recorded and has no number; Wrong ignores it.
func (p *player) Wrong(x *adk.Crossing, field string, want, got any) {
	if x.Seq == 0 {
		return
	}
	p.Mu.Lock()
	defer p.Mu.Unlock()
	fields := []compare.FieldDiff{{Field: field, Want: safetext.Shortly(want), Got: safetext.Shortly(got)}}
	if w, ok := want.(error); ok && fields[0].Want == fields[0].Got { // two error chains with the same text
		if g, ok := got.(error); ok {
			fields = compare.JSONDiff(field, p.comparer.Text(adk.FieldErr, &adk.Crossing{Err: w}), p.comparer.Text(adk.FieldErr, &adk.Crossing{Err: g}))
		}
	}
	d := divergence(p.namer, ChangedOutput, x, nil, fields)
	d.Crossing = x.Seq
	p.report(d, x)
}

// Answered compares the answer of an operation with the one in its crossing.
func (p *player) Answered(x *adk.Crossing, err error) {
	p.Mu.Lock()
	told := x
	if x.Phase == adk.Begin {
		told = p.done[x.Op]
	}
	delete(p.done, x.Op)
	wrong := told != nil && !p.comparer.SameError(told.Err, err)
	p.Mu.Unlock()
	if wrong {
		p.Wrong(told, "answer", told.Err, err)
	}
}

// LastReturn is how the last call in the strand of an operation returned: for a fetch its
// obligation, for an execute its handler.
func (p *player) LastReturn(x *adk.Crossing) *adk.Crossing {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return p.returned[p.besides.presentIn(x.Strand)]
}

// AnsweredBytes is Answered for the opening of a media. A late opening was not recorded as one, and
// answers with its error alone.
func (p *player) AnsweredBytes(x *adk.Crossing, got []byte, err error) {
	p.Mu.Lock()
	told := p.done[x.Op]
	p.Mu.Unlock()
	p.Answered(x, err)
	if err != nil || told == nil {
		return
	}
	if want, _ := told.Value.([]byte); !bytes.Equal(want, got) {
		p.Wrong(told, "answer", told.Value, got)
	}
}

// Resolution returns the settlement of a wait, and forgets it. Settlements are kept by wait and not
// by gate: before the waiter has compared its own, another may have waited for a gate with the same
// id.
func (p *player) Resolution(x *adk.Crossing) *adk.Crossing {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	settled := p.resolved[x.Op]
	delete(p.resolved, x.Op)
	return settled
}

// remember keeps what answers are compared with. mu is held.
func (p *player) remember(x *adk.Crossing) {
	switch {
	case x.Phase == adk.Done && !wire.IsNext(x):
		p.done[x.Op] = x
	case x.Kind == adk.KindReturn:
		p.returned[p.besides.presentIn(x.Strand)] = x
	case wire.IsSettlement(x) && x.Status == adk.GateResolved:
		p.resolved[p.gateOps[x.Name]] = x
	}
}

// Handed compares the arguments of an obligation with the ones in its call.
func (p *player) Handed(s adk.Scope, record adk.Record, key string) {
	p.Mu.Lock()
	x, turn, dispatch := p.calls[s.Call], p.namer.Fold.TurnID, ""
	if c := p.namer.Fold.Calls[s.Call]; c != nil {
		dispatch = p.namer.Fold.Origin(c).DispatchID
	}
	p.Mu.Unlock()
	switch {
	case x == nil:
	case s.TurnID != turn:
		p.Wrong(x, "scope turn", turn, s.TurnID)
	case s.DispatchID != dispatch:
		p.Wrong(x, "scope dispatch", dispatch, s.DispatchID)
	case !wire.SameRecord(x.Record, record):
		p.Wrong(x, "record", x.Record, record)
	case x.Key != key:
		p.Wrong(x, "key", x.Key, key)
	}
}

// handedArgs compares the arguments of a handler with the ones in its call.
func (p *player) handedArgs(dc *adk.DispatchContext, tool *adk.Tool, args map[string]any) {
	id, _ := dc.Where()
	p.Mu.Lock()
	x := p.calls[id]
	p.Mu.Unlock()
	switch {
	case x == nil:
	case x.Seam.Name != tool.Name():
		p.Wrong(x, "tool", x.Seam.Name, tool.Name())
	case !plain.Equal(x.Args, args):
		p.Wrong(x, "args", fmt.Sprint(x.Args), fmt.Sprint(args))
	}
}

// Today is a recorded tool whose handler checks its arguments and then does what was recorded.
func (p *player) Today(tool *adk.Tool) *adk.Tool {
	return tool.WithHandler(func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
		p.handedArgs(dc, tool, args)
		return p.stage.ScriptedHandler(ctx, dc, args)
	})
}

// Executable is the recorded tool itself.
func (p *player) Executable(_ adk.Handle, recorded *adk.Tool) *adk.Tool {
	return p.stage.Tool(recorded)
}
