package transcript

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// WriteExcerpt writes the lines of a transcript that show the crossings with the given numbers,
// from the first to the last, and says how many crossings are left out in between. A number beyond
// the last crossing stands for the end of the transcript. The names are those of the whole
// transcript; the indentation that all lines share is removed.
func WriteExcerpt(w io.Writer, crossings iter.Seq[*adk.Crossing], numbers []int) error {
	_, err := io.WriteString(w, Excerpts(crossings, [][]int{numbers})[0])
	return err
}

// Excerpts returns what WriteExcerpt writes for each list of numbers, in a single pass over the
// crossings. The excerpt of an empty list is empty.
func Excerpts(crossings iter.Seq[*adk.Crossing], lists [][]int) []string {
	t := New(io.Discard)
	t.excerpts = newExcerpts(lists)
	for x := range crossings {
		if t.excerpts.missing == 0 {
			break
		}
		_ = t.Write(x) // io.Discard never fails
	}
	t.excerpts.close(t.ending())
	texts := make([]string, len(lists))
	for i, e := range t.excerpts.all {
		texts[i] = string(dedented(e.text))
	}
	return texts
}

// excerpts says which lines of a transcript to keep.
type excerpts struct {
	all     []*excerpt
	byLine  map[int][]*excerpt // by the number of each crossing that they show
	missing int                // how many excerpts are not complete
	n       int                // the number of the last crossing
}

// excerpt is one excerpt.
type excerpt struct {
	last  int // the number of the crossing that completes it
	lines []*heldLine
	text  []byte // set when it is complete
}

// extract is the position of a line among the crossings: how many crossings are before it, and how
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

// mark adds the line of the crossing to the excerpts that show it. If the crossing is on no line,
// it gets a line of its own.
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

// aside returns a line for a crossing that has none in the transcript.
func (t *Transcript) aside(x *adk.Crossing) *heldLine {
	at := x.Call
	if x.Kind == adk.KindReturn {
		at = x.ID
	}
	return &heldLine{margin: t.margin(at), text: t.namer.Line(x), extract: extract{before: t.excerpts.n - 1, on: 1}}
}

// isBeyond reports whether the excerpt already has a line that comes after the given one.
func (e *excerpt) isBeyond(line *heldLine) bool {
	n := len(e.lines)
	return n > 0 && e.lines[n-1].extract.before > line.extract.before
}

// take adds a line, once.
func (e *excerpt) take(line *heldLine) {
	if n := len(e.lines); n == 0 || e.lines[n-1] != line {
		e.lines = append(e.lines, line)
	}
}

// write joins the lines into the text, with the end of the transcript if end is not nil.
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

// leaveOut says how many crossings are between two lines.
func leaveOut(text *bytes.Buffer, margin string, between int) {
	switch {
	case between == 1:
		fmt.Fprintf(text, "%s… 1 crossing\n", margin)
	case between > 1:
		fmt.Fprintf(text, "%s… %d crossings\n", margin, between)
	}
}

// close completes the excerpts that wait for crossings that did not come. They get the ending,
// which is empty if nothing is open.
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

// dedented removes the indentation that all lines share.
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
