package corpus

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay"
)

// WriteAnnotations writes the report as workflow commands of GitHub Actions, a
// line each, which become annotations of the files: one for each cause, at the line of
// live code that says what differs or that it is in, where that is known (replay.Divergence.Written and
// Mark), and else at the first trace that it hits, and one for each trace that cannot be read. GitHub shows the first ten errors of a step.
//
// files say where a file stands in the repository, which is what GitHub asks for: the
// first of them that gives a path is taken. None leaves all as they are.
func (r *Report) WriteAnnotations(w io.Writer, files ...func(file string) string) error {
	var b strings.Builder
	if r.Error != "" {
		fmt.Fprintf(&b, "::error title=%s::%s\n", property("not everything was verified"), message(r.Error))
	}
	for _, c := range r.Causes {
		file, line, known := codeOf(c.First.Divergence)
		if known && inRepository(file, files) == "" {
			known = false
		}
		if !known {
			file, line = filepath.ToSlash(c.First.Trace), c.First.Divergence.Crossing+1
		}
		fmt.Fprintf(&b, "::error file=%s,line=%d,title=%s::%s\n", property(cmp.Or(inRepository(file, files), file)), line,
			property(string(c.Class)), message(c.String()))
	}
	for _, t := range r.Traces {
		if file := filepath.ToSlash(t.Trace); t.Error != "" {
			fmt.Fprintf(&b, "::error file=%s,title=%s::%s\n", property(cmp.Or(inRepository(file, files), file)), property("unreadable"), message(t.Error))
		}
	}
	for _, s := range r.Sessions {
		b.WriteString(s.annotations(files))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// codeOf is the line that a divergence is marked at.
func codeOf(d *replay.Divergence) (file string, line int, known bool) {
	return codeplace.Parse(cmp.Or(d.Written, d.Mark, d.Place))
}

// inRepository is where a file stands; empty where nobody can tell.
func inRepository(file string, files []func(string) string) string {
	for _, find := range files {
		if path := find(file); path != "" {
			return path
		}
	}
	if len(files) == 0 {
		return file
	}
	return ""
}

// The escapes of workflow commands, as @actions/core has them.
var (
	escapeMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// property is the value of a property, and message what stands behind the second
// pair of colons: no text in them can begin a command of its own, or act upon a
// terminal that shows the log.
func property(text string) string { return escapeProperty.Replace(safetext.Line(text)) }
func message(text string) string  { return escapeMessage.Replace(safetext.Lines(text)) }
