package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/shell"
)

// Report is what a replay found.
type Report struct {
	// Crossings is how many crossings of the new run agreed with the recorded.
	Crossings int `json:"crossings"`
	// Divergence is the first that did not; nil if all did.
	Divergence *Divergence `json:"divergence,omitempty"`
	// Live are the labels of the seams that were user code; empty when all were
	// scripted.
	Live []string `json:"live,omitempty"`
	// Unreached are those of Live that the new run never came to: nothing is said
	// about their code.
	Unreached []string `json:"unreached,omitempty"`
	// NotCompared says in words what this replay could not hold against the
	// recording; nothing where all seams were scripted and nothing was redacted.
	NotCompared []string `json:"notCompared,omitempty"`
}

// How much a report shows: it fits on a screen.
const (
	mostFields     = 4
	mostCauses     = 2
	mostCandidates = 2
	mostSaid       = 2
)

// String is the divergence for a person, in at most 25 lines: what kind of
// difference it is and where; what today's code did against what was recorded,
// field by field; the code it happened in; the last crossings that agreed; what
// follows from it; for an operation without an answer the recorded ones that
// come near; and how to look closer.
func (d *Divergence) String() string {
	var b strings.Builder
	b.WriteString(d.Summary())
	if d.Place != "" {
		fmt.Fprintf(&b, "code: %s\n", d.Place)
	}
	if len(d.Before) > 0 {
		b.WriteString("agreed before:\n")
		for _, line := range d.Before {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	if d.After != nil {
		d.After.write(&b)
	}
	d.writeCandidates(&b)
	for _, command := range d.Next() {
		fmt.Fprintf(&b, "next: %s\n", command)
	}
	return b.String()
}

// Summary is the beginning of String: what kind of difference it is and where, the two
// crossings, and the fields in which they differ.
func (d *Divergence) Summary() string {
	var b strings.Builder
	d.writeHead(&b)
	d.writeChange(&b)
	return b.String()
}

// writeHead says what and where.
func (d *Divergence) writeHead(b *strings.Builder) {
	fmt.Fprintf(b, "%s at crossing %d", d.Class, d.Crossing)
	if d.Seam != "" { // a damaged trace may name no call that there is
		fmt.Fprintf(b, ", in %s", safetext.Bare(d.Seam))
	}
	if d.Strand != 0 {
		fmt.Fprintf(b, ", strand %d", d.Strand)
	}
	fmt.Fprintf(b, ", %s into the turn", d.At)
	b.WriteByte('\n')
}

// writeChange shows the two crossings and the fields in which they differ. Two
// that look the same are one line: what differs is in the fields, or the place.
func (d *Divergence) writeChange(b *strings.Builder) {
	expected, got := d.Expected, d.Got
	if expected == got && got != "" {
		fmt.Fprintf(b, "    %s\n", got)
		expected, got = "", ""
	}
	if expected != "" {
		fmt.Fprintf(b, "  - %s\n", expected)
	}
	if got != "" {
		fmt.Fprintf(b, "  + %s\n", got)
	}
	show := d.Fields
	if len(show) > mostFields {
		show = show[:mostFields-1]
	}
	for _, f := range show {
		fmt.Fprintf(b, "    %s\n", f)
	}
	if more := len(d.Fields) - len(show); more > 0 {
		fmt.Fprintf(b, "    and %d fields more\n", more)
	}
	if len(d.Waiting) > 0 {
		fmt.Fprintf(b, "    nobody goes on: %s\n", strings.Join(d.Waiting, ", "))
	}
	if d.Scripted {
		b.WriteString("    not by live code: the recording itself does not play again, with every seam scripted\n")
	}
}

// write says what came of the later crossings.
func (a *Impact) write(b *strings.Builder) {
	fmt.Fprintf(b, "after it: %d equal, %d follow from it, %d differ on their own\n", a.Equal, a.Follow, a.Own)
	for _, cause := range a.Causes[:min(len(a.Causes), mostCauses)] {
		fmt.Fprintf(b, "    %s\n", cause)
	}
}

func (d *Divergence) writeCandidates(b *strings.Builder) {
	for _, c := range d.Candidates[:min(len(d.Candidates), mostCandidates)] {
		fmt.Fprintf(b, "recorded at crossing %d: %s, which %s\n", c.Crossing, c.Text, strings.Join(c.Refused, ", and "))
	}
}

// Next are the commands that look closer at the divergence.
func (d *Divergence) Next() []string {
	if d.Trace == "" {
		return nil
	}
	file, at := safetext.Bare(shell.Quote(d.Trace)), max(d.Crossing-1, 1)
	return []string{
		fmt.Sprintf("adkreplay show %s --at %d", file, at),
		fmt.Sprintf("adkreplay show %s --from %d --to %d", file, max(at-9, 1), at+10),
	}
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

// NotComparedLines are the last lines of a report: what this replay could not hold
// against the recording.
func (r *Report) NotComparedLines() string {
	var b strings.Builder
	said := r.NotCompared
	if len(said) > mostSaid {
		said = append(slices.Clone(said[:mostSaid-1]), strings.Join(said[mostSaid-1:], "; "))
	}
	for _, what := range said {
		fmt.Fprintf(&b, "not compared: %s\n", what)
	}
	return b.String()
}
