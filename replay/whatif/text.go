package whatif

import (
	"fmt"
	"io"
	"strings"

	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/stub"
)

// WriteTo writes the report for a person: what was set, the diff, what scripted seams ignored, and
// what has no answer. All text is escaped, so that it cannot control the terminal that prints it.
func (r *Report) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, r.String())
	return int64(n), err
}

// String returns the text that WriteTo writes.
func (r *Report) String() string {
	var b strings.Builder
	for _, s := range r.Set {
		s.write(&b)
	}
	b.WriteString("a is the recording, b what the engine makes of it\n\n")
	b.WriteString(r.Diff.String())
	if len(r.AsRecorded) > 0 {
		b.WriteString("\nscripted seams that did as recorded, although they were\n")
	}
	for _, a := range r.AsRecorded {
		fmt.Fprintf(&b, "  %s something else: %s at %d%s\n", a.Was, safetext.Bare(a.Seam), a.Crossing, stub.LineOf(a.Seam, a.Line))
		writeFields(&b, "      ", a.Fields)
	}
	if len(r.Unanswered) > 0 {
		b.WriteString("\nwithout an answer in the recording\n")
	}
	for _, u := range r.Unanswered {
		fmt.Fprintf(&b, "  %s at %d of b%s\n", safetext.Bare(u.Seam), u.Crossing, stub.LineOf(u.Seam, u.Line))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "\nnote: %s\n", safetext.Bare(note))
	}
	return b.String()
}

// write writes an override and what it changed.
func (s *Applied) write(b *strings.Builder) {
	fmt.Fprintf(b, "set %s in %s", safetext.Bare(s.Path), safetext.Bare(s.Seam))
	switch {
	case len(s.Fields) == 0:
		b.WriteString(": it is that already\n")
		return
	case !s.Reached:
		b.WriteString(", which did not come to pass: the new run does not get there, or the engine does not take it from there")
	}
	b.WriteByte('\n')
	writeFields(b, "    ", s.Fields)
}

// writeFields writes the fields that differ, each reduced to the part around the difference.
func writeFields(b *strings.Builder, margin string, fields []compare.FieldDiff) {
	for _, text := range compare.Shown(fields) {
		fmt.Fprintf(b, "%s%s\n", margin, text)
	}
}
