package property

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay"
)

// Flaw is one thing that is wrong with a turn.
type Flaw struct {
	// Name is what shrinking keeps: the name of an invariant, the class of a
	// divergence, or one of the names below.
	Name string
	// Text says what is wrong, for a person.
	Text string
}

// The names of flaws that are neither violations nor divergences.
const (
	// Unrecorded is a turn that cannot be made, or whose trace cannot be written
	// or read.
	Unrecorded = "unrecorded"
	// Unsteady is a turn whose second run makes another trace (DET-2).
	Unsteady = "unsteady"
)

// CheckTurn runs a turn twice, compares the traces, replays them and holds them
// against all invariants. It gives everything that is wrong.
func CheckTurn(t Turn) []Flaw { return CheckSubject(t.Subject()) }

// CheckSubject is CheckTurn for any subject.
func CheckSubject(s Subject) []Flaw {
	trace, refused, err := s.Trace()
	if err != nil {
		return []Flaw{{Unrecorded, err.Error()}}
	}
	if len(trace) == 0 {
		return refusal(refused)
	}
	flaws := CheckTrace(trace)
	again, _, err := s.Trace()
	if err != nil {
		return append(flaws, Flaw{Unrecorded, err.Error()})
	}
	if at := differsAt(trace, again); at >= 0 {
		flaws = append(flaws, Flaw{Unsteady, fmt.Sprintf("two runs differ at line %d of their traces:\n%s\n%s", at+1, line(trace, at), line(again, at))})
	}
	return flaws
}

// refusal is what is wrong with a turn of which there is no trace: nothing, if
// the raw turn was refused as the contract says (RUN-4).
func refusal(refused error) []Flaw {
	if errors.Is(refused, adk.E_INVALID_TURN_CONTEXT) {
		return nil
	}
	return []Flaw{{Unrecorded, fmt.Sprintf("the turn made no trace, and Run answered: %v", refused)}}
}

// CheckTrace replays a trace and holds it against all invariants.
func CheckTrace(trace []byte) []Flaw {
	report, err := replay.Verify(context.Background(), bytes.NewReader(trace), replay.Live{})
	if err != nil {
		return []Flaw{{Unrecorded, err.Error()}}
	}
	var flaws []Flaw
	if d := report.Divergence; d != nil {
		flaws = append(flaws, Flaw{string(d.Class), fmt.Sprint(d)})
	}
	read, err := replay.ReadTrace(bytes.NewReader(trace))
	if err != nil {
		return append(flaws, Flaw{Unrecorded, err.Error()})
	}
	for _, v := range Violations(read.Info, crossings(read)) {
		flaws = append(flaws, Flaw{v.Invariant, fmt.Sprintf("%s at crossing %d in %s: %s", v.Rule, v.Crossing, v.Seam, v.Text)})
	}
	return flaws
}

func crossings(t *replay.Trace) iter.Seq[*adk.Crossing] {
	return func(yield func(*adk.Crossing) bool) {
		for i := range t.Lines {
			if !yield(&t.Lines[i].Crossing) {
				return
			}
		}
	}
}

// differsAt is the first line in which two traces differ, or -1.
func differsAt(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for at := 0; ; at++ {
		if line(a, at) != line(b, at) {
			return at
		}
	}
}

func line(trace []byte, at int) string {
	all := strings.Split(string(trace), "\n")
	if at < len(all) {
		return all[at]
	}
	return ""
}
