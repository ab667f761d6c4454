package bycause

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/causes"
	"github.com/adkreplay/adkreplay/replay/internal/lines"
)

// tables are the indexes of a recording: its operations and lines by cause, by strand and by step.
// They know nothing of the new run.
type tables struct {
	tree   *calls.Tree
	live   Live
	choice *calls.Choice // whether a recorded call is live
	known  wire.Comparer

	causes     *causes.Pool               // recorded operations, by cause
	lines      lines.Index                // recorded lines, by strand and by step
	abortLines []*adk.Crossing            // recorded cancels, and operations that abort the run
	aborts     bool                       // an operation aborted the recorded run
	faults     map[int]stub.ListenerFault // of recorded listeners, by the number of the event
}

func newTables(tree *calls.Tree, live Live, known wire.Comparer) tables {
	t := tables{
		tree: tree, live: live, known: known, choice: calls.NewChoice(live.takesSeam),
		causes: causes.New(known), faults: map[int]stub.ListenerFault{},
	}
	t.index()
	return t
}

// index fills the tables before the run begins.
func (t *tables) index() {
	t.lines = lines.Of(t.tree.Lines)
	for _, x := range t.tree.Lines {
		t.aborts = t.aborts || wire.Aborts(x)
		if wire.IsCancel(x) || wire.Aborts(x) {
			t.abortLines = append(t.abortLines, x)
		}
		if x.Kind == adk.KindCall {
			for _, s := range t.tree.Calls[x.ID].Steps {
				if s.X.Kind.Class() == adk.ClassOperation && !s.IsAsk() { // asks.Recorded finds asks
					t.causes.Add(t.tree.Calls[x.ID], s, t.isLive(t.tree.Calls[x.ID]))
				}
			}
		}
	}
	t.listen()
}

// listen finds the events at which recorded listeners panicked or ended their goroutine. The
// listeners of a gate that opens are left out where the user's own listeners settle gates.
func (t *tables) listen() {
	past := stub.Trail{}
	for at, x := range t.tree.Lines {
		if x.Kind.Class() != adk.ClassEvent {
			past.Pass(x)
			continue
		}
		by := t.tree.Calls[x.Call]
		o := past.Event(x, by != nil && t.isLive(by), func(i int) *adk.Crossing {
			if at+i < len(t.tree.Lines) {
				return t.tree.Lines[at+i]
			}
			return nil
		})
		if o.Listeners() > 0 && !(wire.OpensGate(x) && t.live.SettlesGates) {
			t.faults[x.Seq] = o
		}
	}
}

// isLive reports whether a recorded call belongs to a seam that is live in the new run. While the
// run goes on, mu is held.
func (t *tables) isLive(c *calls.Call) bool { return t.choice.Takes(c) }
