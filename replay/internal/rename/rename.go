// Package rename finds out which ids of a new run stand for which ids of the recorded one.
//
// Ids that live code makes itself differ in every run. They are compared one to one up to renaming.
// For example, where no recorded operation has the arguments of a new one, an operation that
// differs only in its id is taken, if live code made both ids and neither has a counterpart yet. A
// replay without live seams renames nothing.
package rename

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/likeness"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// AnyID stands for any id in a cause.
const AnyID = "*"

// Subject is the id of the record, stream or gate that an operation is about.
func Subject(x *adk.Crossing) string {
	if wire.AsksForGate(x) {
		return calls.GateID(x)
	}
	return IDOf(x)
}

// IDOf is the id that user code gave an operation, of the record or the stream that it is about;
// empty if there is none.
func IDOf(x *adk.Crossing) string {
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

// WithID is a copy of an operation with another id.
func WithID(x *adk.Crossing, id string) *adk.Crossing {
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

// recordWithID is a record with another id; the record itself where that would not be valid.
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

// IDs says which ids of a new run stand for which of the recorded one.
type IDs struct {
	want   map[string]string // the recorded id, by the new one
	got    map[string]string // the new id, by the recorded one
	known  map[string]maker  // all ids of the recording
	either map[string]bool   // new ids that may stand for any recorded one that live code had from the context

	tree  *calls.Tree
	live  func(*calls.Call) bool
	again map[int]bool // the recorded requests that were made again
	// origins say where random ids of the recording come from; nil until one is looked for.
	origins map[string]origin
	random  int // how many random ids stand for others
}

// maker says where an id of the recording comes from, as far as can be seen.
type maker uint8

const (
	nobody    maker = iota // it is not in the recording
	elsewhere              // it is input, or code that is not live made it
	context                // live code got it from its context
	liveCode               // live code made it
)

// New knows the ids of a recording. Live code made the ids that appear first in one of its
// operations and did not come from the context.
func New(t *calls.Tree, live func(*calls.Call) bool) *IDs {
	r := &IDs{want: map[string]string{}, got: map[string]string{}, known: map[string]maker{}, tree: t, live: live, again: map[int]bool{}}
	note := func(id string, by maker) {
		if id != "" && r.known[id] == nobody {
			r.known[id] = by
		}
	}
	for _, x := range t.Lines {
		for _, record := range x.Records {
			if wire.HasID(record) {
				note(record.Key(), elsewhere)
			}
		}
		made, given := elsewhere, elsewhere
		if c := t.Calls[x.Call]; c != nil && live(c) {
			given = liveCode
			if wire.OnlyMakes(x) {
				made = context
			}
		}
		note(wire.MadeID(x), made)
		note(IDOf(x), given)
	}
	return r
}

// May reports whether a new id may stand for a recorded one.
func (r *IDs) May(want, got string) bool {
	if paired, found := r.want[got]; found {
		return paired == want
	}
	_, taken := r.got[want]
	return !taken && (r.known[want] == liveCode || r.known[want] == context && r.either[got]) && r.known[got] == nobody
}

// StandsForAny notes that a new id stands for one of those that live code had from the context. Its
// use will show for which.
func (r *IDs) StandsForAny(id string) {
	if r.either == nil {
		r.either = map[string]bool{}
	}
	r.either[id] = true
}

// IsRecorded reports whether an id is in the recording.
func (r *IDs) IsRecorded(id string) bool { return r.known[id] != nobody }

// IsItself notes that live code was given a recorded id unchanged: no other id stands for it.
func (r *IDs) IsItself(id string) {
	if r.known[id] == context {
		r.got[id] = id
	}
}

// Keeps reports whether a new id stands for a recorded one already, or does now because it is the
// same. If it is the same but another new id stands for the recorded one, the two swap: the new id
// stands for the text of that other id from then on, and Keeps returns false.
func (r *IDs) Keeps(want, got string) bool {
	if want != got || r.known[want] != liveCode {
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

// Wanted is the recorded id that a new one stands for, if it does.
func (r *IDs) Wanted(got string) (recorded string, found bool) {
	recorded, found = r.want[got]
	return recorded, found
}

// Any reports whether any id stands for another one.
func (r *IDs) Any() bool { return len(r.want) > 0 }

// PairMade makes a new id stand for a recorded one if it may.
func (r *IDs) PairMade(want, got string) {
	if r.May(want, got) {
		r.Pair(want, got)
	}
}

// Pair makes a new id stand for a recorded one.
func (r *IDs) Pair(want, got string) { r.want[got], r.got[want] = want, got }

// Apply returns the lines of a new run with the recorded ids in the place of those that stand for
// them: in fields that hold an id, and where a whole argument is an id. The digests of states are
// those of the renamed run.
func (r *IDs) Apply(lines []trace.Line) []trace.Line {
	if len(r.want) == 0 {
		return lines
	}
	renamed := make([]trace.Line, len(lines))
	before, after := state.New(), state.New()
	for i, line := range lines {
		x := &line.Crossing
		told := x.Kind.Uses(adk.FieldDigest) && before.Check(x) == nil
		_ = before.Apply(&lines[i].Crossing) // errors of the engine are found elsewhere
		id, about := r.want[IDOf(x)]
		if about {
			x = WithID(x, id)
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
		if id, found := r.want[wire.MadeID(x)]; found {
			y.Name = id
		}
		if id, found := r.want[y.Name]; found && y.Kind.Names(adk.GateID) {
			y.Name = id
		}
		y.Records = records(y.Records, r.want)
		y.Args = r.arguments(y.Args)
		y.JSON = r.InText(y.JSON)
		if told {
			y.Digest = after.Digest(y.Call)
		}
		_ = after.Apply(&y)
		renamed[i] = trace.Line{Crossing: y, Extra: line.Extra}
	}
	return renamed
}

// AsMade is a recorded return with the new ids of its records: live code made them itself, and
// looks for them.
func (r *IDs) AsMade(x *adk.Crossing) *adk.Crossing {
	made := records(x.Records, r.got)
	if len(made) == 0 || &made[0] == &x.Records[0] {
		return x
	}
	given := *x
	given.Records = made
	return &given
}

// records are some with other ids in the place of theirs; the same slice if no id changes.
func records(all []adk.Record, ids map[string]string) []adk.Record {
	var changed []adk.Record
	for i, record := range all {
		if !wire.HasID(record) {
			continue
		}
		id, found := ids[record.Key()]
		if !found || id == record.Key() {
			continue
		}
		if changed == nil {
			changed = slices.Clone(all)
		}
		changed[i] = recordWithID(record, id)
	}
	if changed == nil {
		return all
	}
	return changed
}

// Recorded is an operation with the recorded ids among its arguments. If any argument changes, so
// does the checksum of the call, which then stands for the recorded checksum.
func (r *IDs) Recorded(x *adk.Crossing) *adk.Crossing {
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
		r.Pair(want, got)
	}
	return &renamed
}

// arguments are a tool's arguments with their ids renamed.
func (r *IDs) arguments(args any) any {
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

// renames reports whether some argument is an id that stands for another one.
func (r *IDs) renames(args map[string]any) bool {
	for _, value := range args {
		if _, found := r.id(value); found {
			return true
		}
	}
	return false
}

// id is the recorded id that a value stands for, if it does.
func (r *IDs) id(value any) (recorded string, found bool) {
	text, _ := value.(string)
	recorded, found = r.want[text]
	return recorded, found
}

// minIDInText is the minimum length of a part of a text that InText takes for an id.
const minIDInText = 8

// InText replaces new ids by recorded ones inside a request. An id must be a whole token: a run of
// characters that ids have. JSON escapes are no part of a token.
func (r *IDs) InText(request json.RawMessage) json.RawMessage {
	if len(r.want) == 0 {
		return request
	}
	renamed := request[:0:0]
	kept := 0
	for from := 0; from < len(request); from++ {
		if request[from] == '\\' {
			from += escapeLength(request[from:]) - 1
			continue
		}
		to := from
		for to < len(request) && inID[request[to]] {
			to++
		}
		if to-from >= minIDInText {
			if recorded, found := r.inToken(request[from:to]); found {
				renamed = append(append(renamed, request[kept:from]...), recorded...)
				kept = to
			}
		}
		from = max(from, to-1)
	}
	if len(renamed) == 0 {
		return request
	}
	return append(renamed, request[kept:]...)
}

// inToken is a token with the recorded ids in the place of those that stand for them: the token is
// an id, or contains ids that live code had from the context.
func (r *IDs) inToken(token []byte) (recorded string, found bool) {
	if recorded, found = r.want[string(token)]; found || len(r.either) == 0 {
		return recorded, found
	}
	recorded = likeness.RandomID.ReplaceAllStringFunc(string(token), func(id string) string {
		want, stands := r.want[id]
		if !stands || !r.either[id] {
			return id
		}
		found = true
		return want
	})
	return recorded, found
}

// escapeLength is the length in bytes of the escape with which a JSON text begins.
func escapeLength(text []byte) int {
	if len(text) > 1 && text[1] == 'u' {
		return min(6, len(text))
	}
	return min(2, len(text))
}

// inID has the characters of ids: letters, digits, and the signs between them.
var inID = func() (in [256]bool) {
	for c := range in {
		in[c] = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.' || c == ':'
	}
	return in
}()

// HighestMade is the highest number after a prefix among the ids that a recording made: the
// recording may itself come from a replay.
func HighestMade(lines []*adk.Crossing, prefix string) (highest int) {
	for _, x := range lines {
		if number, made := strings.CutPrefix(wire.MadeID(x), prefix); made {
			n, _ := strconv.Atoi(number)
			highest = max(highest, n)
		}
	}
	return highest
}
