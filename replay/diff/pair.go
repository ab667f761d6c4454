package diff

import (
	"encoding/json"
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/jsondiff"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/unescaped"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/align"
)

// opinion is the result for a crossing, or for a line of crossings.
type opinion uint8

const (
	absent  opinion = iota // there is no such crossing
	equal                  // the same in both
	follows                // differs because of a difference that is listed already
	changed
	onlyA
	onlyB
)

// pair is two nodes that have the same cause, or one node without a counterpart.
type pair struct {
	a, b       *node
	head, tail opinion
	// headFields and tailFields list the fields that differ.
	headFields, tailFields []compare.FieldDiff
	kids                   []*pair
}

// traceDiffer compares two traces whose keys are known.
type traceDiffer struct {
	a, b    *side
	renames *renames
	// listed holds the pairs of records and of arguments whose difference is listed already. If
	// they occur again, the difference follows.
	listed map[[2]string]bool
}

// pair compares two nodes of one cause, with everything within them.
func (d *traceDiffer) pair(a, b *node) *pair {
	p := &pair{a: a, b: b}
	p.head, p.headFields = d.compare(a.head, b.head)
	at := align.Pair{}
	for _, m := range append(d.alignNodes(a.kids, b.kids), align.Pair{A: len(a.kids), B: len(b.kids)}) {
		if m.A < len(a.kids) && !d.sameThing(a.kids[m.A], b.kids[m.B]) {
			continue
		}
		for ; at.A < m.A; at.A++ {
			p.kids = append(p.kids, alone(a.kids[at.A], onlyA))
		}
		for ; at.B < m.B; at.B++ {
			p.kids = append(p.kids, alone(b.kids[at.B], onlyB))
		}
		if m.A < len(a.kids) {
			p.kids = append(p.kids, d.pair(a.kids[m.A], b.kids[m.B]))
		}
		at = align.Pair{A: m.A + 1, B: m.B + 1}
	}
	p.tail, p.tailFields = d.compare(a.tail, b.tail)
	return p
}

// alone returns the pair of a node that the other trace does not have.
func alone(n *node, whose opinion) *pair {
	p := &pair{a: n, head: whose}
	if whose == onlyB {
		p.a, p.b = nil, n
	}
	for _, kid := range n.kids {
		p.kids = append(p.kids, alone(kid, whose))
	}
	if n.tail >= 0 {
		p.tail = whose
	}
	n.alone = true
	return p
}

// sameThing reports whether the ids in the causes of two nodes can be the same.
func (d *traceDiffer) sameThing(a, b *node) bool {
	return d.renames.same(d.a.forms[a.head].causeIDs, d.b.forms[b.head].causeIDs)
}

// alignNodes pairs the nodes of two lists: first those that are equal throughout, and between them
// those that have the same cause. It pairs the ids of equal nodes first, because they are better
// evidence than similar nodes.
func (d *traceDiffer) alignNodes(as, bs []*node) []align.Pair {
	wholes := func(n *node) int32 { return n.whole }
	causes := func(n *node) int32 { return n.cause }
	var all []align.Pair
	at := align.Pair{}
	exact := align.Common(safetext.Each(as, wholes), safetext.Each(bs, wholes))
	for _, m := range exact {
		d.sameThing(as[m.A], bs[m.B])
	}
	for _, m := range append(exact, align.Pair{A: len(as), B: len(bs)}) {
		for _, near := range align.Common(safetext.Each(as[at.A:m.A], causes), safetext.Each(bs[at.B:m.B], causes)) {
			all = append(all, align.Pair{A: at.A + near.A, B: at.B + near.B})
		}
		if m.A < len(as) {
			all = append(all, m)
		}
		at = align.Pair{A: m.A + 1, B: m.B + 1}
	}
	return all
}

// compare compares two crossings of one cause.
func (d *traceDiffer) compare(i, j int) (opinion, []compare.FieldDiff) {
	switch {
	case i < 0 && j < 0:
		return absent, nil
	case j < 0:
		return onlyA, nil
	case i < 0:
		return onlyB, nil
	}
	a, b := &d.a.forms[i], &d.b.forms[j]
	if a.whole == b.whole && d.renames.same(a.ids, b.ids) {
		return d.equalOrFollows(i, j), nil
	}
	fields, follow := d.fields(i, j)
	switch {
	case len(fields) > 0:
		return changed, fields
	case follow:
		return follows, nil
	}
	return equal, nil
}

// equalOrFollows returns equal, or follows if the crossings have checksums of different arguments,
// whose difference is listed where the arguments appear.
func (d *traceDiffer) equalOrFollows(i, j int) opinion {
	x, y := &d.a.lines[i].Crossing, &d.b.lines[j].Crossing
	if x.Kind.Names(adk.Checksum) && x.Key != y.Key {
		return follows
	}
	return equal
}

// fieldShape is a field of one crossing with its shape.
type fieldShape struct {
	use   adk.FieldUse
	text  []byte // as in a trace
	shape string
	ids   []idUse
}

func (s *side) fieldShapes(i int) []fieldShape {
	var all []fieldShape
	for use, text := range s.fields(i) {
		sh := &shaper{free: s.shaper.free, times: s.shaper.times}
		sh.add(text, idPlaceOf(use.Field, &s.lines[i].Crossing))
		all = append(all, fieldShape{use, text, string(sh.out), sh.ids})
	}
	return all
}

// fields lists the fields in which two crossings of one cause differ. follow is true if some of
// them differ because of a difference that is listed already.
func (d *traceDiffer) fields(i, j int) (diffs []compare.FieldDiff, follow bool) {
	ours, theirs := d.a.fieldShapes(i), d.b.fieldShapes(j)
	for _, use := range usesOf(&d.a.lines[i].Crossing) {
		a, b := fieldOf(ours, use), fieldOf(theirs, use)
		switch {
		case a.shape == b.shape && d.renames.same(a.ids, b.ids):
		case d.explained(use, i, j):
			follow = true
		case use.Field == adk.FieldDigest:
			diffs = append(diffs, compare.FieldDiff{Field: use.Label, Want: d.a.digest(i), Got: d.b.digest(j), Input: use.Input})
		default:
			place := idPlaceOf(use.Field, &d.a.lines[i].Crossing)
			diffs = append(diffs, d.leaves(use, orZero(use, a.text), orZero(use, b.text), place)...)
		}
	}
	return diffs, follow
}

// digest returns the digest of a state, and says so if it does not fit the crossings before it.
func (s *side) digest(i int) string {
	text := s.lines[i].Digest.String()
	if s.forms[i].unfit {
		text += ", of something else than what was told before"
	}
	return compare.QuotedJSON(text)
}

// orZero returns a field as JSON. If the trace omits the field, it returns the value that this
// means.
func orZero(use adk.FieldUse, text []byte) []byte {
	if len(text) > 0 {
		return text
	}
	if use == useAt {
		return []byte(`"0s"`) // since the crossing before
	}
	switch use.Field {
	case adk.FieldFlag, adk.FieldIsError:
		return []byte("false")
	case adk.FieldOutcome:
		return []byte(compare.QuotedJSON(string(adk.OutcomeOK)))
	}
	return []byte(wire.FieldRows[use.Field].Left)
}

// usesOf returns the fields in which crossings of one kind can differ.
func usesOf(x *adk.Crossing) []adk.FieldUse {
	return append([]adk.FieldUse{useAt, useStrand}, x.Kind.Fields(x.Phase)...)
}

func fieldOf(all []fieldShape, use adk.FieldUse) fieldShape {
	for _, f := range all {
		if f.use == use {
			return f
		}
	}
	return fieldShape{use: use}
}

// explained reports whether a difference follows from others. A state, and what is computed from
// arguments, follow from the crossings before; repeated records and arguments follow from their
// first occurrence.
func (d *traceDiffer) explained(use adk.FieldUse, i, j int) bool {
	f, g := &d.a.forms[i], &d.b.forms[j]
	if f.hasDerived && isDerived(use) {
		return use.Field == adk.FieldDigest && !f.unfit && !g.unfit
	}
	x, y := &d.a.lines[i].Crossing, &d.b.lines[j].Crossing
	switch use.Field {
	case adk.FieldRecord:
		return d.known([]adk.Record{x.Record}, []adk.Record{y.Record})
	case adk.FieldRecords:
		return d.known(x.Records, y.Records)
	case adk.FieldArgs:
		return d.seen(string(argsText(x.Args)), string(argsText(y.Args)))
	}
	return false
}

func argsText(args any) []byte {
	if object, err := canonical.Object(args); err == nil {
		if text, err := canonical.Marshal(object); err == nil {
			return text
		}
	}
	return nil
}

// known reports whether all differences between the records of two lists are listed already, and
// marks them as listed. If one list has records that the other does not have, it returns false
// every time.
func (d *traceDiffer) known(a, b []adk.Record) bool {
	there := map[string]adk.Record{}
	for _, record := range b {
		if record != nil {
			there[record.Key()] = record
		}
	}
	all := len(a) == len(b)
	for i, record := range a {
		other := d.counterpart(record, there)
		switch {
		case other == nil:
			all = false
		case !wire.SameRecord(record, other):
			all = d.seen(recordMark(record), recordMark(other)) && all
		default:
			all = all && wire.SameRecord(other, b[i])
		}
	}
	return all
}

// counterpart returns the record of there that has the id of another record, translated to b's ids.
func (d *traceDiffer) counterpart(record adk.Record, there map[string]adk.Record) adk.Record {
	if record == nil {
		return nil
	}
	if id, paired := d.renames.ab[record.Key()]; paired && wire.KeyedByID(record) {
		return there[id]
	}
	return there[record.Key()]
}

func recordMark(record adk.Record) string {
	if record == nil {
		return ""
	}
	return string(record.RecordKind()) + record.Digest().String()
}

// seen reports whether the difference of two texts is listed already, and marks it as listed. If
// one of them is empty, it returns false every time.
func (d *traceDiffer) seen(a, b string) bool {
	key := [2]string{a, b}
	if a == "" || b == "" || d.listed[key] {
		return d.listed[key]
	}
	d.listed[key] = true
	return false
}

// leaves lists the places in a field's JSON where two texts differ.
func (d *traceDiffer) leaves(use adk.FieldUse, a, b []byte, place idPlace) (diffs []compare.FieldDiff) {
	add := func(at jsondiff.Place, a, b any) {
		diffs = append(diffs, compare.FieldDiff{Field: at.Path, Want: leafText(a), Got: leafText(b), Input: use.Input})
	}
	at, x, y := jsondiff.At(use.Label), leafValue(a), leafValue(b)
	d.rules(place).Walk(at, x, y, add)
	if len(diffs) == 0 { // only ids that are no pair, in places that the walk skips
		add(at, x, y)
	}
	return diffs
}

func leafValue(text []byte) any {
	if len(text) == 0 {
		return jsondiff.Absent{}
	}
	if tree, ok := jsondiff.Decode(string(text)); ok {
		return tree
	}
	return string(text)
}

// rules returns how two fields are compared: ids up to renaming, times only if requested, and lists
// by their common elements.
func (d *traceDiffer) rules(place idPlace) jsondiff.Rules {
	return jsondiff.Rules{
		Same: func(a, b any) bool {
			x, isText := a.(string)
			y, both := b.(string)
			switch {
			case isText && both:
				return d.renames.paired(x, y)
			case jsondiff.IsContainer(a):
				return false
			}
			return a == b
		},
		Skip: func(name string, depth int) bool {
			return name == recordNumber || !d.a.shaper.times && (name == plainTime || timeMembers[name] && depth == place.depth)
		},
		Inline: func(object map[string]any) bool { // the kind of a record is left out of the path
			_, record := object[recordNumber]
			return record
		},
		Pairs: d.pairElements,
	}
}

// recordNumber is the member that holds the number of a record.
const recordNumber = "#"

// pairElements pairs the common elements of two lists, and the elements between them in order.
func (d *traceDiffer) pairElements(a, b []any) (pairs []jsondiff.Pair, apart bool) {
	at := align.Pair{}
	for _, m := range append(align.Common(d.numbers(a, b)), align.Pair{A: len(a), B: len(b)}) {
		for at.A < m.A || at.B < m.B {
			p := jsondiff.Pair{A: -1, B: -1}
			if at.A < m.A {
				p.A, at.A = at.A, at.A+1
			}
			if at.B < m.B {
				p.B, at.B = at.B, at.B+1
			}
			pairs = append(pairs, p)
		}
		if m.A < len(a) {
			pairs = append(pairs, jsondiff.Pair(m))
		}
		at = align.Pair{A: m.A + 1, B: m.B + 1}
	}
	return pairs, true
}

// numbers assigns numbers to the elements of two lists: to records by their ids, up to renaming,
// and to other elements by their whole content.
func (d *traceDiffer) numbers(a, b []any) ([]int32, []int32) {
	all := &interner{map[string]int32{}}
	of := func(list []any, rename map[string]string) []int32 {
		numbers := make([]int32, len(list))
		for i, v := range list {
			text := leafText(v)
			if id, ok := idInRecord(v); ok {
				if other, paired := rename[id]; paired {
					id = other
				}
				text = "id " + id
			}
			numbers[i] = all.of(text)
		}
		return numbers
	}
	return of(a, d.renames.ab), of(b, nil)
}

// idInRecord returns the id of a record in a list.
func idInRecord(v any) (string, bool) {
	object, _ := v.(map[string]any)
	if _, numbered := object[recordNumber]; !numbered {
		return "", false
	}
	for name, inner := range object {
		if record, ok := inner.(map[string]any); ok && name != recordNumber {
			id, ok := record["id"].(string)
			return id, ok
		}
	}
	return "", false
}

// leafText returns a value as in a trace.
func leafText(v any) string {
	switch v := v.(type) {
	case jsondiff.Absent:
		return ""
	case string:
		return compare.QuotedJSON(v)
	case json.Number:
		return v.String()
	}
	text, err := unescaped.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
