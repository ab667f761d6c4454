package transcript

import (
	"bufio"
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
	if len(numbers) == 0 {
		return nil
	}
	var text bytes.Buffer
	t := New(&text)
	t.excerpt = &excerpt{numbers: numbers, last: slices.Max(numbers)}
	for x := range crossings {
		if t.excerpt.n == t.excerpt.last {
			break
		}
		_ = t.Write(x) // a buffer takes everything
	}
	_ = t.Close()
	_, err := w.Write(dedented(text.Bytes()))
	return err
}

// excerpt says what of a transcript to write.
type excerpt struct {
	numbers []int
	last    int
	n       int  // the number of the crossing that was taken in last
	begun   bool // a line was written
	between int  // crossings since then
}

// extract is how a line stands in an excerpt: how many crossings are on it, how
// many without a line of their own follow, and whether it is to be written.
type extract struct {
	on, behind int
	wanted     bool
}

// mark notes on which line the crossing stands. One that is on none gets a line
// where it is asked for.
func (t *Transcript) mark(x *adk.Crossing, shown bool) {
	e := t.excerpt
	e.n++
	wanted := slices.Contains(e.numbers, e.n)
	if !shown && wanted {
		at := x.Call
		if x.Kind == adk.KindReturn {
			at = x.ID
		}
		t.hold(&heldLine{margin: t.margin(at), text: t.namer.Line(x), call: x.Call})
		shown = true
	}
	switch held := t.held; {
	case shown:
		held.extract.on++
		held.extract.wanted = held.extract.wanted || wanted
	case held != nil:
		held.extract.behind++
	default:
		e.between++
	}
}

// takes reports whether a line is written, and writes what was left out before it.
func (e *excerpt) takes(line *heldLine, out *bufio.Writer) bool {
	if !line.extract.wanted {
		e.between += line.extract.on + line.extract.behind
		return false
	}
	e.leaveOut(out, line.margin)
	e.begun, e.between = true, line.extract.behind
	return true
}

// leaveOut says how many crossings lie between the line that was written last and
// what comes next.
func (e *excerpt) leaveOut(out *bufio.Writer, margin string) {
	if !e.begun || e.between == 0 {
		return
	}
	plural := "s"
	if e.between == 1 {
		plural = ""
	}
	fmt.Fprintf(out, "%s… %d crossing%s\n", margin, e.between, plural)
}

// reachesEnd reports whether the end is part of the excerpt, as it is of every
// whole transcript.
func (e *excerpt) reachesEnd() bool { return e == nil || e.last > e.n }

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
