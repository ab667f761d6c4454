package transcript

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Transcript writes a run as indented text, crossing by crossing, during the run:
//
//   - What happens within a seam call or an operation is indented below it. If nothing happens
//     within and all goes well, its end is not written. An arrow leads from a call or an operation
//     to its result.
//   - An event that the listeners received begins with *. It is on the line of the operation that
//     caused it if it follows immediately. What nobody called begins with !, and a failure that the
//     engine contained with !!.
//   - Records, streams, gates, turns and dispatches have the names m1, call1, gate1 in the order of
//     their appearance. A record is shown in full when it first appears and when it has changed.
//   - A request to a model in the form of Chat Completions is shown in words: what is new since the
//     previous ask of the same name is below it, and the whole answer is at its end, however many
//     pieces it came in. Of other requests that are too long to show whole, the members that
//     changed are below.
//   - Lines of a strand begin with its name, unless it is the main strand.
//   - The time is at the end of a line if at least a millisecond has passed since it was last
//     shown.
//
// All text is escaped, so that no text can control the terminal that prints it.
type Transcript struct {
	out   *bufio.Writer
	namer *describe.Namer
	last  time.Time // the time shown last
	// held is the line that is not written yet, because the next crossing may be its end or an
	// event that it caused.
	held *heldLine
	// present is the margin for a line that continues where the last line ended.
	present string
	depths  map[int]*depth // by call
	open    []int          // the open calls, in the order in which they began
	// number counts the crossings. Only lines of the crossings between from and to are written.
	number, from, to int
	asks             *askReader
	excerpts         *excerpts // what to keep instead of writing; nil if everything is written
}

// heldLine is a line that is not written yet.
type heldLine struct {
	number int // of its first crossing
	margin string
	text   string
	below  []string // further lines of the same crossing, indented
	said   string   // the answer at its end, so that it is not repeated
	opens  opening
	call   int // the call it belongs to
	causes adk.Kind

	extract extract
}

// opening is what a line begins: a seam call or a spanning operation, by number. Zero means
// nothing, or that it ended on the same line.
type opening struct{ call, op int }

// depth is how far the lines of a call are indented. Open operations of the call add to it. A
// Transcript may be written during its turn, so it tracks what is open now and cannot use a
// calls.Tree, which is a whole run.
type depth struct {
	base   int
	open   int
	gutter string // the name of the strand
	// outside is how far the gutter of a strand is indented.
	outside int
}

// New returns a Transcript that writes to w line by line. Close writes the last line.
func New(w io.Writer) *Transcript {
	n := describe.New(state.New())
	n.Shown = map[state.Ref]adk.Digest{}
	return &Transcript{out: bufio.NewWriter(w), namer: n, depths: map[int]*depth{0: {base: -1}}, to: math.MaxInt, asks: newAskReader()}
}

// Write adds the next crossing. It keeps nothing of x that its owner may change. The error is that
// of the writer.
func (t *Transcript) Write(x *adk.Crossing) error {
	if t.number++; t.number == t.from {
		clear(t.namer.Shown) // the lines that are written have shown nothing yet
		t.asks.forget()
	}
	t.namer.Note(x)
	before, text := t.held, ""
	if before != nil {
		text = before.text
	}
	if describe.IsClosing(x) {
		t.close(x)
	} else {
		t.add(x)
	}
	if t.excerpts != nil {
		t.mark(x, t.held != before || before != nil && before.text != text)
	}
	if err := t.namer.Fold.Apply(x); err != nil {
		t.hold(&heldLine{margin: t.margin(x.Call), text: "!! no engine tells this: " + safetext.Bare(err.Error())})
	}
	return t.out.Flush()
}

// Close writes the held line, and says what is still open if the crossings end too early. It does
// not close the writer.
func (t *Transcript) Close() error {
	for _, op := range t.asks.rest() {
		exchange := t.asks.open[op]
		t.hold(&heldLine{margin: t.margin(exchange.call), text: "→ " + exchange.answer.words() + ", and no end"})
	}
	t.flush()
	if ending := t.ending(); ending != "" && t.number <= t.to {
		fmt.Fprintln(t.out, ending)
	}
	return t.out.Flush()
}

// ending says what is still open. It returns "" if nothing is.
func (t *Transcript) ending() string {
	if len(t.open) == 0 {
		return ""
	}
	var names []string
	for _, id := range t.open {
		if c := t.namer.Fold.Calls[id]; c != nil {
			names = append(names, describe.SeamWords(c.Seam))
		}
	}
	return "!! ends here, within " + safetext.Short(names, func(name string) string { return name })
}

// add writes a crossing that is not an end: on a new line, or on the held line if it continues
// that.
func (t *Transcript) add(x *adk.Crossing) {
	line := &heldLine{margin: t.margin(x.Call), call: x.Call, causes: x.Kind.Event()}
	if wire.IsCancel(x) || t.ended(x.Call) {
		line.margin = t.present // shown where it happened, whatever call it belongs to
	}
	if t.continues(x) {
		t.held.text += t.namer.Continuation(x) + t.stamp(x)
		t.held.causes = 0
		if x.Kind == adk.KindCall { // the ends of both may still come
			t.begin(x)
			t.depths[x.ID].base-- // it is on its operation's line
			t.held.opens.call = x.ID
		}
		return
	}
	if wire.IsPiece(x) && t.asks.piece(x) {
		return
	}
	line.text = t.namer.Head(x)
	if wire.IsAsk(x) {
		t.ask(line, x)
	}
	if answer := t.namer.Answer(x); answer != "" {
		line.text += " → " + answer
		line.said = answer
	}
	switch {
	case x.Kind == adk.KindCall:
		t.begin(x)
		line.margin = t.marginAt(t.depth(x.ID), -1)
		line.opens.call = x.ID
	case describe.IsOpening(x):
		t.depth(x.Call).open++
		line.opens.op = x.Op
	}
	line.text += t.stamp(x)
	t.hold(line)
}

// ask describes a request in words if that is more readable than its JSON.
func (t *Transcript) ask(line *heldLine, x *adk.Crossing) {
	words, below := t.asks.begin(x)
	if words != "" {
		line.text = x.Kind.String() + " " + safetext.PlainName(x.Name) + " " + words
	}
	line.below = below
}

// continues reports whether a crossing belongs on the held line: an event that the line's operation
// caused, or the obligation that it calls.
func (t *Transcript) continues(x *adk.Crossing) bool {
	h := t.held
	if h == nil || h.call != x.Call {
		return false
	}
	if x.Kind == adk.KindCall {
		return x.Seam.Label == adk.LabelStorage && h.opens.op != 0 && h.opens.call == 0
	}
	return h.causes != 0 && h.causes == x.Kind
}

// begin sets the indentation for what happens within a call.
func (t *Transcript) begin(x *adk.Crossing) {
	above := t.depth(x.Call)
	within := &depth{base: above.base + 1 + above.open, gutter: above.gutter, outside: above.outside}
	if x.Seam.Label == adk.LabelStrand {
		within.gutter, within.outside = describe.StrandName(x.Strand)+safetext.Gutter, within.base
	}
	t.depths[x.ID] = within
	t.open = append(t.open, x.ID)
}

// close handles an end. It goes on the held line if that line began it, on a line of its own if
// there is something to say, and is not written otherwise.
func (t *Transcript) close(x *adk.Crossing) {
	answer := t.answer(x)
	d := t.depth(x.Call)
	if h := t.held; h != nil && len(h.below) == 0 && h.ends(x) {
		t.end(x, d)
		if answer != "" && answer != h.said {
			h.text += " → " + answer
			h.said = answer
		}
		h.text += t.stampBehind(answer, x)
		t.present = t.margin(x.Call)
		return
	}
	margin := t.margin(x.Call)
	if x.Kind == adk.KindReturn {
		margin = t.margin(x.ID)
	}
	t.end(x, d)
	switch {
	case answer != "":
		t.hold(&heldLine{margin: margin, text: "→ " + answer + t.stampBehind(answer, x), call: x.Call})
	case x.Kind == adk.KindReturn && t.isStrand(x.ID):
		// Other strands may continue in between, so the end of a strand is worth a line.
		t.hold(&heldLine{margin: margin, text: "ends" + t.stamp(x), call: x.Call})
	}
	t.present = t.margin(x.Call)
}

// answer returns the result with which a call or an operation ended.
func (t *Transcript) answer(x *adk.Crossing) string {
	answer := t.namer.Answer(x)
	if wire.IsAsk(x) {
		return t.asks.done(x, answer)
	}
	return answer
}

// stampBehind returns the stamp of an end, unless its answer already shows the same time.
func (t *Transcript) stampBehind(answer string, x *adk.Crossing) string {
	stamp := t.stamp(x)
	if passed, moved := strings.CutPrefix(stamp, "  +"); moved && wire.IsAsk(x) && strings.HasSuffix(answer, lastingWords+passed) {
		return ""
	}
	return stamp
}

// ends reports whether a crossing ends what the held line began.
func (h *heldLine) ends(x *adk.Crossing) bool {
	switch {
	case x.Kind == adk.KindReturn:
		if h.opens.call != x.ID {
			return false
		}
		h.opens.call = 0
	case h.opens.call != 0 || h.opens.op == 0 || h.opens.op != x.Op:
		return false
	default:
		h.opens.op = 0
	}
	h.causes = 0
	return true
}

// end removes what is no longer open.
func (t *Transcript) end(x *adk.Crossing, above *depth) {
	if x.Kind == adk.KindReturn {
		t.open = state.Without(t.open, x.ID)
		return
	}
	if above.open > 0 {
		above.open--
	}
}

// ended reports whether a call has returned. Late crossings may still belong to it.
func (t *Transcript) ended(call int) bool {
	c := t.namer.Fold.Calls[call]
	return c != nil && c.Ended
}

func (t *Transcript) isStrand(call int) bool {
	c := t.namer.Fold.Calls[call]
	return c != nil && c.Seam.Label == adk.LabelStrand
}

// depth returns the depth of a call, or the outermost depth for a call that has not begun.
func (t *Transcript) depth(call int) *depth {
	return cmp.Or(t.depths[call], t.depths[0])
}

// margin returns the margin of the lines of a call.
func (t *Transcript) margin(call int) string {
	d := t.depth(call)
	return t.marginAt(d, d.open)
}

// deepest is the maximum indentation. A deeper line shows its depth as a number, so that the size
// of a transcript does not grow with the square of the nesting.
const deepest = 32

// marginAt returns the margin of a line of a call, in steps further in.
func (t *Transcript) marginAt(d *depth, in int) string {
	all := d.base + 1 + in
	if all > deepest {
		return strings.Repeat(describe.Indent, min(d.outside, deepest)) + d.gutter +
			strings.Repeat(describe.Indent, max(deepest-d.outside, 0)) + "[" + strconv.Itoa(all) + "] "
	}
	return strings.Repeat(describe.Indent, d.outside) + d.gutter + strings.Repeat(describe.Indent, all-d.outside)
}

// stamp returns how much time has passed since it was last shown, or "" if it is too little.
func (t *Transcript) stamp(x *adk.Crossing) string {
	if t.last.IsZero() {
		t.last = x.At
	}
	passed := x.At.Sub(t.last)
	if passed < time.Millisecond {
		return ""
	}
	t.last = x.At
	return "  +" + safetext.Lasting(passed)
}

// hold writes the held line and holds the given one.
func (t *Transcript) hold(line *heldLine) {
	t.flush()
	line.number = t.number
	line.extract.before = t.number - 1
	t.held = line
	t.present = line.margin
	if line.opens != (opening{}) && len(t.present) < 2*deepest*len(describe.Indent) {
		t.present += describe.Indent
	}
}

func (t *Transcript) flush() {
	if t.held == nil {
		return
	}
	if t.leavesOut(t.held) {
		t.held = nil
		return
	}
	t.held.write(t.out)
	t.held = nil
}

// write writes the line and those below it.
func (h *heldLine) write(to io.StringWriter) {
	_, _ = to.WriteString(h.margin + h.text + "\n") // a bufio.Writer keeps its error
	for _, line := range h.below {
		_, _ = to.WriteString(h.margin + describe.Indent + line + "\n")
	}
}

// leavesOut reports whether a line is not to be written.
func (t *Transcript) leavesOut(line *heldLine) bool {
	return line.number < t.from || line.number > t.to || t.excerpts != nil
}

// Write reads a trace and writes its transcript to w as it reads. If the trace cannot be read to
// its end, Write writes the lines before the fault and returns a *FormatError.
func Write(w io.Writer, recorded io.Reader, options ...trace.Options) error {
	return WriteRange(w, recorded, 1, math.MaxInt, options...)
}

// WriteRange is Write for the lines that begin with a crossing from first to last, numbered from 1.
// A last beyond the end is allowed; a first beyond the end is an error.
func WriteRange(w io.Writer, recorded io.Reader, first, last int, options ...trace.Options) error {
	r, err := trace.NewReader(recorded, options...)
	if err != nil {
		return err
	}
	t := New(w)
	t.from, t.to = first, last
	for {
		line, err := r.Next()
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			if first != 1 { // an empty trace has a transcript too
				err = errors.Join(noCrossing(first, t.number), err)
			}
			return errors.Join(err, t.Close())
		}
		if err := t.Write(&line.Crossing); err != nil {
			return err
		}
	}
}

// ErrNoCrossing means that the trace does not have the requested crossing.
var ErrNoCrossing = errors.New("there is no such crossing")

// noCrossing returns an error if a trace with that many crossings does not have the requested one.
func noCrossing(asked, there int) error {
	if asked >= 1 && asked <= there {
		return nil
	}
	return fmt.Errorf("replay: %w as %d: the trace has %s, numbered from 1", ErrNoCrossing, asked, safetext.Counted(there, "crossing"))
}
