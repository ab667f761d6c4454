// Package makers finds out which goroutine of user code made a recorded crossing, where goroutines
// that user code started share the handle of one call.
//
// A recording does not say it. It follows from the call or operation that a crossing belongs to. An
// event, a call that an operation leads to and the settlement of a gate belong to the open
// operation that explains them. Where several do, such as calls of one tool with equal arguments,
// they belong to the one that is over first.
//
//  1. Overlaps reports that an operation, or a dispatch, was made on a goroutine of its own.
//  2. Begin gives that goroutine a number, Of says which goroutine made a crossing, and Note
//     follows what was made.
package makers

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// Main is the number of the goroutine that runs a call.
const Main = 0

// Makers are the goroutines of a run. A new run has only main ones.
type Makers struct {
	Fold *state.Fold               // the state after the crossings so far
	Peek func(i int) *adk.Crossing // the recorded crossings from the next on; nil after the last

	last       int
	ops, calls map[int]int  // who makes an operation, and who makes what is done in a call
	open       []*operation // in the order in which they began; kept once there are other goroutines
}

// operation is an open operation.
type operation struct {
	*adk.Crossing
	by       int
	led      int // the call that it led to; 0 where it has not yet
	returned bool
	told     []adk.Kind // the events that it has caused
}

// reach is how many crossings ahead Makers look for what goes on while an operation waits, and
// farReach while a sub-agent works.
const (
	reach    = 256
	farReach = 64 * reach
)

// Overlaps reports whether the call of the operation or dispatch x, which is among the next
// crossings, does something else or returns before x is over. The goroutine that runs the call then
// does not wait for x.
func (m *Makers) Overlaps(x *adk.Crossing) bool {
	if wire.IsDispatched(x) {
		return m.worksBeside(x)
	}
	behind := false
	for i := range reach {
		y := m.Peek(i)
		switch {
		case y == nil:
			return false
		case y == x:
			behind = true
		case !behind:
		case y.Op == x.Op && y.Kind == x.Kind:
			return false
		case isDoneBy(x.Call, y):
			return true
		case y.Kind == adk.KindReturn && y.ID == x.Call: // a panic, or the end of the goroutine, ends the operation too
			return y.Outcome != adk.OutcomePanic && y.Outcome != adk.OutcomeGoexit
		}
	}
	return false
}

// worksBeside is Overlaps for a dispatch, which must end within the run.
func (m *Makers) worksBeside(x *adk.Crossing) bool {
	behind, overlaps := false, false
	for i := range farReach {
		y := m.Peek(i)
		switch {
		case y == nil:
			return false
		case y == x:
			behind = true
		case y.Kind == adk.KindReturn && y.ID == x.ID:
			return overlaps
		case behind && isDoneBy(x.Call, y):
			overlaps = true
		}
	}
	return false
}

// isDoneBy reports whether user code does something through the handle of a call.
func isDoneBy(call int, y *adk.Crossing) bool {
	return y.Call == call && (wire.IsPerformed(y) || wire.IsDispatched(y))
}

// ComesSoon reports whether an event that was announced is among the next crossings, not counting
// equal events of operations that come before it.
func (m *Makers) ComesSoon(event adk.Step) bool {
	others := 0
	for i := range reach {
		x := m.Peek(i)
		switch {
		case x == nil || x.Kind == adk.KindReturn && x.ID == event.Call:
			return false
		case x.Call != event.Call || x.Strand != event.Strand:
		case x.Kind == event.Kind && others == 0:
			return true
		case x.Kind == event.Kind:
			others--
		case slices.Contains(x.Kind.Causes(), event.Kind) && x.Phase != adk.Done:
			others++
		}
	}
	return false
}

// Any reports whether there are goroutines other than the main ones.
func (m *Makers) Any() bool { return m.last != Main }

// Knows reports whether a goroutine other than the main one makes an operation, or a dispatch.
func (m *Makers) Knows(x *adk.Crossing) bool {
	if x.Kind == adk.KindCall {
		return m.calls[x.ID] != Main
	}
	return m.ops[x.Op] != Main
}

// Begin gives a number to the goroutine that makes an operation or a dispatch.
func (m *Makers) Begin(x *adk.Crossing) int {
	if !m.Any() {
		m.ops, m.calls = map[int]int{}, map[int]int{}
	}
	m.last++
	if x.Kind == adk.KindCall {
		m.calls[x.ID] = m.last
	} else {
		m.ops[x.Op] = m.last
	}
	return m.last
}

// Of is the number of the goroutine that makes the next crossing. It is not certain for an event, a
// call or a fact that no operation explains.
func (m *Makers) Of(x *adk.Crossing) (by int, certain bool) {
	switch {
	case wire.IsTimer(x):
		return m.ofOperation(x.N, x.Call), true
	case x.Op != 0:
		return m.ofOperation(x.Op, x.Call), true
	case x.Kind == adk.KindReturn, wire.IsDispatched(x) && m.calls[x.ID] != Main:
		return m.calls[x.ID], true
	case x.Kind == adk.KindCall, wire.IsSettlement(x), x.Kind.Class() == adk.ClassEvent:
		if op := m.explains(x); op != nil {
			return op.by, true
		}
	}
	return m.calls[x.Call], wire.IsPerformed(x)
}

func (m *Makers) ofOperation(op, call int) int {
	if by := m.ops[op]; by != Main {
		return by
	}
	return m.calls[call]
}

// explains is the open operation that leads to a call, causes an event, or waits for the gate that
// settles; nil where no known operation does.
func (m *Makers) explains(x *adk.Crossing) *operation {
	var best []*operation
	highest := maybe
	for _, op := range m.open {
		how := m.fits(x, op)
		if how > highest {
			best, highest = best[:0], how
		}
		if how == highest {
			best = append(best, op)
		}
	}
	switch len(best) {
	case 0:
		return nil
	case 1:
		return best[0]
	}
	return m.soonest(best, x)
}

// How well an operation explains a crossing.
const (
	never = iota
	maybe
	surely // the crossing says so
)

func (m *Makers) fits(x *adk.Crossing, op *operation) int {
	may, says := false, false
	switch {
	case wire.IsSettlement(x):
		may = wire.AsksForGate(op.Crossing) && op.Name == x.Name
	case op.Call != x.Call:
	case x.Kind == adk.KindCall: // the event that a tool begins comes before its call
		may = op.led == 0 && calls.LeadsTo(op.Crossing, x) && (x.Seam.Label != adk.LabelTool || len(op.told) > 0)
		says = calls.HasArguments(op.Crossing, x)
	case x.Kind.Class() == adk.ClassEvent:
		may = slices.Contains(op.Kind.Causes(), x.Kind) && !slices.Contains(op.told, x.Kind)
		says = m.saysOf(x, op)
	}
	switch {
	case !may:
		return never
	case !says:
		return maybe
	}
	return surely
}

// saysOf reports whether an event says which operation it belongs to: by the name of a gate, by the
// checksum of a call, or because it follows a call that has returned.
func (m *Makers) saysOf(event *adk.Crossing, op *operation) bool {
	switch {
	case event.Name != "":
		return op.Name == event.Name
	case wire.ToolBegins(event):
		_, id, _ := m.Fold.Called(safetext.ToolName(op.Record), op.Args)
		return id == event.Key
	}
	return op.returned
}

// soonest is the one of several operations that is over first after a crossing: after the return of
// a call; or, where a tool begins, after the return of the tool's call, which comes next.
func (m *Makers) soonest(of []*operation, x *adk.Crossing) *operation {
	begins, call := wire.ToolBegins(x), x.ID
	behind := x.Kind != adk.KindCall && !begins
	for i := range reach {
		y := m.Peek(i)
		if y == nil {
			break
		}
		if begins && call == 0 && y.Call == x.Call && calls.LeadsTo(of[0].Crossing, y) && calls.HasArguments(of[0].Crossing, y) {
			call = y.ID
		}
		behind = behind || y.Kind == adk.KindReturn && y.ID == call
		if at := slices.IndexFunc(of, func(op *operation) bool { return op.Op == y.Op && op.Kind == y.Kind }); behind && at >= 0 {
			return of[at]
		}
	}
	return of[0]
}

// Note follows a crossing that goroutine by made.
func (m *Makers) Note(x *adk.Crossing, by int) {
	if !m.Any() {
		return
	}
	switch {
	case x.Kind == adk.KindCall:
		if op := m.explainsOf(by, x); op != nil {
			op.led = x.ID
		}
		if by != Main && x.Seam.Label != adk.LabelStrand { // a strand has a goroutine of its own
			m.calls[x.ID] = by
		}
	case x.Kind == adk.KindReturn:
		delete(m.calls, x.ID)
		for _, op := range m.open {
			op.returned = op.returned || op.led == x.ID
		}
	case x.Kind.Class() == adk.ClassEvent:
		if op := m.explainsOf(by, x); op != nil {
			op.told = append(op.told, x.Kind)
		}
	case x.Kind.Class() == adk.ClassOperation && x.Phase == adk.Begin:
		m.open = append(m.open, &operation{Crossing: x, by: by})
	case x.Kind.Class() == adk.ClassOperation && x.Phase == adk.Done:
		delete(m.ops, x.Op)
		m.open = slices.DeleteFunc(m.open, func(op *operation) bool { return op.Op == x.Op })
	}
}

// explainsOf is the operation of one goroutine that best explains what it made.
func (m *Makers) explainsOf(by int, x *adk.Crossing) (best *operation) {
	highest := never
	for _, op := range m.open {
		if how := m.fits(x, op); op.by == by && how > highest {
			best, highest = op, how
		}
	}
	return best
}
