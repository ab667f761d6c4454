package diff

import (
	"cmp"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/state"
)

// line is one line of a diff's text: a crossing, together with its end and with the event or the
// obligation that it calls if nothing else happens within it.
type line struct {
	opinion opinion
	a, b    *node // nil if that trace has none
	ending  bool  // it is the end of the nodes, whose beginning has its own line
	merged  bool  // it shows all of the nodes
	fields  []compare.FieldDiff
	above   int // the index of the line that contains it, or -1
	depth   int
	silent  bool // it is never shown
	// crossings counts the crossings on the line by opinion.
	crossings [onlyB + 1]int
	textA     string
	textB     string
}

// differs reports whether the line shows a difference.
func (l *line) differs() bool { return l.opinion >= changed }

// layer makes lines from pairs.
type layer struct {
	lines []line
	a, b  *side
	// open holds the indexes of the lines that may contain the next one, by depth.
	open []int
}

// pairs makes the lines of all the given pairs.
func (y *layer) pairs(kids []*pair) {
	for _, kid := range kids {
		y.pair(kid)
	}
}

func (y *layer) pair(p *pair) {
	if p.mergeable() {
		y.add(y.merged(p))
		return
	}
	head := line{opinion: p.head, a: p.a, b: p.b, fields: p.headFields, depth: p.depth(), silent: y.silentEnd(p)}
	head.crossings[p.head]++
	y.add(head)
	y.pairs(p.kids)
	if p.tail != absent {
		end := line{opinion: p.tail, a: p.a, b: p.b, ending: true, fields: p.tailFields, depth: p.depth() + 1}
		end.crossings[p.tail]++
		end.silent = p.isAlone() && !y.answers(end) || p.tail < changed && !y.answers(end)
		y.add(end)
	}
}

func (p *pair) isAlone() bool { return p.a == nil || p.b == nil }

func (p *pair) depth() int {
	if p.b != nil {
		return p.b.depth
	}
	return p.a.depth
}

// mergeable reports whether both nodes fit on one line each.
func (p *pair) mergeable() bool {
	return p.a.mergeable() && p.b.mergeable()
}

func (n *node) mergeable() bool {
	switch {
	case n == nil || len(n.kids) == 0:
		return n == nil || n.opener == nil
	case len(n.kids) > 1:
		return false
	}
	return n.kids[0].continues && len(n.kids[0].kids) == 0
}

// merged returns a pair as one line.
func (y *layer) merged(p *pair) line {
	l := line{a: p.a, b: p.b, merged: true, depth: p.depth(), opinion: equal}
	l.take(p.head, p.headFields, "")
	for _, kid := range p.kids {
		l.take(kid.head, kid.headFields, y.what(kid))
		l.take(kid.tail, kid.tailFields, y.what(kid)+" returns")
	}
	l.take(p.tail, p.tailFields, y.what(p)+" done")
	if p.isAlone() {
		l.opinion, l.fields = p.head, nil
	}
	return l
}

// take adds the result for one crossing to a line of several crossings. A crossing that is in one
// trace only makes the line a changed one.
func (l *line) take(found opinion, fields []compare.FieldDiff, what string) {
	if found == absent {
		return
	}
	l.crossings[found]++
	l.fields = append(l.fields, fields...)
	switch found {
	case onlyA:
		l.fields = append(l.fields, compare.FieldDiff{Field: what, Want: "true"})
	case onlyB:
		l.fields = append(l.fields, compare.FieldDiff{Field: what, Got: "true"})
	}
	l.opinion = max(l.opinion, min(found, changed))
}

// what names the crossings of a pair: the seam of a call, or the kind.
func (y *layer) what(p *pair) string {
	side, n := y.a, p.a
	if n == nil {
		side, n = y.b, p.b
	}
	x := &side.lines[n.head].Crossing
	if x.Kind == adk.KindCall {
		return x.Seam.String()
	}
	return x.Kind.String()
}

// silentEnd reports whether an end in a pipeline's flat list need not be shown: nothing went wrong,
// so it belongs to its beginning.
func (y *layer) silentEnd(p *pair) bool {
	opener := p.either().opener
	if opener == nil || y.answers(line{a: p.a, b: p.b}) {
		return false
	}
	return p.head < changed || p.isAlone() && opener.alone
}

func (p *pair) either() *node { return cmp.Or(p.b, p.a) }

// answers reports whether an end has something to show on either side.
func (y *layer) answers(l line) bool {
	return l.a != nil && y.a.answers(l.a, l.ending) || l.b != nil && y.b.answers(l.b, l.ending)
}

func (s *side) answers(n *node, ending bool) bool {
	at := n.head
	if ending {
		at = n.tail
	}
	if at < 0 {
		return false
	}
	x := &s.lines[at].Crossing
	return x.Err != nil || x.Result != nil || len(x.Records) > 0 || x.Value != nil || x.Outcome != "" && x.Outcome != adk.OutcomeOK
}

// add appends a line below the line that contains it.
func (y *layer) add(l line) {
	for len(y.open) > 0 && y.lines[y.open[len(y.open)-1]].depth >= l.depth {
		y.open = y.open[:len(y.open)-1]
	}
	l.above = -1
	if len(y.open) > 0 {
		l.above = y.open[len(y.open)-1]
	}
	y.lines = append(y.lines, l)
	if !l.silent && !l.ending {
		y.open = append(y.open, len(y.lines)-1)
	}
}

// lay makes the lines of the diff, and the texts of those that are shown.
func (d *Diff) lay(root *pair, a, b *side, ids *renames) {
	y := &layer{a: a, b: b}
	y.pairs(root.kids)
	d.lines = y.lines
	for i := range d.lines {
		c := &d.lines[i].crossings
		d.Crossings.Equal += c[equal]
		d.Crossings.Follow += c[follows]
		d.Crossings.Changed += c[changed]
		d.Crossings.OnlyA += c[onlyA]
		d.Crossings.OnlyB += c[onlyB]
	}
	shown := shownLines(d.lines)
	said := a.say(nil, wanted(d.lines, shown, true))
	heard := b.say(said.namer.Renamed(ids.other), wanted(d.lines, shown, false))
	for i := range d.lines {
		l := &d.lines[i]
		if !shown[i] {
			continue
		}
		l.textA, l.textB = said.text(l, l.a), heard.text(l, l.b)
		if l.differs() && !l.silent {
			d.Changes = append(d.Changes, d.change(l, a, b))
		}
	}
}

// change returns a line that differs as a Change.
func (d *Diff) change(l *line, a, b *side) Change {
	c := Change{Op: Changed, LineA: l.textA, LineB: l.textB, Fields: l.fields}
	switch {
	case l.lacks(l.b):
		c.Op = OnlyA
	case l.lacks(l.a):
		c.Op = OnlyB
	}
	if !l.lacks(l.a) {
		c.A, c.Seam = l.crossing(l.a)+1, a.fold.SeamOf(&a.lines[l.crossing(l.a)].Crossing)
	}
	if !l.lacks(l.b) {
		c.B, c.Seam = l.crossing(l.b)+1, b.fold.SeamOf(&b.lines[l.crossing(l.b)].Crossing)
	}
	return c
}

// crossing returns the first crossing on the line that belongs to the given node.
func (l *line) crossing(n *node) int {
	if l.ending {
		return n.tail
	}
	return n.head
}

// lacks reports whether the line is not in the trace of a node.
func (l *line) lacks(n *node) bool { return n == nil || l.crossing(n) < 0 }

// contextLines is how many equal lines are shown around a difference.
const contextLines = 2

// shownLines selects the lines that differ, those around them, and those that contain them.
func shownLines(lines []line) []bool {
	shown := make([]bool, len(lines))
	spread := func(step, from, to int) {
		left := 0
		for i := from; i != to; i += step {
			switch l := &lines[i]; {
			case l.silent:
			case l.differs():
				left = contextLines
			case left > 0:
				shown[i] = true
				left--
			}
		}
	}
	spread(1, 0, len(lines))
	spread(-1, len(lines)-1, -1)
	within := make([]bool, len(lines)) // lines that are shown together with all lines that contain them
	for i := range lines {
		if !lines[i].differs() || lines[i].silent {
			continue
		}
		for at := i; at >= 0 && !within[at]; at = lines[at].above {
			shown[at], within[at] = true, true
		}
	}
	return shown
}

// wanted returns the crossings of one side whose texts are needed.
func wanted(lines []line, shown []bool, ofA bool) map[int]bool {
	want := map[int]bool{}
	for i := range lines {
		l := &lines[i]
		n := l.b
		if ofA {
			n = l.a
		}
		if !shown[i] || n == nil {
			continue
		}
		if l.ending {
			want[n.tail] = true
		} else {
			want[n.head], want[n.tail] = true, true
			for _, kid := range n.kids {
				want[kid.head], want[kid.tail] = true, true
			}
		}
	}
	return want
}

// sayings holds the texts of crossings.
type sayings struct {
	namer *describe.Namer
	words map[int]crossingWords
}

// crossingWords holds the texts of a crossing that a transcript may need.
type crossingWords struct{ line, head, answer, continuation string }

// say makes the texts of crossings of one side. The namer may already have names.
func (s *side) say(n *describe.Namer, want map[int]bool) sayings {
	if n == nil {
		n = describe.New(state.New())
	}
	n.Shown = map[state.Ref]adk.Digest{}
	said := sayings{n, map[int]crossingWords{}}
	for i := range s.lines {
		x := &s.lines[i].Crossing
		n.Note(x)
		if want[i] {
			w := crossingWords{head: n.Head(x), answer: n.Answer(x)}
			w.line = w.head
			if describe.IsClosing(x) {
				w.line = n.Closing(x)
			}
			if w.answer != "" {
				w.line += " → " + w.answer
			}
			w.continuation = n.Continuation(x)
			said.words[i] = w
		}
		applyByPlace(n.Fold, x)
	}
	return said
}

// text returns the text of a line for one of the sides.
func (s sayings) text(l *line, n *node) string {
	if l.lacks(n) {
		return ""
	}
	w := s.words[l.crossing(n)]
	switch {
	case (l.ending || n.opener != nil) && !l.differs():
		return "→ " + w.answer
	case l.ending || n.opener != nil:
		return w.line
	}
	text, answer := w.line, w.answer
	if l.merged {
		for _, kid := range n.kids {
			text += s.words[kid.head].continuation
			text, answer = answered(text, answer, s.words[kid.tail].answer)
		}
		text, _ = answered(text, answer, s.words[n.tail].answer)
	}
	return text
}

// answered appends an answer to a text, unless it repeats the previous one.
func answered(text, said, answer string) (string, string) {
	if answer == "" || answer == said {
		return text, said
	}
	return text + " → " + answer, answer
}
