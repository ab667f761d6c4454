package transcript

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// WriteExcerpt writes the lines of a transcript on which the crossings with these
// numbers stand, from the first of them to the last, and says how many lie
// between. A number behind the last crossing stands for the end. The names are
// those of the whole transcript; how far all lines are indented is left out.
func WriteExcerpt(w io.Writer, crossings iter.Seq[*adk.Crossing], numbers []int) error {
	_, err := io.WriteString(w, Excerpts(crossings, [][]int{numbers})[0])
	return err
}

// Excerpts are what WriteExcerpt writes for each list of numbers, all made in one walk
// through the crossings. That of no numbers is empty.
func Excerpts(crossings iter.Seq[*adk.Crossing], lists [][]int) []string {
	t := New(io.Discard)
	t.excerpts = newExcerpts(lists)
	for x := range crossings {
		if t.excerpts.missing == 0 {
			break
		}
		_ = t.Write(x) // what is discarded takes everything
	}
	t.excerpts.close(t.ending())
	texts := make([]string, len(lists))
	for i, e := range t.excerpts.all {
		texts[i] = string(dedented(e.text))
	}
	return texts
}

// excerpts say what of a transcript to keep.
type excerpts struct {
	all     []*excerpt
	byLine  map[int][]*excerpt // by the numbers of the crossings that they show
	missing int                // how many are not complete
	n       int                // the number of the crossing that was taken in last
}

// excerpt is one of them.
type excerpt struct {
	last  int // the number that completes it
	lines []*heldLine
	text  []byte // once it is complete
}

// extract is where a line stands among the crossings: how many are before it, and how
// many are on it.
type extract struct{ before, on int }

func newExcerpts(lists [][]int) *excerpts {
	e := &excerpts{byLine: map[int][]*excerpt{}}
	for _, numbers := range lists {
		one := &excerpt{}
		e.all = append(e.all, one)
		if len(numbers) == 0 {
			continue
		}
		e.missing++
		one.last = slices.Max(numbers)
		for _, number := range slices.Compact(slices.Sorted(slices.Values(numbers))) {
			e.byLine[number] = append(e.byLine[number], one)
		}
	}
	return e
}

// mark notes on which line the crossing stands, for the excerpts that show it. One that
// is on none gets a line of its own there.
func (t *Transcript) mark(x *adk.Crossing, shown bool) {
	e := t.excerpts
	e.n++
	if shown {
		t.held.extract.on++
	}
	wanted := e.byLine[e.n]
	delete(e.byLine, e.n)
	var aside *heldLine
	for _, one := range wanted {
		if shown && !one.isBeyond(t.held) {
			one.take(t.held)
		} else {
			if aside == nil {
				aside = t.aside(x)
			}
			one.take(aside)
		}
		if one.last == e.n {
			e.missing--
			one.write(nil)
		}
	}
}

// aside is a line for a crossing that has none.
func (t *Transcript) aside(x *adk.Crossing) *heldLine {
	at := x.Call
	if x.Kind == adk.KindReturn {
		at = x.ID
	}
	return &heldLine{margin: t.margin(at), text: t.namer.Line(x), extract: extract{before: t.excerpts.n - 1, on: 1}}
}

// isBeyond reports whether the excerpt shows lines behind that one already.
func (e *excerpt) isBeyond(line *heldLine) bool {
	n := len(e.lines)
	return n > 0 && e.lines[n-1].extract.before > line.extract.before
}

// take shows a line, once.
func (e *excerpt) take(line *heldLine) {
	if n := len(e.lines); n == 0 || e.lines[n-1] != line {
		e.lines = append(e.lines, line)
	}
}

// write puts the lines together as they are now, with the end of the transcript if that
// is shown too.
func (e *excerpt) write(end *heldLine) {
	lines := e.lines
	if end != nil {
		lines = append(lines, end)
	}
	var text bytes.Buffer
	for i, line := range lines {
		if i > 0 {
			leaveOut(&text, line.margin, line.extract.before-lines[i-1].extract.before-lines[i-1].extract.on)
		}
		line.write(&text)
	}
	e.text, e.lines = text.Bytes(), nil
}

// leaveOut says how many crossings lie between two lines.
func leaveOut(text *bytes.Buffer, margin string, between int) {
	switch {
	case between == 1:
		fmt.Fprintf(text, "%s… 1 crossing\n", margin)
	case between > 1:
		fmt.Fprintf(text, "%s… %d crossings\n", margin, between)
	}
}

// close completes what waits for crossings that did not come: it shows the end, which
// is empty where nothing is open.
func (e *excerpts) close(ending string) {
	var end *heldLine
	if ending != "" {
		end = &heldLine{text: ending, extract: extract{before: e.n}}
	}
	for _, one := range e.all {
		if one.last > e.n {
			one.write(end)
		}
	}
}

// dedented takes away how far all lines are indented.
func dedented(text []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	least := -1
	for _, line := range lines {
		if blanks := len(line) - len(bytes.TrimLeft(line, " ")); len(line) > 0 && (least < 0 || blanks < least) {
			least = blanks
		}
	}
	for i, line := range lines {
		if len(line) > 0 {
			lines[i] = line[least:]
		}
	}
	return bytes.Join(lines, nil)
}
