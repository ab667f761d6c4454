package diff

import (
	"fmt"
	"io"
	"strings"

	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/safetext"
)

// WriteTo writes the diff for a person. Lines are as in transcripts: with - if they are only in a,
// with + if they are only in b, and with ~ if they differ because of another line. The fields that
// differ are below a line, and equal stretches are folded. The totals of both traces are at the
// end. All text is escaped, so that it cannot control the terminal that prints it.
func (d *Diff) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, d.String())
	return int64(n), err
}

// String returns the text that WriteTo writes.
func (d *Diff) String() string {
	t := &textWriter{}
	for _, f := range d.Header {
		t.line("-", 0, "header "+f.Field+" "+safetext.BareJSON(compare.OrNothing(f.Want)))
		t.line("+", 0, "header "+f.Field+" "+safetext.BareJSON(compare.OrNothing(f.Got)))
	}
	for i := range d.lines {
		t.add(&d.lines[i])
	}
	t.fold()
	d.conclude(t)
	return t.String()
}

// textWriter builds the text of a diff.
type textWriter struct {
	strings.Builder
	// The folded part: how many crossings are equal and how many follow, and whether a line would
	// have been written for any of them.
	equal, follow int
	folds         bool
}

func (t *textWriter) line(sign string, depth int, text string) {
	fmt.Fprintf(t, "%-2s%s%s\n", sign, strings.Repeat(describe.Indent, min(depth, describe.Deepest)), text)
}

// signs come before lines that both traces have.
var signs = map[opinion]string{equal: "", follows: "~"}

func (t *textWriter) add(l *line) {
	if l.silent || l.textA == "" && l.textB == "" {
		t.equal += l.crossings[equal]
		t.follow += l.crossings[follows]
		t.folds = t.folds || !l.silent
		return
	}
	t.fold()
	if !l.differs() {
		t.line(signs[l.opinion], l.depth, safetext.Shortened(l.textB, roomAt(l.depth)))
		return
	}
	textA, textB := l.textA, l.textB
	if textA != "" && textB != "" {
		textA, textB = safetext.Differing(textA, textB, 2*roomAt(l.depth))
	}
	if textA != "" {
		t.line("-", l.marginOf(l.a), textA)
	}
	if textB != "" {
		t.line("+", l.marginOf(l.b), textB)
	}
	t.fields(l)
}

// columns is the width of a screen. A line that both traces have takes at most one screen line. Of
// two lines that differ, the text that they share is cut if they need more than two.
const columns = 80

// roomAt returns how many columns a line at a depth has.
func roomAt(depth int) int {
	return columns - len("- ") - len(describe.Indent)*min(depth, describe.Deepest)
}

func (l *line) marginOf(n *node) int {
	if l.ending {
		return n.depth + 1
	}
	return n.depth
}

// fold writes how much was left out.
func (t *textWriter) fold() {
	if t.folds {
		text := "… " + safetext.Counted(t.equal, "crossing") + " equal"
		if t.follow > 0 {
			text += fmt.Sprintf(", %d follow", t.follow)
		}
		t.line("", 0, " "+text)
	}
	t.equal, t.follow, t.folds = 0, 0, false
}

// fields writes the fields that differ, each reduced to the part around the difference.
func (t *textWriter) fields(l *line) {
	for _, text := range compare.Shown(l.fields) {
		t.line("", l.depth+2, text)
	}
}

// conclude writes the totals of the traces.
func (d *Diff) conclude(t *textWriter) {
	if t.Len() > 0 {
		t.WriteByte('\n')
	}
	c := d.Crossings
	if d.Same() {
		fmt.Fprintf(t, "the same: %s equal\n", safetext.Counted(c.Equal, "crossing"))
	} else {
		fmt.Fprintf(t, "crossings: %d equal, %d follow, %d changed, %d only in a, %d only in b\n", c.Equal, c.Follow, c.Changed, c.OnlyA, c.OnlyB)
	}
	if n := len(d.Renamed); n > 0 {
		fmt.Fprintf(t, "ids that have another name in b: %d\n", n)
	}
	tokens := " tokens (" + safetext.PlainName(d.Encoding) + ")"
	width := len("prompt") + len(tokens)
	column := max(8, len(d.A.Status), len(d.B.Status))
	fmt.Fprintf(t, "%-*s  %*s  %*s\n", width, "", column, "a", column, "b")
	row := func(what string, a, b int) {
		fmt.Fprintf(t, "%-*s  %*d  %*d", width, what, column, a, column, b)
		if a != b {
			fmt.Fprintf(t, "  %+d", b-a)
		}
		t.WriteByte('\n')
	}
	row("crossings", d.A.Crossings, d.B.Crossings)
	row("iterations", d.A.Iterations, d.B.Iterations)
	row("tool calls", d.A.ToolCalls, d.B.ToolCalls)
	row("errors", d.A.Errors, d.B.Errors)
	row("prompt"+tokens, d.A.PromptTokens, d.B.PromptTokens)
	row("said"+tokens, d.A.SaidTokens, d.B.SaidTokens)
	fmt.Fprintf(t, "%-*s  %*s  %*s\n", width, "status", column, safetext.Bare(d.A.Status), column, safetext.Bare(d.B.Status))
}
