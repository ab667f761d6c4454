package replay

import (
	"strconv"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/lines"
	"github.com/adkreplay/adkreplay/replay/internal/rename"
)

// tables are a recording as it is looked up while its turn runs again: what was recorded, by
// cause, by strand and by step. They know nothing of the new run.
type tables struct {
	tree   *calls.Tree
	live   Live
	choice *calls.Choice // of live, for recorded calls
	known  wire.Comparer

	byCause    map[adk.Digest][]*calls.Step // recorded operations, by their causes
	scopes     map[string]int               // of the dispatches that operations are in, numbered
	scopeOf    map[*calls.Call]int
	lines      lines.Index                // by strand and by step
	abortLines []*adk.Crossing            // cancels, and operations that abort the run
	aborts     bool                       // an operation aborted the recorded run
	faults     map[int]stub.ListenerFault // of listeners, by the recorded event
}

func newTables(tree *calls.Tree, live Live, known wire.Comparer) tables {
	t := tables{
		tree: tree, live: live, known: known, choice: calls.NewChoice(live.takesSeam),
		byCause: map[adk.Digest][]*calls.Step{}, scopes: map[string]int{}, scopeOf: map[*calls.Call]int{},
		faults: map[int]stub.ListenerFault{},
	}
	t.index()
	return t
}

// index prepares what is looked up while the run goes on.
func (t *tables) index() {
	t.lines = lines.Of(t.tree.Lines)
	for _, x := range t.tree.Lines {
		t.aborts = t.aborts || wire.Aborts(x)
		if wire.IsCancel(x) || wire.Aborts(x) {
			t.abortLines = append(t.abortLines, x)
		}
		if x.Kind == adk.KindCall {
			for _, s := range t.tree.Calls[x.ID].Steps {
				if s.X.Kind.Class() == adk.ClassOperation && !s.IsAsk() { // which asks.Recorded finds
					t.pool(t.tree.Calls[x.ID], s)
				}
			}
		}
	}
	t.listen()
}

// listen finds the events at which recorded listeners were loud. Those that settle
// gates may be live, and are not made loud then.
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
		if o.Listeners() > 0 && !(wire.OpensGate(x) && t.live.settlesGates()) {
			t.faults[x.Seq] = o
		}
	}
}

// pool files a recorded operation under its cause, and under its cause but for
// the id that it is about.
func (t *tables) pool(c *calls.Call, s *calls.Step) {
	key := t.cause(c, s.X)
	t.byCause[key] = append(t.byCause[key], s)
	if wire.AsksForGate(s.X) {
		key = t.gateCause(s.X)
		t.byCause[key] = append(t.byCause[key], s)
	}
	if rename.Subject(s.X) != "" && t.isLive(c) {
		key = t.cause(c, rename.WithID(s.X, rename.AnyID))
		t.byCause[key] = append(t.byCause[key], s)
	}
}

// cause is what an operation is answered by, but for its occurrence: the seam
// without its iteration, the dispatch that the seam is in, the strand, the kind
// and the arguments.
func (t *tables) cause(c *calls.Call, x *adk.Crossing) adk.Digest { // x is in the numbers of the recording
	seam := c.Begin.Seam
	key := seam.Label + "/" + seam.Name + "\n" + c.Strand + "\n" + strconv.Itoa(t.scope(c.Owner)) + "\n"
	if wire.Awaits(x) { // strands of one name are several
		key += strconv.Itoa(x.ID) + "\n"
	}
	return adk.DigestOf([]byte(key + compare.ArgumentsText(t.known, x)))
}

// scope is the number of a run or dispatch that calls are in: the same for those that
// are called alike by calls that are in the same. It stands for all that is above them,
// which may be as much as there is.
func (t *tables) scope(owner *calls.Call) int {
	if !owner.Called() {
		return 0
	}
	number, known := t.scopeOf[owner]
	if !known {
		caller := owner.Parent.Begin.Seam
		key := strconv.Itoa(t.scope(owner.Parent.Owner)) + " " + owner.Begin.Seam.String() + " in " + caller.Label + "/" + caller.Name
		if number, known = t.scopes[key]; !known {
			number = len(t.scopes) + 1
			t.scopes[key] = number
		}
		t.scopeOf[owner] = number
	}
	return number
}

// gateCause is what a wait for a gate is found by where no other of its seam and
// strand is recorded: who asks may have moved, and somebody settled what was asked.
func (t *tables) gateCause(x *adk.Crossing) adk.Digest {
	return adk.DigestOf([]byte("gate\n" + compare.ArgumentsText(t.known, x)))
}

// isLive reports whether a recorded call is of a seam that is live now. It is asked while
// the replay is prepared, and with mu held while it goes on.
func (t *tables) isLive(c *calls.Call) bool { return t.choice.Takes(c) }
