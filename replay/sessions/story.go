package sessions

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"path/filepath"
	"strings"

	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

// ToldStep is a step of a journal in the form in which people read it.
type ToldStep struct {
	session.Step
	// Journal and Line are the position of the step, if the journal was read from a file.
	Journal string `json:"journal,omitempty"`
	Line    int    `json:"line,omitempty"`
	// Trace is the name of the trace of the step's turn, if there is one.
	Trace string `json:"trace,omitempty"`
	// Text describes the step in one line, indented below what it belongs to.
	Text string `json:"text"`
}

// Story iterates over the steps of a journal in the form in which people read it: for each session,
// what was accepted, and then for each epoch what its host did. traceOf returns the name of a
// turn's trace, or "" if there is none; it may be nil.
func (j *Journal) Story(traceOf func(turn string) string) iter.Seq[*ToldStep] {
	return func(yield func(*ToldStep) bool) {
		merged := Merge(j)
		for i, s := range merged.Steps {
			at := merged.placeOf(i)
			told := &ToldStep{Step: s, Journal: at.file, Line: at.line}
			if traceOf != nil && s.Kind == session.StepRan && s.Turn != "" {
				told.Trace = traceOf(s.Turn)
			}
			told.Text = safetext.Line(told.text())
			if !yield(told) {
				return
			}
		}
	}
}

// WriteStory writes the story. A line above each session names it. If time has passed since the
// previous line, a line shows the time since the session's first step.
func WriteStory(w io.Writer, j *Journal, traceOf func(turn string) string) error {
	var first, last session.Step
	for told := range j.Story(traceOf) {
		if told.SessionID != first.SessionID || first.Kind == "" {
			first, last = told.Step, told.Step
			if _, err := fmt.Fprintf(w, "session %s, from %s\n", nameOf(told.SessionID), told.At.UTC().Format("2006-01-02 15:04:05.999 MST")); err != nil {
				return err
			}
		}
		passed := ""
		if !told.At.Equal(last.At) {
			passed = "  (" + told.At.Sub(first.At).String() + " in)"
		}
		last = told.Step
		if _, err := fmt.Fprintf(w, "  %s%s\n", told.Text, passed); err != nil {
			return err
		}
	}
	return nil
}

// WriteTranscript writes the story of a recording, followed by the transcript of each turn in the
// order of the story. It uses the base names of the traces.
func (r *Recording) WriteTranscript(w io.Writer, reading trace.Options) error {
	journal, reports := r.Read(reading)
	turns := r.Turns(reading)
	err := WriteStory(w, journal, func(turn string) string { return path.Base(filepath.ToSlash(turns[turn].Name)) })
	for told := range journal.Story(nil) {
		source, has := turns[told.Turn]
		if err != nil || told.Kind != session.StepRan || !has {
			continue
		}
		if _, err = fmt.Fprintf(w, "\n%s, attempt %d at %s of session %s\n", path.Base(filepath.ToSlash(source.Name)), told.Attempt,
			safetext.PlainName(told.Delivery), nameOf(told.SessionID)); err == nil {
			err = writeTurn(w, source, reading)
		}
	}
	for _, one := range reports {
		if one.Error != "" {
			err = errors.Join(err, errors.New("replay: "+one.Error))
		}
	}
	return err
}

// writeTurn writes the transcript of one turn.
func writeTurn(w io.Writer, source corpus.Source, reading trace.Options) error {
	content, err := source.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	reading.File = source.Name
	return transcript.Write(w, content, reading)
}

// nameOf returns the name of a session in the form in which people read it.
func nameOf(id session.SessionID) string {
	name := safetext.PlainName(id.Session)
	if id.Tenant != "" {
		name += " of tenant " + safetext.PlainName(id.Tenant)
	}
	return name
}

// digits is how many digits of a digest are shown.
const digits = 8

// text describes the step.
func (t *ToldStep) text() string {
	of := safetext.PlainName(t.Delivery)
	switch t.Kind {
	case session.StepAccepted:
		return fmt.Sprintf("accepted %s as %d, payload %.*s, by %s", of, t.Seq, digits, t.Payload, safetext.PlainName(t.Host))
	case session.StepClaimed:
		return fmt.Sprintf("epoch %d is %s's", t.Epoch, safetext.PlainName(t.Host))
	case session.StepHydrated:
		return fmt.Sprintf("  attempt %d at %s, from revision %d, values %.*s", t.Attempt, of, t.Revision, digits, t.Bag)
	case session.StepRan:
		return "    " + t.turn()
	case session.StepCommitted:
		return "    " + t.commit()
	case session.StepDropped:
		if t.Code == "" {
			return "    given back: its caller has left"
		}
		return fmt.Sprintf("    dropped: %s", t.Code)
	case session.StepFailed:
		return fmt.Sprintf("    failed for good: %s", t.Code)
	case session.StepApplied:
		return fmt.Sprintf("  the records of %s were written", of)
	case session.StepNotified:
		return fmt.Sprintf("  somebody was told of %s", of)
	case session.StepErased:
		return "erased"
	}
	return string(t.Kind)
}

// turn describes the result of an attempt's turn.
func (t *ToldStep) turn() string {
	if t.Turn == "" {
		return "no turn"
	}
	text := "turn " + safetext.PlainName(t.Turn)
	if t.Status != "" {
		text += " " + t.Status
	} else {
		text += " without a dispatch that ended"
	}
	if t.Trace != "" {
		text += ", in " + t.Trace
	}
	return text
}

// commit describes what was committed.
func (t *ToldStep) commit() string {
	text := fmt.Sprintf("committed revision %d, values %.*s", t.Revision, digits, t.Bag)
	if len(t.Keys) > 0 {
		text += ", changed " + strings.Join(t.Keys, ", ")
	}
	var records []string
	for _, record := range t.Records {
		what, _ := recordOf(record)
		records = append(records, what)
	}
	if len(records) > 0 {
		text += ", wrote " + strings.Join(records, ", ")
	}
	return text
}
