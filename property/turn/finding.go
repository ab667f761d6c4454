package turn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/turntext"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/internal/steady"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Finding is something that is wrong with a turn.
type Finding struct {
	// Name identifies the kind of finding, and is what shrinking preserves: the name of an
	// invariant, the class of a divergence, or one of the names below.
	Name string
	// Text describes what is wrong, for a person.
	Text string
}

// The names of findings that are neither violations nor divergences.
const (
	// Unrecorded means that the turn cannot be made, or that its trace cannot be written or read.
	Unrecorded = "unrecorded"
	// Untrue means that a caller got another answer than the trace says, or that what the caller
	// handed in was changed (RUN-7).
	Untrue = "untrue"
	// Wrong means that the check of the subject, or of its instance, returned an error.
	Wrong = "wrong"
	// Unsteady means that a second run makes a different trace (DET-2).
	Unsteady = "unsteady"
)

// CheckTurn runs a turn twice, compares the traces, replays the first and checks it against all
// invariants. It returns everything that is wrong.
func CheckTurn(t Turn) []Finding {
	var first *interpreter
	subject := t.subject(func(s *interpreter) {
		if first == nil {
			first = s
		}
	})
	return subject.findings(func() answers { return first.answers })
}

// CheckSubject is CheckTurn for any subject; it also asks the subject's checks. It cannot check the
// answers that user code got inside a run, which are known only of turns.
func CheckSubject(s Subject) []Finding { return s.findings(func() answers { return answers{} }) }

func (s Subject) findings(inside func() answers) []Finding {
	trace, got, err := s.recorded()
	if err != nil {
		return []Finding{{Unrecorded, err.Error()}}
	}
	answered := inside()
	again, gotAgain, err := s.recorded()
	if err != nil {
		return []Finding{{Unrecorded, err.Error()}}
	}
	if len(trace) == 0 {
		return refusal(got.refused(), gotAgain.refused())
	}
	read, findings := held(trace)
	if read != nil {
		findings = append(findings, untrue(read, got, answered)...)
	}
	if got.wrong != nil {
		findings = append(findings, Finding{Wrong, got.wrong.Error()})
	}
	findings = append(findings, replayed(trace)...)
	if n, first, second := turntext.FirstDifference(trace, again); n > 0 && !bySystem(read, again) {
		findings = append(findings, Finding{Unsteady, fmt.Sprintf("two runs differ at line %d of their traces:\n%s\n%s", n, first, second)})
	}
	return findings
}

// refusal checks a turn that made no trace. That is right only if the raw turn was refused as the
// contract says (RUN-4, DSP-12), with the same error both times.
func refusal(refused, again error) []Finding {
	if !errors.Is(refused, adk.E_INVALID_TURN_CONTEXT) && !errors.Is(refused, adk.E_INVALID_LLM_EXECUTION_CONTEXT) {
		return []Finding{{Unrecorded, fmt.Sprintf("the turn made no trace, and Run answered: %v", refused)}}
	}
	if !sameError(refused, again) {
		return []Finding{{Unsteady, fmt.Sprintf("the turn is refused with %v, and then with %v", refused, again)}}
	}
	return nil
}

// held checks a trace against all invariants. read is nil if the trace cannot be read.
func held(recorded []byte) (read *trace.Trace, findings []Finding) {
	read, err := trace.Read(bytes.NewReader(recorded))
	if err != nil {
		return nil, []Finding{{Unrecorded, err.Error()}}
	}
	for _, v := range property.Violations(read.Info, crossings(read)) {
		findings = append(findings, Finding{v.Invariant, fmt.Sprintf("%s at crossing %d in %s: %s", v.Rule, v.Crossing, v.Seam, v.Text)})
	}
	return read, findings
}

func replayed(trace []byte) []Finding {
	report, err := replay.Verify(context.Background(), bytes.NewReader(trace), replay.Live{})
	if err != nil {
		return []Finding{{Unrecorded, err.Error()}}
	}
	if d := report.Divergence; d != nil {
		return []Finding{{string(d.Class), fmt.Sprint(d)}}
	}
	return nil
}

func crossings(t *trace.Trace) iter.Seq[*adk.Crossing] {
	return func(yield func(*adk.Crossing) bool) {
		for _, line := range t.All() {
			if !yield(&line.Crossing) {
				return
			}
		}
	}
}

// bySystem reports whether the second trace differs from the first only in what the operating
// system chose.
func bySystem(first *trace.Trace, again []byte) bool {
	second, err := trace.Read(bytes.NewReader(again))
	if first == nil || err != nil {
		return false
	}
	at, bySystem := steady.PartAt(crossingsOf(first), crossingsOf(second))
	return at < 0 && bySystem
}

func crossingsOf(t *trace.Trace) []adk.Crossing {
	all := make([]adk.Crossing, t.Len())
	for i, line := range t.All() {
		all[i] = line.Crossing
	}
	return all
}
