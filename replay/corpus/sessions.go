package corpus

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

// SessionsReport is what was found out about the sessions whose journals lie in a folder:
// package sessions plays them, with the traces of their turns.
type SessionsReport struct {
	// Folder is where the journals are, and Number the place among the folders, from 1.
	Folder string `json:"folder"`
	Number int    `json:"number"`
	// Journals are the files: one for each host that shared the sessions.
	Journals []JournalReport `json:"journals"`
	// Sessions, Attempts and Commits are how many were played.
	Sessions int `json:"sessions"`
	Attempts int `json:"attempts"`
	Commits  int `json:"commits"`
	// Untraced are how many attempts have no trace of their turn.
	Untraced int `json:"untraced,omitempty"`
	// Divergences are the first of each session that has one.
	Divergences []SessionDivergence `json:"divergences,omitempty"`
	// NotCompared says what could not be held against the journals.
	NotCompared []string `json:"notCompared,omitempty"`
	// Errors say why traces of the turns could not be read, or replayed.
	Errors []string `json:"errors,omitempty"`
}

// JournalReport is what was found out about one journal.
type JournalReport struct {
	Journal string `json:"journal"`
	Steps   int    `json:"steps"`
	// NoFooter says that its host has not ended it: it was killed, or is still at work.
	NoFooter bool `json:"noFooter,omitempty"`
	// Error says why it could not be read to its end.
	Error string `json:"error,omitempty"`
}

// Note says of a journal without a footer what that means, and nothing of another.
func (j JournalReport) Note() string {
	if !j.NoFooter || j.Error != "" {
		return ""
	}
	return safetext.Line(j.Journal) + " has no footer: its host was killed, or is still at work"
}

// SessionDivergence is where a session parts from its journal.
type SessionDivergence struct {
	// Class is hydrate, turn, commit or order.
	Class    string `json:"class"`
	Tenant   string `json:"tenant,omitempty"`
	Session  string `json:"session"`
	Delivery string `json:"delivery,omitempty"`
	Attempt  int    `json:"attempt,omitempty"`
	// Journal and Line are where the step stands.
	Journal string `json:"journal"`
	Line    int    `json:"line"`
	// Turn is the id of the attempt's turn, and Trace the name of its trace, where it has
	// one.
	Turn  string `json:"turn,omitempty"`
	Trace string `json:"trace,omitempty"`
	// Text is the divergence in a line for a person.
	Text string `json:"text"`
}

// Faults are what keeps the sessions from having been played to their ends.
func (s *SessionsReport) Faults() (all []string) {
	for _, j := range s.Journals {
		if j.Error != "" {
			all = append(all, j.Error)
		}
	}
	return append(all, s.Errors...)
}

// Summary is the counts in a line.
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

// OfSessions counts what was found about sessions: those that parted from their journals,
// and what could not be read.
func (r *Report) OfSessions() (divergent, unreadable int) {
	for _, s := range r.Sessions {
		divergent += len(s.Divergences)
		unreadable += len(s.Faults())
	}
	return divergent, unreadable
}

// sessionLines are what differs in sessions, a line each, and what could not be read.
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

// junitCasesOf are the cases of a folder's sessions: one for all that were as recorded, or
// one for each that was not.
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

// annotations are those of sessions.
func (s *SessionsReport) annotations(files []func(string) string) string {
	var b strings.Builder
	at := func(file string) string {
		if found := inRepository(filepath.ToSlash(file), files); found != "" {
			return property(found)
		}
		return property(filepath.ToSlash(file))
	}
	for _, d := range s.Divergences {
		fmt.Fprintf(&b, "::error file=%s,line=%d,title=%s::%s\n", at(d.Journal), d.Line, property(d.Class), message(d.Text))
	}
	for _, fault := range s.Faults() {
		fmt.Fprintf(&b, "::error file=%s,title=%s::%s\n", at(s.Folder), property("unreadable"), message(fault))
	}
	return b.String()
}
