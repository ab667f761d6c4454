package corpus

import (
	"encoding/xml"
	"io"
	"path"
	"path/filepath"
	"strings"
)

// The part of JUnit's XML that CI systems read. Times are left out: they differ
// from run to run.
type (
	junitSuites struct {
		XMLName xml.Name   `xml:"testsuites"`
		Suite   junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report as JUnit XML. A trace is a test case in the class
// of its folder; a divergence is its failure, and what cannot be read its error.
// A report that is not whole has a case more, which says why.
func (r *Report) WriteJUnit(w io.Writer) error {
	suite := junitSuite{Name: "adkreplay verify", Tests: len(r.Traces)}
	if r.Shard != nil {
		suite.Name += " " + r.Shard.String()
	}
	for _, t := range r.Traces {
		suite.add(junitCaseOf(t))
	}
	if r.Error != "" {
		suite.Tests++
		suite.add(junitCase{Class: "adkreplay", Name: "verify", Error: &junitProblem{Type: "incomplete", Message: r.Error}})
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(junitSuites{Suite: suite}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(c junitCase) {
	s.Cases = append(s.Cases, c)
	switch {
	case c.Error != nil:
		s.Errors++
	case c.Failure != nil:
		s.Failures++
	}
}

// junitCaseOf is the case of a trace. One that diverged and cannot be read to
// its end is an error that quotes the divergence: a case has one end.
func junitCaseOf(t *TraceReport) junitCase {
	folder, name := path.Split(filepath.ToSlash(t.Trace))
	c := junitCase{Class: strings.TrimSuffix(folder, "/"), Name: name}
	if c.Class == "" {
		c.Class = "."
	}
	text := ""
	if t.Divergence != nil {
		text = t.Divergence.String()
		c.Failure = &junitProblem{Type: string(t.Divergence.Class), Message: t.Cause.String(), Text: text}
	}
	if t.Error != "" {
		c.Failure, c.Error = nil, &junitProblem{Type: "unreadable", Message: t.Error, Text: text}
	}
	return c
}
