package corpus

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// WriteAnnotations writes the report as workflow commands of GitHub Actions, a
// line each, which become annotations of the files: one for each cause, at the
// first trace that it hits, and one for each trace that cannot be read. GitHub
// shows the first ten errors of a step.
func (r *Report) WriteAnnotations(w io.Writer) error {
	var b strings.Builder
	if r.Error != "" {
		fmt.Fprintf(&b, "::error title=%s::%s\n", property("not everything was verified"), message(r.Error))
	}
	for _, c := range r.Causes {
		fmt.Fprintf(&b, "::error file=%s,line=%d,title=%s::%s\n", property(filepath.ToSlash(c.First.Trace)), c.First.Divergence.Crossing+1,
			property(string(c.Class)), message(c.String()))
	}
	for _, t := range r.Traces {
		if t.Error != "" {
			fmt.Fprintf(&b, "::error file=%s,title=%s::%s\n", property(filepath.ToSlash(t.Trace)), property("unreadable"), message(t.Error))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// The escapes of workflow commands, as @actions/core has them.
var (
	escapeMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// property is the value of a property, and message what stands behind the second
// pair of colons: no text in them can begin a command of its own, or act upon a
// terminal that shows the log.
func property(text string) string { return escapeProperty.Replace(harmless(text)) }
func message(text string) string  { return escapeMessage.Replace(harmless(text)) }

// harmless escapes what is not printable but for the ends of lines.
func harmless(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || r == '\r' || strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
