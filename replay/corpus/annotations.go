package corpus

import (
	"cmp"
	"io"
	"path/filepath"
	"strings"

	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay"
)

// WriteAnnotations writes the report as workflow commands of GitHub Actions, one line each, which
// GitHub shows as annotations of files. Each cause is an annotation. Its position is the line of
// live code that says what differs, or that contains it (replay.Divergence.Written and Mark), or
// else the first trace that it affects. Each trace that cannot be read is an annotation too. GitHub
// shows the first ten errors of a step.
//
// GitHub needs paths within the repository. Each of files may translate a path; the first one that
// returns a path wins. Without files, all paths stay as they are.
func (r *Report) WriteAnnotations(w io.Writer, files ...func(file string) string) error {
	var b strings.Builder
	if r.Error != "" {
		b.WriteString(safetext.Annotation("error", "", 0, "not everything was verified", r.Error))
	}
	for _, c := range r.Causes {
		file, line, known := codeOf(c.First.Divergence)
		if known && inRepository(file, files) == "" {
			known = false
		}
		if !known {
			file, line = filepath.ToSlash(c.First.Trace), c.First.Divergence.Crossing+1
		}
		b.WriteString(safetext.Annotation("error", cmp.Or(inRepository(file, files), file), line, string(c.Class), c.String()))
	}
	for _, t := range r.Traces {
		if file := filepath.ToSlash(t.Trace); t.Error != "" {
			b.WriteString(safetext.Annotation("error", cmp.Or(inRepository(file, files), file), 0, "unreadable", t.Error))
		}
	}
	for _, s := range r.Sessions {
		b.WriteString(s.annotations(files))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// codeOf returns the line of code at which a divergence is marked.
func codeOf(d *replay.Divergence) (file string, line int, known bool) {
	return codeplace.Parse(cmp.Or(d.Written, d.Mark, d.Place))
}

// inRepository returns the path of a file within the repository, or "" if it is unknown.
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
