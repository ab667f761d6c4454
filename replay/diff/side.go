package diff

import (
	"fmt"
	"strconv"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/digest"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// interner assigns equal numbers to equal texts, so that frequent comparisons compare numbers.
type interner struct{ numbers map[string]int32 }

func (n *interner) of(text string) int32 {
	number, known := n.numbers[text]
	if !known {
		number = int32(len(n.numbers)) + 1
		n.numbers[text] = number
	}
	return number
}

// key is the part of a crossing that can be the same in another trace.
type key struct {
	// cause is a number for why the crossing happens: its kind, and the arguments that say what it
	// is about. whole is a number for everything in it.
	cause, whole int32
	// causeIDs are the free ids in its cause, and ids those in all of it.
	causeIDs, ids []idUse
	// derived is the text of the one field that follows from earlier crossings, and hasDerived is
	// true if there is one. unfit is true if the field is not what the fold computes.
	derived    string
	hasDerived bool
	unfit      bool
}

// side is one of the two traces.
type side struct {
	lines    []trace.Line
	comparer wire.Comparer
	shaper   shaper
	fold     *state.Fold
	forms    []key
	tree     *node
	handlers map[calls.AckHandler]string // the names of on-ack handlers
	records  map[adk.Record]adk.Digest   // the shapes of records in states
	shown    shownShapes
	totals   *totaller
}

// shownShapes holds the shapes of the records of a view, as in the previous state.
type shownShapes struct {
	of    *state.View
	sets  [len(state.View{}.Sets)]digest.Chain[adk.Digest]
	tools digest.Chain[adk.Digest]
}

// newSide returns the side for a trace, to be compared in the given version of the format.
func newSide(t *trace.Trace, format int, options Options, free map[string]bool) *side {
	known, _ := wire.NewSentinels(t.Options().Sentinels, t.Options().ErrorTypes) // checked when the trace was read
	return &side{
		lines: t.Lines(), comparer: wire.Comparer{Sentinels: known, Format: format}, shaper: shaper{free: free, times: options.Times}, fold: state.New(),
		handlers: map[calls.AckHandler]string{}, records: map[adk.Record]adk.Digest{}, totals: newTotaller(options),
	}
}

// read computes the key of every crossing and the numbers of every node of the tree.
func (s *side) read(all *interner) {
	s.forms = make([]key, len(s.lines))
	for i := range s.lines {
		x := &s.lines[i].Crossing
		f := &s.forms[i]
		s.derive(f, x)
		f.cause, f.causeIDs = s.cause(x, all)
		s.totals.before(s.fold, x)
		applyByPlace(s.fold, x)
		s.totals.after(s.fold, x)
		f.whole, f.ids = s.whole(i, all)
	}
	s.totals.end(s.fold, s.lines)
	s.tree = treeOf(s.lines)
	s.tree.number(s.forms, all)
}

// applyByPlace applies the next crossing, whatever its number is, and whether or not an engine can
// emit it.
func applyByPlace(f *state.Fold, x *adk.Crossing) {
	next := *x
	next.Seq = 0
	_ = f.Apply(&next)
}

// cause returns a number for why a crossing happens.
func (s *side) cause(x *adk.Crossing, all *interner) (int32, []idUse) {
	sh := &s.shaper
	sh.out, sh.ids = sh.out[:0], nil
	part := func(text string, id bool) {
		sh.out = append(sh.out, ' ')
		if id && sh.free[text] {
			sh.ids = append(sh.ids, idUse{text, true})
			sh.out = append(sh.out, '?')
			return
		}
		sh.out = strconv.AppendQuote(sh.out, text)
	}
	sh.out = append(append(sh.out, 'c'), compare.KindText(x)...)
	sh.out = strconv.AppendInt(append(sh.out, ' '), int64(s.iterationOf(x)), 10)
	if x.Kind.Uses(adk.FieldDigest) && s.fold.OutputDue {
		part("before the output", false)
	}
	part(x.Seam.String(), false)
	part(string(x.Collection), false)
	part(x.Name, isID(adk.FieldName, x))
	if keyed := isID(adk.FieldKey, x); keyed || x.Kind.Names(adk.RecordID) && x.Kind.Class() == adk.ClassOperation {
		part(x.Key, keyed)
	}
	if x.Record != nil {
		part(string(x.Record.RecordKind()), false)
		part(x.Record.Key(), wire.KeyedByID(x.Record))
	}
	if id, ok := state.StreamID(x.Payload); ok && x.Kind.Class() == adk.ClassOperation {
		part(id, true)
	}
	if takesOff(x) {
		part(s.handlers[calls.AckHandlerOf(x)], false)
	}
	return all.of(string(sh.out)), sh.ids
}

// iterationOf returns the iteration of a crossing of the dispatch itself. Without it, the crossings
// of all iterations would look alike.
func (s *side) iterationOf(x *adk.Crossing) int {
	if x.Kind.Names(adk.Iteration) {
		return x.N
	}
	if c := s.fold.Calls[x.Call]; c != nil && c.Dispatch != nil && c.Dispatch.Call == c && !x.Kind.Uses(adk.FieldN) { // unless the crossing has a count of its own
		return c.Dispatch.Iteration
	}
	return 0
}

// derive computes the field of a crossing that follows from earlier crossings. It must run before
// the fold applies the crossing.
func (s *side) derive(f *key, x *adk.Crossing) {
	set := func(text string, fits bool) { f.derived, f.hasDerived, f.unfit = text, true, !fits }
	switch {
	case x.Kind.Uses(adk.FieldDigest):
		if s.fold.Check(x) != nil {
			set("of something else: "+x.Digest.String(), false)
			return
		}
		set(s.state(s.fold.Seen(x.Call)), true)
	case x.Kind.Names(adk.Checksum): // of a tool call: if it fits the call's arguments, comparing the arguments is enough
		line := *x
		line.Payload = nil // CheckPayload then checks only the line
		fits := s.fold.CheckPayload(&line) == nil
		if set("", fits); !fits {
			f.derived = "of something else: " + x.Key
		}
	case x.Kind.Names(adk.OpNumber):
		if op := s.fold.Ops[x.N]; op != nil {
			set("the "+op.Kind.String()+" of its call", op.Call.ID == x.Call)
			return
		}
		set(fmt.Sprintf("operation %d", x.N), false)
	case takesOff(x):
		name, known := s.handlers[calls.AckHandlerOf(x)]
		if !known {
			name = fmt.Sprintf("handler %d", x.ID)
		}
		set(name, known)
	case x.Kind.Names(adk.HandlerNumber):
		s.handlers[calls.AckHandlerOf(x)] = x.Name
		set("", true)
	}
}

// takesOff reports whether a crossing removes an on-ack handler, which it identifies only by
// number.
func takesOff(x *adk.Crossing) bool {
	return x.Kind.Names(adk.HandlerNumber) && !x.Kind.Names(adk.CodeName)
}

// isDerived reports whether derive computes a field.
func isDerived(use adk.FieldUse) bool {
	return use.Names == adk.Checksum || use.Names == adk.OpNumber || use.Names == adk.HandlerNumber
}

// state returns the digest of the shape of everything visible.
func (s *side) state(v *state.View) string {
	if v == nil {
		return "nothing"
	}
	if s.shown.of != v {
		s.shown = shownShapes{of: v}
	}
	sh := &shaper{free: s.shaper.free, times: s.shaper.times}
	sh.add(plain.AppendJSON(nil, v.Values.Tree), idPlace{})
	shapes := digest.Begin(v.SystemPrompt.Digest())
	for i := range v.Sets {
		digest.AddSet(shapes, state.SetOrder[i].Mark, &v.Sets[i], &s.shown.sets[i], s.recordShape)
	}
	digest.AddSet(shapes, adk.Digest{}, &v.Tools, &s.shown.tools, s.toolShape)
	return shapes.End(adk.DigestOf(sh.out)).String()
}

func (s *side) toolShape(tool *adk.Tool) adk.Digest { return s.recordShape(tool) }

// recordShape returns the digest of a record's shape, and computes it only once.
func (s *side) recordShape(record adk.Record) adk.Digest {
	if shape, known := s.records[record]; known {
		return shape
	}
	sh := &shaper{free: s.shaper.free, times: s.shaper.times}
	if text, err := record.MarshalJSON(); err == nil {
		sh.add(text, idPlace{depth: 1})
	}
	shape := adk.DigestOf(sh.out)
	s.records[record] = shape
	return shape
}

// whole returns a number for everything in a crossing.
func (s *side) whole(i int, all *interner) (int32, []idUse) {
	return all.of(s.shape(i)), s.shaper.ids
}

// shape returns everything in a crossing except ids and times.
func (s *side) shape(i int) string {
	x := &s.lines[i].Crossing
	sh := &s.shaper
	sh.out, sh.ids = append(sh.out[:0], 'w'), nil
	sh.out = append(sh.out, compare.KindText(x)...)
	for use, text := range s.fields(i) {
		sh.out = append(append(append(sh.out, ' '), use.Label...), ' ')
		sh.add(text, idPlaceOf(use.Field, x))
	}
	return string(sh.out)
}

// The labels of the members that every crossing has.
var (
	useAt     = adk.FieldUse{Label: wire.MemberAt, Input: true}
	useStrand = adk.FieldUse{Label: wire.MemberStrand}
)

// fields iterates over the compared fields of a crossing, as JSON. It leaves out the crossing's
// numbers, which depend on what happened before, and its time unless times are compared.
func (s *side) fields(i int) func(yield func(adk.FieldUse, []byte) bool) {
	return func(yield func(adk.FieldUse, []byte) bool) {
		x, f := &s.lines[i].Crossing, &s.forms[i]
		if s.shaper.times && i > 0 {
			since := x.At.Sub(s.lines[i-1].At)
			if since != 0 && !yield(useAt, []byte(compare.QuotedJSON(since.String()))) {
				return
			}
		}
		if s.strays(x) && !yield(useStrand, strconv.AppendInt(nil, int64(x.Strand), 10)) {
			return
		}
		for _, use := range x.Kind.Fields(x.Phase) {
			text := s.field(use, x, f)
			if len(text) > 0 && !yield(use, text) {
				return
			}
		}
	}
}

// strays reports whether a crossing has another strand than its call, which no engine emits.
func (s *side) strays(x *adk.Crossing) bool {
	c := s.fold.Calls[x.Call]
	switch {
	case x.Kind == adk.KindReturn:
		c = s.fold.Calls[x.ID]
	case x.Seam.Label == adk.LabelStrand:
		return false // it begins a strand of its own
	}
	return c != nil && c.Strand != x.Strand
}

// field returns one field as JSON, or nil if it is absent or needs no comparison.
func (s *side) field(use adk.FieldUse, x *adk.Crossing, f *key) []byte {
	switch {
	case f.hasDerived && isDerived(use):
		if f.derived == "" {
			return nil
		}
		return []byte(compare.QuotedJSON(f.derived))
	case use.Field == adk.FieldID:
		return nil
	}
	e := s.comparer.Encoder()
	if err := wire.FieldRows[use.Field].Append(e, "", x); err != nil {
		return []byte(compare.QuotedJSON("unwritable: " + err.Error()))
	}
	return e.Out
}
