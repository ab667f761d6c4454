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

// Transcript writes a run as indented text for people to read, crossing by
// crossing, while it goes on:
//
//   - What lies within a seam call or an operation is indented below it. Where
//     nothing does, and all went well, its end is not written; an arrow leads
//     from a call or an operation to what it came back with.
//   - An event that the listeners heard begins with *, and stands behind the
//     operation that caused it where it follows at once. What nobody called
//     begins with !, and a failure that was kept from the turn with !!.
//   - Records, streams, gates, turns and dispatches have the names m1, call1,
//     gate1 in the order in which they appear. A record is shown in full when it
//     first appears and when it has changed.
//   - What is asked of a model in the form of Chat Completions is said as a person reads
//     it: what is new since the ask before it of the same name below it, and the answer
//     at its end, whatever the pieces in which it came. Of other requests that are too
//     long to be shown whole, the members that changed stand below.
//   - Lines of a strand begin with its name, where there is more than the main
//     one.
//   - The time stands at the end of a line if it has moved, by a millisecond or
//     more, since it was last said.
//
// Nothing of a text can reach the terminal that prints it.
type Transcript struct {
	out   *bufio.Writer
	namer *describe.Namer
	last  time.Time // the time that was said last
	// held is the line that waits: what comes next may be its end, or what it
	// caused.
	held *heldLine
	// present is the margin of a line that would go on where the last one ended.
	present string
	depths  map[int]*depth // by call
	open    []int          // the calls that are open, in the order they began
	// number counts the crossings; lines are written for those from from to to.
	number, from, to int
	asks             *askReader
	excerpts         *excerpts // what to keep and not to write; nil where all is written
}

// heldLine is a line that is not written yet.
type heldLine struct {
	number int // of its first crossing
	margin string
	text   string
	below  []string // lines of the same crossing, a step further in
	said   string   // the answer at its end, so that it is not said twice
	opens  opening
	call   int // the call it belongs to
	causes adk.Kind

	extract extract
}

// opening is what a line begins: a seam call or a spanning operation, by its
// number; zero is nothing, or what has been ended on the same line.
type opening struct{ call, op int }

// depth is how far the lines of a call are indented: those of its operations
// that are open count too. A transcript is written while its turn may still be under
// way, so it goes by what is open now, and not by a calls.Tree, which is a whole run.
type depth struct {
	base   int
	open   int
	gutter string // names the strand
	// outside is how far the gutter of a strand is indented.
	outside int
}

// New makes a transcript that is written to w, line by line; Close
// writes the last one.
func New(w io.Writer) *Transcript {
	n := describe.New(state.New())
	n.Shown = map[state.Ref]adk.Digest{}
	return &Transcript{out: bufio.NewWriter(w), namer: n, depths: map[int]*depth{0: {base: -1}}, to: math.MaxInt, asks: newAskReader()}
}

// Write adds the next crossing. It keeps nothing of it that its owner may
// change. The error is that of the writer.
func (t *Transcript) Write(x *adk.Crossing) error {
	if t.number++; t.number == t.from {
		clear(t.namer.Shown) // in what was written, nothing has been shown yet
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

// Close writes what is held back, and what is still open when the crossings end
// too early. It does not close the writer.
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

// ending says what is still open; empty where nothing is.
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

// add writes what is no end: on a line of its own, or on the held one where it
// continues that.
func (t *Transcript) add(x *adk.Crossing) {
	line := &heldLine{margin: t.margin(x.Call), call: x.Call, causes: x.Kind.Event()}
	if wire.IsCancel(x) || t.ended(x.Call) {
		line.margin = t.present // wherever it belongs, this is where it happened
	}
	if t.continues(x) {
		t.held.text += t.namer.Continuation(x) + t.stamp(x)
		t.held.causes = 0
		if x.Kind == adk.KindCall { // the end of both may still come
			t.begin(x)
			t.depths[x.ID].base-- // it stands on its operation's line
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

// ask says what is asked, where its JSON is not what a person reads.
func (t *Transcript) ask(line *heldLine, x *adk.Crossing) {
	words, below := t.asks.begin(x)
	if words != "" {
		line.text = x.Kind.String() + " " + safetext.PlainName(x.Name) + " " + words
	}
	line.below = below
}

// continues reports whether a crossing is written behind the held line: the event
// that an operation causes, and the obligation that one calls.
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

// begin makes room for what lies within a call.
func (t *Transcript) begin(x *adk.Crossing) {
	above := t.depth(x.Call)
	within := &depth{base: above.base + 1 + above.open, gutter: above.gutter, outside: above.outside}
	if x.Seam.Label == adk.LabelStrand {
		within.gutter, within.outside = describe.StrandName(x.Strand)+safetext.Gutter, within.base
	}
	t.depths[x.ID] = within
	t.open = append(t.open, x.ID)
}

// close writes an end: behind the held line where that began it, on a line of
// its own where there is something to say, and not at all otherwise.
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
		// Others may go on between: where a strand ends is worth a line.
		t.hold(&heldLine{margin: margin, text: "ends" + t.stamp(x), call: x.Call})
	}
	t.present = t.margin(x.Call)
}

// answer is what an end came back with.
func (t *Transcript) answer(x *adk.Crossing) string {
	answer := t.namer.Answer(x)
	if wire.IsAsk(x) {
		return t.asks.done(x, answer)
	}
	return answer
}

// stampBehind is the stamp of an end, unless its answer says the same time already.
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

// end forgets what is open no longer.
func (t *Transcript) end(x *adk.Crossing, above *depth) {
	if x.Kind == adk.KindReturn {
		t.open = state.Without(t.open, x.ID)
		return
	}
	if above.open > 0 {
		above.open--
	}
}

// ended reports whether a call has returned: something late belongs to it still.
func (t *Transcript) ended(call int) bool {
	c := t.namer.Fold.Calls[call]
	return c != nil && c.Ended
}

func (t *Transcript) isStrand(call int) bool {
	c := t.namer.Fold.Calls[call]
	return c != nil && c.Seam.Label == adk.LabelStrand
}

// depth is that of a call, and the outermost for a call that has not begun.
func (t *Transcript) depth(call int) *depth {
	return cmp.Or(t.depths[call], t.depths[0])
}

// margin is what stands before the lines of a call.
func (t *Transcript) margin(call int) string {
	d := t.depth(call)
	return t.marginAt(d, d.open)
}

// deepest is how far lines are indented at most: what lies deeper says how deep, so
// that a transcript does not grow with the square of the nesting.
const deepest = 32

// marginAt is what stands before a line of a call, so many steps further in.
func (t *Transcript) marginAt(d *depth, in int) string {
	all := d.base + 1 + in
	if all > deepest {
		return strings.Repeat(describe.Indent, min(d.outside, deepest)) + d.gutter +
			strings.Repeat(describe.Indent, max(deepest-d.outside, 0)) + "[" + strconv.Itoa(all) + "] "
	}
	return strings.Repeat(describe.Indent, d.outside) + d.gutter + strings.Repeat(describe.Indent, all-d.outside)
}

// stamp is how much time has passed since it was last said, if that is enough
// to say.
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

// hold writes the line that was held, and holds the next one.
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

// write writes a line and what stands below it.
func (h *heldLine) write(to io.StringWriter) {
	_, _ = to.WriteString(h.margin + h.text + "\n") // a buffer remembers what went wrong
	for _, line := range h.below {
		_, _ = to.WriteString(h.margin + describe.Indent + line + "\n")
	}
}

// leavesOut reports whether a line is none of those to write.
func (t *Transcript) leavesOut(line *heldLine) bool {
	return line.number < t.from || line.number > t.to || t.excerpts != nil
}

// Write reads a trace and writes its transcript to w while it reads. Of
// a trace that cannot be read to its end it writes what there is; the error is
// then a *FormatError.
func Write(w io.Writer, recorded io.Reader, options ...trace.Options) error {
	return WriteRange(w, recorded, 1, math.MaxInt, options...)
}

// WriteRange is Write of the lines that begin with one of the
// crossings from the first to the last, which are numbers from 1. Of a last one
// that is beyond the end it writes what there is; a first one is an error.
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
			if first != 1 { // of no crossings there is a transcript too
				err = errors.Join(noCrossing(first, t.number), err)
			}
			return errors.Join(err, t.Close())
		}
		if err := t.Write(&line.Crossing); err != nil {
			return err
		}
	}
}

// ErrNoCrossing is that a trace has not the crossing that is asked for.
var ErrNoCrossing = errors.New("there is no such crossing")

// noCrossing says that a trace has not the crossing that is asked for; nil where
// it has.
func noCrossing(asked, there int) error {
	if asked >= 1 && asked <= there {
		return nil
	}
	return fmt.Errorf("replay: %w as %d: the trace has %s, numbered from 1", ErrNoCrossing, asked, safetext.Counted(there, "crossing"))
}
