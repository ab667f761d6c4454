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

// Options say what Traces compares and counts.
type Options struct {
	// Times makes times count as differences: the time since the crossing before, and the times in
	// records and in plain data.
	Times bool
	// Encoding is the encoding in which tokens are counted; empty means adk.EncodingO200kBase.
	Encoding adk.Encoding
}

// Op says how two traces differ in one place.
type Op string

// The ways to differ.
const (
	Changed Op = "changed"   // it is in both, with different values
	OnlyA   Op = "only in a" // it is only in the first trace
	OnlyB   Op = "only in b" // it is only in the second trace
)

// Change is one place in which two traces differ. It corresponds to a line of a transcript, which
// may include the end of an operation and the event that the operation causes.
type Change struct {
	Op Op `json:"op"`
	// A and B are the numbers of its first crossings in the two traces, from 1; 0 if there is none.
	A int `json:"a,omitempty"`
	B int `json:"b,omitempty"`
	// Seam is the path of the seam call that it belongs to.
	Seam string `json:"seam"`
	// LineA and LineB are its lines in the transcripts. The names m1, call1 denote the same things
	// in both.
	LineA string `json:"lineA,omitempty"`
	LineB string `json:"lineB,omitempty"`
	// Fields lists the fields that differ, down to the member of a record or of arguments. Want is
	// a's value and Got is b's.
	Fields []FieldDiff `json:"fields,omitempty"`
}

// Counts says how many crossings had which result. A crossing that is in both traces counts once.
type Counts struct {
	Equal int `json:"equal"`
	// Follow counts crossings that differ because of a difference that is listed already: a state
	// after a record differs, or the same record or arguments again.
	Follow  int `json:"follow"`
	Changed int `json:"changed"`
	OnlyA   int `json:"onlyA"`
	OnlyB   int `json:"onlyB"`
}

// Renaming is an id that is different in the second trace.
type Renaming struct {
	A string `json:"a"`
	B string `json:"b"`
}

// FieldDiff is one field in which two crossings, or the headers, differ. Want is a's value and Got
// is b's, as JSON in the form of a trace; empty if the field is absent.
type FieldDiff = compare.FieldDiff

// Diff is how two traces differ. Traces makes it.
type Diff struct {
	// Header lists the names of seams in which the headers differ.
	Header []FieldDiff `json:"header,omitempty"`
	// Changes lists the differences in the order of the runs.
	Changes   []Change `json:"changes"`
	Crossings Counts   `json:"crossings"`
	// Renamed lists the ids that differ one to one, which is no difference.
	Renamed []Renaming `json:"renamed,omitempty"`
	A       Totals     `json:"totalsA"`
	B       Totals     `json:"totalsB"`
	// Encoding is the encoding in which the tokens are counted.
	Encoding adk.Encoding `json:"encoding"`

	lines []line // of the text, including the folded ones
}

// Same reports whether nothing differs.
func (d *Diff) Same() bool {
	c := d.Crossings
	return len(d.Header) == 0 && c.Changed+c.OnlyA+c.OnlyB == 0
}

// Traces compares two traces of one turn, or of two versions of it. It aligns crossings by cause
// and not by position: by where they are in the tree of seam calls, and what they are about. So an
// inserted middleware, or a record that is stored once more, is a single difference, and everything
// after it is still compared with its counterpart.
//
// These are no differences by themselves: the numbers of calls, operations and strands; how strands
// interleave; times, unless the options say so; and ids that differ one to one, in id fields and as
// whole arguments. Members that this package does not know are not compared. Prefixes of traces are
// compared as far as they go.
//
// Traces(b, a) finds the same differences with a and b exchanged. The time is linear in the length
// of the traces if they are much alike.
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

// alignTrees compares the two trees. There may be several equally good alignments, and which one is
// chosen must not depend on which trace is a and which is b. So alignTrees first puts the two
// traces in an order that depends only on their content.
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

// comesBefore orders two traces by the first crossing that differs, or by their numbers if all
// crossings have the same shape.
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

// mirrored maps each opinion to the one with a and b exchanged.
var mirrored = [...]opinion{absent: absent, equal: equal, follows: follows,
	changed: changed, onlyA: onlyB, onlyB: onlyA}

// mirror exchanges a and b. Among neighbors that are in one trace only, those of a come first.
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

// side orders pairs by the trace that they are in.
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
