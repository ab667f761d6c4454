package replay

import (
	"encoding/json"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Ids that live code makes by itself are others in every run. They are compared
// one to one up to renaming: where an operation has no recorded one with the same
// arguments, one that differs in its id alone is taken, if both ids are of that
// sort and neither has a counterpart yet. A replay without live seams renames
// nothing.

// anyID stands for any id in a cause.
const anyID = "*"

// idOf is the id that user code gave an operation, of the record or the stream that it
// is about; empty if there is none.
func idOf(x *adk.Crossing) string {
	if x.Kind.Class() != adk.ClassOperation {
		return ""
	}
	if wire.HasID(x.Record) {
		return x.Record.Key()
	}
	for _, use := range x.Kind.Fields(x.Phase) {
		if id := wire.IDOf(use, x); id != "" && (use.Names == adk.StreamID || use.Names == adk.RecordID) {
			return id
		}
	}
	return ""
}

// withID is an operation about another id; the crossing itself is left as it is.
func withID(x *adk.Crossing, id string) *adk.Crossing {
	changed := *x
	switch {
	case x.Kind.Names(adk.RecordID):
		changed.Key = id
	case x.Record != nil:
		changed.Record = recordWithID(x.Record, id)
	default:
		changed.Name = id
	}
	return &changed
}

// recordWithID is a record with another id; itself where that makes no record.
func recordWithID(record adk.Record, id string) adk.Record {
	data, err := json.Marshal(record)
	var fields map[string]json.RawMessage
	if err != nil || json.Unmarshal(data, &fields) != nil {
		return record
	}
	fields["id"] = json.RawMessage(compare.QuotedJSON(id))
	if data, err = json.Marshal(fields); err != nil {
		return record
	}
	changed, err := adk.ParseRecord(record.RecordKind(), data)
	if err != nil {
		return record
	}
	return changed
}

// renaming is which ids of a new run stand for which of the recorded one.
type renaming struct {
	want   map[string]string // by the new id
	got    map[string]string // by the recorded one
	known  map[string]bool   // all ids of the recording
	byLive map[string]bool   // those that live code made, as far as can be seen
}

// newRenaming knows the ids of a recording: live code made those that appear
// first in one of its operations and did not come of the context.
func newRenaming(t *calls.Tree, live func(*calls.Call) bool) *renaming {
	r := &renaming{want: map[string]string{}, got: map[string]string{}, known: map[string]bool{}, byLive: map[string]bool{}}
	note := func(id string, made bool) {
		if id != "" && !r.known[id] {
			r.known[id], r.byLive[id] = true, made
		}
	}
	for _, x := range t.Lines {
		for _, record := range x.Records {
			if wire.HasID(record) {
				note(record.Key(), false)
			}
		}
		note(wire.MadeID(x), false)
		if c := t.Calls[x.Call]; c != nil {
			note(idOf(x), live(c))
		}
	}
	return r
}

// may reports whether a new id may stand for a recorded one.
func (r *renaming) may(want, got string) bool {
	if paired, found := r.want[got]; found {
		return paired == want
	}
	_, taken := r.got[want]
	return !taken && r.byLive[want] && !r.known[got]
}

// keeps reports whether a new id stands for a recorded one already, or does now that
// it is the same. An id that another one stands for takes that one's name.
func (r *renaming) keeps(want, got string) bool {
	if want != got || !r.byLive[want] {
		return true
	}
	stands, taken := r.got[want]
	switch {
	case !taken:
		r.got[want] = got
	case stands != got:
		r.want[got] = stands
		return false
	}
	return true
}

// pair makes a new id stand for a recorded one.
func (r *renaming) pair(want, got string) { r.want[got], r.got[want] = want, got }

// apply gives the lines of a new run with the recorded ids in the place of those
// that stand for them: in the fields that hold an id, and where a whole argument
// is one. The digests of states are those of the renamed run.
func (r *renaming) apply(lines []trace.Line) []trace.Line {
	if len(r.want) == 0 {
		return lines
	}
	renamed := make([]trace.Line, len(lines))
	before, after := state.New(), state.New()
	for i, line := range lines {
		x := &line.Crossing
		told := x.Kind.Uses(adk.FieldDigest) && before.Check(x) == nil
		_ = before.Apply(&lines[i].Crossing) // whether an engine tells it is asked elsewhere
		id, about := r.want[idOf(x)]
		if about {
			x = withID(x, id)
		}
		y := *x
		if wire.HasID(y.Record) && !about {
			if id, found := r.want[y.Record.Key()]; found {
				y.Record = recordWithID(y.Record, id)
			}
		}
		if id, found := r.want[y.Key]; found && (y.Kind == adk.KindCall || y.Kind.Names(adk.Checksum)) {
			y.Key = id
		}
		y.Args = r.arguments(y.Args)
		y.JSON = r.inText(y.JSON)
		if told {
			y.Digest = after.Digest(y.Call)
		}
		_ = after.Apply(&y)
		renamed[i] = trace.Line{Crossing: y, Extra: line.Extra}
	}
	return renamed
}

// recorded is an operation with the recorded ids among its arguments. Where there are any,
// the checksum of the call is another one too: it stands for the recorded one from here on.
func (r *renaming) recorded(x *adk.Crossing) *adk.Crossing {
	args, ok := x.Args.(map[string]any)
	if !ok || !r.renames(args) {
		return x
	}
	renamed := *x
	renamed.Args = r.arguments(args)
	tool := x.Key
	if x.Record != nil {
		tool = x.Record.Key()
	}
	want, err := canonical.Checksum(tool, renamed.Args.(map[string]any))
	if got, failed := canonical.Checksum(tool, args); err == nil && failed == nil {
		r.pair(want, got)
	}
	return &renamed
}

// arguments are a tool's arguments with the ids among them renamed.
func (r *renaming) arguments(args any) any {
	object, ok := args.(map[string]any)
	if !ok || !r.renames(object) {
		return args
	}
	renamed := map[string]any{}
	for key, value := range object {
		renamed[key] = value
		if id, found := r.id(value); found {
			renamed[key] = id
		}
	}
	return renamed
}

// renames reports whether there is an id among arguments that stands for another one.
func (r *renaming) renames(args map[string]any) bool {
	for _, value := range args {
		if _, found := r.id(value); found {
			return true
		}
	}
	return false
}

// id is the recorded id that a value stands for, if it does.
func (r *renaming) id(value any) (recorded string, found bool) {
	text, _ := value.(string)
	recorded, found = r.want[text]
	return recorded, found
}
