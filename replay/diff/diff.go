package diff

import (
	"cmp"
	"maps"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/replay/internal/optional"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Options say what Traces is to compare and to count.
type Options struct {
	// Times makes times differences too: how long after the crossing before it
	// each happened, and the times in records and in plain data.
	Times bool
	// Encoding is the one in which tokens are counted; empty is
	// adk.EncodingO200kBase.
	Encoding adk.Encoding
}

// Op says how two traces differ in a place.
type Op string

// The ways to differ.
const (
	Changed Op = "changed"   // it happens in both, with other values
	OnlyA   Op = "only in a" // it happens in the first trace only
	OnlyB   Op = "only in b" // it happens in the second trace only
)

// Change is one place in which two traces differ: a line of a transcript,
// which may hold an operation with its end and the event that it causes.
type Change struct {
	Op Op `json:"op"`
	// A and B are the numbers of its first crossings in the two traces, from 1;
	// 0 where there is none.
	A int `json:"a,omitempty"`
	B int `json:"b,omitempty"`
	// Seam is the path of the seam call that it belongs to.
	Seam string `json:"seam"`
	// LineA and LineB are how transcripts say it. The names m1, call1 stand for
	// the same things in both.
	LineA string `json:"lineA,omitempty"`
	LineB string `json:"lineB,omitempty"`
	// Fields are the fields that differ, down to the member of a record or of
	// arguments; Want is a's and Got is b's.
	Fields []FieldDiff `json:"fields,omitempty"`
}

// Counts are how many crossings came out in which way. A crossing that both
// traces have is counted once.
type Counts struct {
	Equal int `json:"equal"`
	// Follow are those that differ because of something that is listed already:
	// what is visible, once a record differs; the same record or the same
	// arguments again.
	Follow  int `json:"follow"`
	Changed int `json:"changed"`
	OnlyA   int `json:"onlyA"`
	OnlyB   int `json:"onlyB"`
}

// Renaming is an id that has another name in the second trace.
type Renaming struct {
	A string `json:"a"`
	B string `json:"b"`
}

// FieldDiff is one field in which two crossings differ, or the headers: Want is a's and Got
// is b's, each as a trace writes it, which is JSON; empty where the field is absent.
type FieldDiff = compare.FieldDiff

// Diff is in what two traces differ. Traces makes it.
type Diff struct {
	// Header are the names of seams in which the headers differ.
	Header []FieldDiff `json:"header,omitempty"`
	// Changes are the differences, in the order of what happened.
	Changes   []Change `json:"changes"`
	Crossings Counts   `json:"crossings"`
	// Renamed are the ids that differ, one to one; that is no difference.
	Renamed []Renaming `json:"renamed,omitempty"`
	A       Totals     `json:"totalsA"`
	B       Totals     `json:"totalsB"`
	// Encoding is the one in which the tokens are counted.
	Encoding adk.Encoding `json:"encoding"`

	lines []line // of the text, the folded ones included
}

// Same reports whether nothing differs.
func (d *Diff) Same() bool {
	c := d.Crossings
	return len(d.Header) == 0 && c.Changed+c.OnlyA+c.OnlyB == 0
}

// Traces compares two traces of one turn, or of two versions of it. Crossings are
// aligned by their cause and not by their place: where in the tree of seam calls
// they are, and what they are about. So an inserted middleware, or a record that
// is stored once more, is a difference of its own, and what comes behind it is
// still compared with its like.
//
// These are no differences by themselves: the numbers of calls, operations and
// strands; how strands take turns; times, unless the options say so; and ids,
// where they differ one to one, in id fields and as whole arguments. Members
// that this package does not know are not compared. Prefixes of traces are
// compared as far as they go.
//
// Traces(b, a) finds the same with a and b exchanged. Of traces that are much
// alike the time is linear in their length.
func Traces(a, b *trace.Trace, options ...Options) *Diff {
	o := optional.First(options)
	o.Encoding = cmp.Or(o.Encoding, adk.EncodingO200kBase)
	free := freeIDs(idsOf(a.Lines()), idsOf(b.Lines()))
	all := &interner{map[string]int32{}}
	format := min(a.Version, b.Version)
	sideA, sideB := newSide(a, format, o, free), newSide(b, format, o, free)
	sideA.read(all)
	sideB.read(all)
	root, renames := alignTrees(sideA, sideB)
	d := &Diff{
		Header: compare.CompareInfo(a.Header, b.Header), Changes: []Change{}, Renamed: renames.changed(),
		A: sideA.totals.Totals, B: sideB.totals.Totals, Encoding: o.Encoding,
	}
	d.lay(root, sideA, sideB, renames)
	return d
}

// alignTrees compares the two trees. Where there are several ways to align them that
// are equally good, the one that is taken must not depend on which is a and
// which is b: it is taken with the two in an order of their own.
func alignTrees(a, b *side) (*pair, *renames) {
	swapped := comesBefore(b, a)
	if swapped {
		a, b = b, a
	}
	d := &traceDiffer{a: a, b: b, renames: newRenames(), listed: map[[2]string]bool{}}
	root := d.pair(a.tree, b.tree)
	if swapped {
		root.mirror()
		d.renames.ab, d.renames.ba = d.renames.ba, d.renames.ab
	}
	return root, d.renames
}

// comesBefore orders two traces by the first crossing that differs, and two that
// say the same by their numbers.
func comesBefore(a, b *side) bool {
	for i := range min(len(a.lines), len(b.lines)) {
		if a.forms[i].whole != b.forms[i].whole {
			return a.shape(i) < b.shape(i)
		}
	}
	if len(a.lines) != len(b.lines) {
		return len(a.lines) < len(b.lines)
	}
	return slices.CompareFunc(a.lines, b.lines, func(x, y trace.Line) int {
		return cmp.Or(cmp.Compare(x.Call, y.Call), cmp.Compare(x.ID, y.ID), cmp.Compare(x.Op, y.Op), cmp.Compare(x.Strand, y.Strand))
	}) < 0
}

// mirrored is what an opinion is with a and b exchanged.
var mirrored = [...]opinion{absent: absent, equal: equal, follows: follows,
	changed: changed, onlyA: onlyB, onlyB: onlyA}

// mirror exchanges a and b. Among neighbours that one side has alone, those of a
// come first.
func (p *pair) mirror() {
	p.a, p.b = p.b, p.a
	p.head, p.tail = mirrored[p.head], mirrored[p.tail]
	for _, fields := range [][]compare.FieldDiff{p.headFields, p.tailFields} {
		for i := range fields {
			fields[i].Want, fields[i].Got = fields[i].Got, fields[i].Want
		}
	}
	for _, kid := range p.kids {
		kid.mirror()
	}
	for from := 0; from < len(p.kids); from++ {
		to := from
		for to < len(p.kids) && (p.kids[to].a == nil || p.kids[to].b == nil) {
			to++
		}
		slices.SortStableFunc(p.kids[from:to], func(x, y *pair) int { return cmp.Compare(x.side(), y.side()) })
		from = to
	}
}

// side orders pairs by whose they are.
func (p *pair) side() int {
	if p.b == nil {
		return 0
	}
	return 1
}

// changed lists the ids that differ.
func (r *renames) changed() (all []Renaming) {
	for _, a := range slices.Sorted(maps.Keys(r.ab)) {
		if b := r.ab[a]; a != b {
			all = append(all, Renaming{a, b})
		}
	}
	return all
}
