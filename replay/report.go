package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/shell"
	"github.com/adkreplay/adkreplay/internal/stub"
)

// Report is what a replay found.
type Report struct {
	// Crossings is how many crossings of the new run agreed with the recorded ones.
	Crossings int `json:"crossings"`
	// Divergence is the first difference; nil if there is none.
	Divergence *Divergence `json:"divergence,omitempty"`
	// Live are the labels of the seams that were user code; empty when all were scripted.
	Live []string `json:"live,omitempty"`
	// Unreached are those of Live that the new run never reached: the report says nothing about
	// their code.
	Unreached []string `json:"unreached,omitempty"`
	// NotCompared says in words what this replay could not compare with the recording; empty where
	// all seams were scripted and nothing was redacted.
	NotCompared []string `json:"notCompared,omitempty"`
	// Taken are the answers that Rerecord gave to requests that differ from the recording, because
	// they are certain, in a line each. Verify reports such answers only in the divergence.
	Taken []string `json:"-"`
}

// How much a report shows, so that it fits on a screen.
const (
	mostFields     = 4
	mostLines      = 4
	mostCauses     = 2
	mostCandidates = 2
	mostReasons    = 2
	mostAlso       = 2
)

// mostOfAPanic is how many characters are shown of the value with which live code panicked.
const mostOfAPanic = 3 * width

// width is the maximum length of a report's line: with what comes before it in a report on many
// traces and in the output of go test, it fits on a screen of 80 columns. A command is broken only
// where a shell allows that, and a word is never broken.
const width = 68

// String describes the divergence for a person, in about 25 lines of at most 68 characters: what
// kind of difference it is and where; the line of code in which it happened; what today's code did
// and what was recorded, field by field; how to look closer; the last crossings that agreed; what
// follows from it; and for an operation without an answer the recorded ones that come near.
func (d *Divergence) String() string {
	return d.text(string(d.Class) + " at ")
}

// Details is String without the kind of difference, for use below a headline that says it.
func (d *Divergence) Details() string { return d.text("at ") }

// text is String with other words at the beginning.
func (d *Divergence) text(words string) string {
	var b strings.Builder
	d.writeHead(&b, words)
	d.writePlace(&b)
	d.writeChange(&b)
	for _, command := range d.Next() {
		fmt.Fprintf(&b, "next: %s\n", shell.Broken(command, width-len("next: ")))
	}
	if len(d.Before) > 0 {
		b.WriteString("agreed before:\n")
		for _, line := range d.Before {
			writeLine(&b, line)
		}
	}
	if d.After != nil {
		d.After.write(&b)
	}
	d.writeCandidates(&b)
	return b.String()
}

// writePlace says where in the code it happened, and which lines called that: of many callers, the
// nearest ones and those nearest to the engine. If Place is a helper that much else came through
// (Mark), its caller says more and comes first.
func (d *Divergence) writePlace(b *strings.Builder) {
	if d.Place == "" {
		return
	}
	before, place := codeplace.Cut(d.Place)
	lines := append([]string{place}, d.Callers...)
	own := max(slices.Index(lines, d.Mark), 0)
	helpers := slices.Clone(lines[:own])
	slices.Reverse(helpers)
	most := mostLines - 1 // of the lines that called it
	if own > 0 {
		most--
	}
	text := "code: " + before + callersText([]string{lines[own]}, 1)
	if own > 0 {
		text += ", through " + callersText(helpers, mostLines/2)
	}
	if callers := lines[own+1:]; len(callers) > 0 {
		text += ", called by " + callersText(callers, most)
	}
	if d.Apart {
		text += ", in a goroutine of its own"
	}
	b.WriteString(safetext.Wrapped(text, width, "    ") + "\n")
	if said := d.Written; said != "" {
		if before, _ := codeplace.Cut(said); before == "" {
			said = "written: " + said
		}
		b.WriteString(safetext.Wrapped(safetext.Bare(said), width, "    ") + "\n")
	}
}

// callersText is a list of at most so many lines of code: the first and the last ones.
func callersText(lines []string, most int) string {
	if last := (most + 1) / 2; len(lines) > most {
		lines = slices.Concat(lines[:most-last], []string{"…"}, lines[len(lines)-last:])
	}
	return safetext.List(lines, func(line string) string { return safetext.Shortened(safetext.Bare(line), 2*width) })
}

// writeLine writes the line of a crossing, and cuts it where it is long.
func writeLine(b *strings.Builder, line string) {
	fmt.Fprintf(b, "    %s\n", safetext.Shortened(line, width-4))
}

// isOfTools reports whether only tools differ in what a run was given. The line of the crossing
// begins with other things.
func (d *Divergence) isOfTools() bool {
	other := func(f compare.FieldDiff) bool { return f.Field != "tool" && !strings.HasPrefix(f.Field, "tool ") }
	return d.Class == ChangedInput && len(d.Fields) > 0 && !slices.ContainsFunc(d.Fields, other)
}

// isCut reports whether the lines of two changed crossings are too long to be shown in full, but
// all the fields in which they differ are shown.
func (d *Divergence) isCut() bool {
	changed := d.Class == ChangedInput || d.Class == ChangedOutput || d.Class == ChangedState
	return changed && d.SameKind && len(d.Fields) > 0 && len(d.Fields) <= mostFields &&
		max(utf8.RuneCountInString(d.Expected), utf8.RuneCountInString(d.Got)) > width-4
}

// Summary is the beginning of String, without the code: what kind of difference it is and where,
// the two crossings, and the fields in which they differ.
func (d *Divergence) Summary() string {
	var b strings.Builder
	d.writeHead(&b, string(d.Class)+" at ")
	d.writeChange(&b)
	return b.String()
}

// shortest is the shortest time that is shown. A shorter time only means that the clock of a test
// stands, or moves a little with every crossing.
const shortest = 10 * time.Millisecond

// writeHead says where the difference is, after these words.
func (d *Divergence) writeHead(b *strings.Builder, words string) {
	text := fmt.Sprintf("%scrossing %d", words, d.Crossing)
	if d.Seam != "" { // a damaged trace may name a call that does not exist
		text += ", in " + safetext.Bare(d.Seam)
	}
	if d.Strand != 0 {
		text += fmt.Sprintf(", strand %d", d.Strand)
	}
	if d.At >= shortest {
		text += ", " + safetext.Into(d.At)
	}
	b.WriteString(safetext.Wrapped(text, width, "    ") + "\n")
}

// writeChange shows the two crossings and the fields in which they differ.
func (d *Divergence) writeChange(b *strings.Builder) {
	d = d.toldApart()
	d.writeLines(b)
	d.writeFields(b)
	d.writeNotes(b)
	d.writeRuns(b)
}

// toldApart is the divergence with the lines of a crossing that moved, and of the one beside which
// it is now, from where they differ; the divergence itself if what is shown of the two differs.
func (d *Divergence) toldApart() *Divergence {
	if d.Class != Order || len(d.Fields) != 1 || d.Got == "" {
		return d
	}
	line, ahead, moved := d.Fields[0].Beside()
	got, beside := safetext.Beside(d.Got, line, width-4)
	if !moved || got == safetext.Shortened(d.Got, width-4) {
		return d
	}
	apart := *d
	apart.Got, apart.Fields = got, []FieldDiff{compare.PlaceDiff(ahead, beside)}
	return &apart
}

// writeLines shows the two crossings. If they look the same they are shown once: the difference is
// in the fields, or the place.
func (d *Divergence) writeLines(b *strings.Builder) {
	expected, got := safetext.Beside(d.Expected, d.Got, width-4)
	alone := len(d.Fields) == 1 && d.SameKind
	switch {
	case d.isOfAResult() && alone, d.isOfTools(): // the head says the seam, and the field the value
		expected, got = "", ""
	case (alone || d.isCut()) && d.Class != ChangedError && d.Class != Panicked: // the fields show it in full, and the lines would be cut
		expected, got = d.Got, d.Got
	}
	if expected == got && got != "" {
		fmt.Fprintf(b, "    %s\n", safetext.Shortened(d.Got, width-4))
		expected, got = "", ""
	}
	if expected != "" {
		fmt.Fprintf(b, "  - %s\n", expected)
	}
	d.writeAlso(b, "-")
	if d.Class == Panicked { // as much as possible
		got = safetext.Wrapped(safetext.Shortened(d.Got, mostOfAPanic), width-4, "        ")
	}
	if got != "" && !d.SameKind && strings.Contains(d.Got, " error ") { // the error is at its end
		got = safetext.Wrapped(safetext.Shortened(d.Got, 2*width-16), width-4, "        ")
	}
	if got != "" {
		fmt.Fprintf(b, "  + %s\n", got)
	}
	d.writeAlso(b, "+")
	if d.GoesOn != "" {
		side := "today: goes on with "
		if d.Got != "" && d.Expected == "" {
			side = "recorded: goes on with "
		}
		b.WriteString(safetext.Wrapped("    "+side+safetext.Shortened(d.GoesOn, 2*width-len(side)-16), width, "        ") + "\n")
	}
}

// writeFields writes the fields that differ, at most mostFields of them.
func (d *Divergence) writeFields(b *strings.Builder) {
	if d.Class == Panicked { // its line says it
		return
	}
	show, more := compare.Replaced(d.Fields), 0
	if len(show) > mostFields {
		show, more = show[:mostFields-1], len(show)-mostFields+1
	}
	for _, f := range show {
		for _, line := range f.Lines(width - 4) {
			fmt.Fprintf(b, "    %s\n", line)
		}
	}
	if more > 0 {
		fmt.Fprintf(b, "    and %d fields more\n", more)
	}
}

// writeNotes writes notes that help to understand the difference.
func (d *Divergence) writeNotes(b *strings.Builder) {
	if d.Times > 0 {
		fmt.Fprintf(b, "    %d times in this call\n", d.Times)
	}
	note := func(said bool, text string) {
		if said {
			b.WriteString(safetext.Wrapped("    "+text, width, "        ") + "\n")
		}
	}
	note(compare.DifferInPorts(d.Fields), "only an address of this machine differs, whose port the system chose: ask by a name that "+
		"stays, as http://example.com/ with the client of an httptest.Server")
	note(len(d.Waiting) > 0, "nobody goes on: "+strings.Join(d.Waiting, ", "))
	note(len(d.Refused) > 0, "refused: "+safetext.Short(d.Refused, stub.Same[string])+", asked with a context that is no call's: hand on the call's, "+
		"have the replay's config do without, or name it in Live.Outside")
	note(d.Dialed != "", "the code dialed "+safetext.Bare(d.Dialed)+" itself, for real: what is recorded here as asked did not go "+
		"through adkhttp.NewTransport (or adk.Ask)")
	note(d.Untyped, "a replay has the text of the error before it: if the code asks errors.As or errors.Is about it, name its type in "+
		"ErrorTypes, or the error in Sentinels, of replay.RecordOptions and trace.Options, and record again")
	note(d.CallerLeft > 0, fmt.Sprintf("the caller left at crossing %d, while goroutines of your own were at work: "+
		"what they had begun by then is chance", d.CallerLeft))
	note(d.ClockAtOnce, "goroutines of your own read the clock here, and whose time is whose is chance: read it before or behind them, or begin strands (Fork)")
	note(d.PastBy != "", "only this is missing: is "+d.PastBy+" used, which no replay sees?")
}

// writeRuns writes how often the code ran, and whether it did the same each time.
func (d *Divergence) writeRuns(b *strings.Builder) {
	switch {
	case d.Once:
		b.WriteString("    run once: Live.Twice shows whether the order varies\n")
	case d.Writes:
		b.WriteString("    run once, as it may write: run it again to see whether it varies\n")
	case d.Runs > 0 && d.Strands:
		fmt.Fprintf(b, "    the same in %d runs, with strands that end as recorded: which of\n    them ends first may decide it\n", d.Runs)
	case d.Runs > 0:
		fmt.Fprintf(b, "    the same in each of %d runs of today's code\n", d.Runs)
	}
	if d.Scripted {
		b.WriteString("    not by live code: the recording itself does not play again,\n    with every seam scripted\n")
	}
}

// writeAlso shows what else is missing or extra, on the same side as the first.
func (d *Divergence) writeAlso(b *strings.Builder, side string) {
	if (side == "+") != (d.Class == Extra) {
		return
	}
	for _, line := range d.Also[:min(len(d.Also), mostAlso)] {
		fmt.Fprintf(b, "  %s %s\n", side, safetext.Shortened(line, width-4))
	}
	if more := len(d.Also) - mostAlso; more > 0 {
		fmt.Fprintf(b, "    and %d more\n", more)
	}
}

// write says what came of the later crossings.
func (a *Impact) write(b *strings.Builder) {
	text := fmt.Sprintf(": %d equal, %s", a.Equal, a.Others())
	if a.Of != "" {
		text = " in " + safetext.Bare(a.Of) + text
	}
	if a.Ends != "" {
		text += "; the turn ends " + a.Ends
	}
	b.WriteString(safetext.Wrapped("after it"+text, width, "    ") + "\n")
	for i, cause := range a.Causes[:min(len(a.Causes), mostCauses)] {
		writeLine(b, cause)
		if i < len(a.Apart) {
			for _, line := range a.Apart[i].Shown {
				fmt.Fprintf(b, "      %s\n", line)
			}
		}
	}
	if more := a.Apart[min(len(a.Apart), mostCauses):]; len(more) > 0 && len(a.Causes) > 0 {
		said := safetext.Each(more, func(one Apart) string { return safetext.Bare(one.What) })
		slices.Sort(said)
		b.WriteString(safetext.Wrapped("    "+safetext.Short(slices.Compact(said), stub.Same[string]), width, "        ") + "\n")
	}
}

// writeCandidates shows the recorded operations that come near. It shows those of other seams and
// strands only if there is no answer. A candidate that would be the answer, but has been given
// already, is shown alone.
func (d *Divergence) writeCandidates(b *strings.Builder) {
	told, near := 0, d.Candidates
	if at := slices.IndexFunc(near, func(c Candidate) bool { return c.Spent }); at >= 0 {
		near = near[at : at+1]
	}
	for _, c := range near {
		if told == mostCandidates || c.Elsewhere && d.Class != Unanswered {
			break
		}
		told++
		why := make([]string, min(len(c.Refused), mostReasons))
		for i := range why {
			why[i] = safetext.Shortened(c.Refused[i], width)
		}
		if more := len(c.Refused) - len(why); more > 0 {
			why = append(why, fmt.Sprintf("differs in %d more", more))
		}
		text := fmt.Sprintf("recorded at crossing %d: %s, which %s", c.Crossing, safetext.Shortened(c.Text, width), strings.Join(why, ", and "))
		if c.Spent && c.Text == d.Got { // the text is above already
			text = fmt.Sprintf("recorded at crossing %d, which %s", c.Crossing, strings.Join(why, ", and "))
		}
		b.WriteString(safetext.Wrapped(text, width, "    ") + "\n")
	}
}

// Next returns commands that look closer at the divergence, to be run where the reader is: they
// show what is around it in the trace, and for a changed state what the engine held before. Those
// of a test are run from the root of its module.
func (d *Divergence) Next() []string {
	if d.Trace == "" || d.Trace == "-" { // it cannot be read again
		return nil
	}
	file, at := shell.FromModule(d.Trace), max(d.Crossing-1, 1)
	commands := []string{shell.Adkreplay("show", file, "--from", strconv.Itoa(max(at-9, 1)), "--to", strconv.Itoa(at+10))}
	if d.Class == ChangedState {
		commands = append(commands, shell.Adkreplay("show", file, "--at", strconv.Itoa(at)))
	}
	return commands
}

// String is the whole report for a person.
func (r *Report) String() string {
	var b strings.Builder
	switch d := r.Divergence; {
	case d == nil:
		fmt.Fprintf(&b, "same: %d crossings\n", r.Crossings)
	case d.Trace != "":
		fmt.Fprintf(&b, "%s: %s", safetext.Bare(d.Trace), d)
	default:
		b.WriteString(d.String())
	}
	return b.String() + r.NotComparedLines()
}

// NotComparedLines are the last lines of a report: what this replay could not compare with the
// recording.
func (r *Report) NotComparedLines() string {
	if len(r.NotCompared) == 0 {
		return ""
	}
	return safetext.Wrapped("not compared: "+strings.Join(r.NotCompared, "; "), width, "    ") + "\n"
}
