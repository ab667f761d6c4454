package corpus

import (
	"cmp"
	"encoding/xml"
	"io"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

// The part of JUnit's XML that CI systems read.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     junitSeconds `xml:"time,attr,omitempty"`
		Cases    []junitCase  `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		File    string        `xml:"file,attr,omitempty"`
		Line    int           `xml:"line,attr,omitempty"`
		Time    junitSeconds  `xml:"time,attr,omitempty"` // unknown in a report that was read
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// junitSeconds is a duration in JUnit's form: seconds with a fraction.
type junitSeconds time.Duration

// MarshalText writes the seconds to the millisecond.
func (d junitSeconds) MarshalText() ([]byte, error) {
	return strconv.AppendFloat(nil, time.Duration(d).Seconds(), 'f', 3, 64), nil
}

// Suite is a report with its name among other reports.
type Suite struct {
	Name string
	*Report
}

// WriteJUnit writes the report as JUnit XML with a single suite.
func (r *Report) WriteJUnit(w io.Writer) error {
	name := "adkreplay verify"
	if r.Shard != nil {
		name += " " + r.Shard.String()
	}
	return WriteJUnit(w, Suite{name, r})
}

// WriteJUnit writes reports as JUnit XML, one suite each. A trace is a test case in the class of
// its folder, with the time that its replay took. A divergence is a failure, with the file and line
// of the live code that caused it if they are known. A trace that cannot be read is an error. An
// incomplete report has one more case, which says why it is incomplete.
func WriteJUnit(w io.Writer, reports ...Suite) error {
	document := junitSuites{}
	for _, r := range reports {
		document.Suites = append(document.Suites, junitSuiteOf(r))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func junitSuiteOf(r Suite) junitSuite {
	suite := junitSuite{Name: r.Name}
	for _, t := range r.Traces {
		suite.add(junitCaseOf(t))
	}
	for _, s := range r.Sessions {
		for _, c := range junitCasesOf(s) {
			suite.add(c)
		}
	}
	if r.Error != "" {
		suite.add(junitCase{Class: "adkreplay", Name: "verify", Error: &junitProblem{Type: "incomplete", Message: safetext.Lines(r.Error)}})
	}
	return suite
}

func (s *junitSuite) add(c junitCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	s.Time += c.Time
	switch {
	case c.Error != nil:
		s.Errors++
	case c.Failure != nil:
		s.Failures++
	}
}

// junitCaseOf returns the test case of a trace. A case can have only one result, so a trace that
// diverged and cannot be read to its end is an error that quotes the divergence.
func junitCaseOf(t *TraceReport) junitCase {
	folder, name := path.Split(filepath.ToSlash(t.Trace))
	c := junitCase{Class: cmp.Or(safetext.Line(strings.TrimSuffix(folder, "/")), "."), Name: safetext.Line(name), Time: junitSeconds(t.Elapsed)}
	text := ""
	if t.Divergence != nil {
		text = safetext.Lines(t.Divergence.String())
		c.File, c.Line, _ = codeOf(t.Divergence)
		c.Failure = &junitProblem{Type: string(t.Divergence.Class), Message: safetext.Lines(t.Cause.inFull()), Text: text}
	}
	if t.Error != "" {
		c.Failure, c.Error = nil, &junitProblem{Type: "unreadable", Message: safetext.Lines(t.Error), Text: text}
	}
	return c
}
