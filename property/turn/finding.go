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

// Finding is one thing that is wrong with a turn.
type Finding struct {
	// Name is what shrinking keeps: the name of an invariant, the class of a
	// divergence, or one of the names below.
	Name string
	// Text says what is wrong, for a person.
	Text string
}

// The names of findings that are neither violations nor divergences.
const (
	// Unrecorded is a turn that cannot be made, or whose trace cannot be written
	// or read.
	Unrecorded = "unrecorded"
	// Untrue is a turn in which a caller was answered otherwise than the trace says,
	// or finds changed what it handed in (RUN-7).
	Untrue = "untrue"
	// Wrong is a turn of which the check says so that the subject has, or its instance.
	Wrong = "wrong"
	// Unsteady is a turn whose second run makes another trace (DET-2).
	Unsteady = "unsteady"
)

// CheckTurn runs a turn twice, compares the traces, replays them and holds them
// against all invariants. It gives everything that is wrong.
func CheckTurn(t Turn) []Finding {
	var first *interpreter
	subject := t.subject(func(s *interpreter) {
		if first == nil {
			first = s
		}
	})
	return subject.findings(func() answers { return first.answers })
}

// CheckSubject is CheckTurn for any subject, whose checks are asked too. What user code was
// answered inside of a run is known of turns alone.
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

// refusal is what is wrong with a turn of which there is no trace: nothing, if
// the raw turn was refused as the contract says (RUN-4, DSP-12), and again so.
func refusal(refused, again error) []Finding {
	if !errors.Is(refused, adk.E_INVALID_TURN_CONTEXT) && !errors.Is(refused, adk.E_INVALID_LLM_EXECUTION_CONTEXT) {
		return []Finding{{Unrecorded, fmt.Sprintf("the turn made no trace, and Run answered: %v", refused)}}
	}
	if !sameError(refused, again) {
		return []Finding{{Unsteady, fmt.Sprintf("the turn is refused with %v, and then with %v", refused, again)}}
	}
	return nil
}

// held holds a trace against all invariants; it is nil where it cannot be read.
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

// bySystem reports whether a trace differs from the one that was read in nothing
// but what the system chose.
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
