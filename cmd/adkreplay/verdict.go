package main

import (
	"fmt"
	"strings"

	"github.com/adkreplay/adkreplay/replay"
)

// verdict is what verify found out about one trace.
type verdict struct {
	Trace      string             `json:"trace"`
	Crossings  int                `json:"crossings"`
	Divergence *replay.Divergence `json:"divergence,omitempty"`
	// NotCompared says in words what was not held against the recording.
	NotCompared []string `json:"notCompared,omitempty"`
	// Error says why the trace could not be read to its end.
	Error string `json:"error,omitempty"`

	ran  bool     // at least a part of it was replayed
	live []string // the seams that were user code
}

func (v *verdict) replayed(report *replay.Report) {
	v.ran = true
	v.Crossings, v.Divergence = report.Crossings, report.Divergence
	v.NotCompared, v.live = report.NotCompared, report.Live
}

// code is the exit code of this trace alone.
func (v *verdict) code() int {
	switch {
	case v.Error != "":
		return exitUnreadable
	case v.Divergence != nil:
		return exitDivergence
	}
	return exitSame
}

// print says it in a line, and a divergence in a few.
func (v *verdict) print(t *terminal) {
	if v.Divergence != nil {
		t.judged(red, "divergence", fmt.Sprintf("%s: %s", v.Trace, strings.TrimSuffix(v.Divergence.String(), "\n")))
	}
	switch {
	case v.Error != "":
		t.judged(red, "unreadable", v.Error)
	case v.Divergence == nil:
		t.judged(green, "same", fmt.Sprintf("%s: %s", v.Trace, counted(v.Crossings, "crossing")))
	}
	for _, what := range v.NotCompared {
		t.printf("    not compared: %s", what)
	}
}

// summary is the result of verify as a whole.
type summary struct {
	Traces      []verdict `json:"traces"`
	Crossings   int       `json:"crossings"`
	Divergences int       `json:"divergences"`
	Unreadable  int       `json:"unreadable"`
	// UserCode tells whether code other than the engine's ran.
	UserCode bool `json:"userCode"`
	ExitCode int  `json:"exitCode"`
	// Error says why not everything was verified that was to be.
	Error string `json:"error,omitempty"`

	ran bool
}

func newSummary() *summary { return &summary{Traces: []verdict{}} }

// refusal is the result of a verify that could not begin, or failed.
func refusal(exit *exitError) *summary {
	s := newSummary()
	s.Error, s.ExitCode = exit.Error(), exit.code
	return s
}

// fail says why the result is not whole.
func (s *summary) fail(why string) { s.Error, s.ExitCode = why, exitInternal }

// add counts a verdict in. The codes are ordered: the highest wins.
func (s *summary) add(v verdict) {
	s.Traces = append(s.Traces, v)
	s.Crossings += v.Crossings
	if v.Divergence != nil {
		s.Divergences++
	}
	if v.Error != "" {
		s.Unreadable++
	}
	s.ran = s.ran || v.ran
	s.UserCode = s.UserCode || len(v.live) > 0
	s.ExitCode = max(s.ExitCode, v.code())
}

// conclude prints what is to be said of all traces together, and ends with the
// exit code.
func (s *summary) conclude(t *terminal, o verifyOptions) error {
	if o.json {
		if err := printJSON(t, s); err != nil {
			return err
		}
	} else {
		s.print(t)
	}
	if s.Error != "" {
		t.warn(s.Error)
	}
	return ended(s.ExitCode)
}

// print ends the list of verdicts. Its last line is for programs too.
func (s *summary) print(t *terminal) {
	if s.Unreadable > 0 {
		t.printf("%s could not be read", counted(s.Unreadable, "trace"))
	}
	if s.ran && !s.UserCode {
		t.printf("every seam was played from its recording: no user code ran")
	}
	t.printf("%d traces, %d crossings, %d divergences", len(s.Traces), s.Crossings, s.Divergences)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
