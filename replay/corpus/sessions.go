package corpus

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

// SessionsReport is the result for the sessions whose journals are in one folder. Package sessions
// replays them, with the traces of their turns.
type SessionsReport struct {
	// Folder is where the journals are. Number is its position among the folders, from 1.
	Folder string `json:"folder"`
	Number int    `json:"number"`
	// Journals holds one report for each journal file: one per host that shared the sessions.
	Journals []JournalReport `json:"journals"`
	// Sessions, Attempts and Commits count what was replayed.
	Sessions int `json:"sessions"`
	Attempts int `json:"attempts"`
	Commits  int `json:"commits"`
	// Untraced is the number of attempts without a trace of their turn.
	Untraced int `json:"untraced,omitempty"`
	// Divergences holds the first divergence of each session that has one.
	Divergences []SessionDivergence `json:"divergences,omitempty"`
	// NotCompared says what could not be compared with the journals.
	NotCompared []string `json:"notCompared,omitempty"`
	// Errors says why traces of the turns could not be read or replayed.
	Errors []string `json:"errors,omitempty"`
}

// JournalReport is the result for one journal.
type JournalReport struct {
	Journal string `json:"journal"`
	Steps   int    `json:"steps"`
	// NoFooter is true if the host has not ended the journal: it was killed, or is still running.
	NoFooter bool `json:"noFooter,omitempty"`
	// Error says why the journal could not be read to its end.
	Error string `json:"error,omitempty"`
}

// Note explains what a missing footer means. It returns "" for other journals.
func (j JournalReport) Note() string {
	if !j.NoFooter || j.Error != "" {
		return ""
	}
	return safetext.Line(j.Journal) + " has no footer: its host was killed, or is still at work"
}

// SessionDivergence is where a session diverges from its journal.
type SessionDivergence struct {
	// Class is hydrate, turn, commit or order.
	Class    string `json:"class"`
	Tenant   string `json:"tenant,omitempty"`
	Session  string `json:"session"`
	Delivery string `json:"delivery,omitempty"`
	Attempt  int    `json:"attempt,omitempty"`
	// Journal and Line are the position of the step.
	Journal string `json:"journal"`
	Line    int    `json:"line"`
	// Turn is the id of the attempt's turn. Trace is the name of its trace, if there is one.
	Turn  string `json:"turn,omitempty"`
	Trace string `json:"trace,omitempty"`
	// Text describes the divergence in one line.
	Text string `json:"text"`
}

// Faults returns the errors because of which the sessions were not replayed completely.
func (s *SessionsReport) Faults() (all []string) {
	for _, j := range s.Journals {
		if j.Error != "" {
			all = append(all, j.Error)
		}
	}
	return append(all, s.Errors...)
}

// Summary returns the counts in one line.
func (s *SessionsReport) Summary() string {
	journals, open := safetext.Counted(len(s.Journals), "journal"), 0
	for _, j := range s.Journals {
		if j.NoFooter {
			open++
		}
	}
	if open > 0 {
		journals += fmt.Sprintf(" (%d without a footer)", open)
	}
	return fmt.Sprintf("%s, %s, %s, %s", journals, safetext.Counted(s.Sessions, "session"),
		safetext.Counted(s.Attempts, "attempt"), safetext.Counted(s.Commits, "commit"))
}

// OfSessions returns how many sessions diverged from their journals, and how many errors there were
// in reading them.
func (r *Report) OfSessions() (divergent, unreadable int) {
	for _, s := range r.Sessions {
		divergent += len(s.Divergences)
		unreadable += len(s.Faults())
	}
	return divergent, unreadable
}

// sessionLines describes the errors and the divergences of all sessions, one line each.
func (r *Report) sessionLines() string {
	var b strings.Builder
	for _, s := range r.Sessions {
		for _, fault := range s.Faults() {
			fmt.Fprintf(&b, "unreadable %s\n", safetext.Bare(fault))
		}
		for _, d := range s.Divergences {
			fmt.Fprintf(&b, "session divergence: %s\n", safetext.Line(d.Text))
		}
	}
	return b.String()
}

// junitCasesOf returns the test cases for a folder's sessions: one case for each divergence or
// error, or a single case if there is none.
func junitCasesOf(s *SessionsReport) (cases []junitCase) {
	class := safetext.Line(path.Clean(filepath.ToSlash(s.Folder)))
	for _, d := range s.Divergences {
		cases = append(cases, junitCase{Class: class, Name: "session " + safetext.Line(d.Session),
			Failure: &junitProblem{Type: d.Class, Message: safetext.Lines(d.Text)}})
	}
	for _, fault := range s.Faults() {
		cases = append(cases, junitCase{Class: class, Name: "sessions", Error: &junitProblem{Type: "unreadable", Message: safetext.Lines(fault)}})
	}
	if cases == nil {
		cases = []junitCase{{Class: class, Name: "sessions"}}
	}
	return cases
}

// annotations returns the annotations for the sessions.
func (s *SessionsReport) annotations(files []func(string) string) string {
	var b strings.Builder
	at := func(file string) string {
		if found := inRepository(filepath.ToSlash(file), files); found != "" {
			return found
		}
		return filepath.ToSlash(file)
	}
	for _, d := range s.Divergences {
		b.WriteString(safetext.Annotation("error", at(d.Journal), d.Line, d.Class, d.Text))
	}
	for _, fault := range s.Faults() {
		b.WriteString(safetext.Annotation("error", at(s.Folder), 0, "unreadable", fault))
	}
	return b.String()
}
