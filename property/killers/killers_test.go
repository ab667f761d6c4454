// Package killers_test checks that the checks work. Each way in which this project
// looks at a turn is a killer: it is shown the engine with a seeded mistake in it
// and has to see that something is wrong.
package killers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/model"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/gen"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/scenarios"
)

// budget is how far every killer looks. It is counted and not timed, so that the
// same mistakes are seen on every machine.
type budget struct{ scenarios, turns int }

var (
	wholeBudget  = budget{len(scenarios.All()), 2000}
	sampleBudget = budget{6, 150}
)

var whole = flag.Bool("whole", false, "look as far as the budget for mutants goes, and not only at a sample")

// killer looks at the engine from one side until it sees something wrong.
type killer struct {
	name string
	// unit is what look counts.
	unit string
	look func(budget) seenState
}

// seenState is what a killer has seen: by is the name of what is wrong and text
// what that is; both are empty if nothing is. Looked is how much it has looked at.
type seenState struct {
	Killer  string  `json:"killer"`
	Looked  int     `json:"looked"`
	By      string  `json:"by,omitempty"`
	Text    string  `json:"text,omitempty"`
	Seconds float64 `json:"seconds"`
}

var killers = []killer{
	{"invariants", "scenarios", invariants},
	{"model", "turns", modelled},
	{"generators", "turns", generators},
	{"exploration", "schedules", exploration},
	{"fixtures", "traces", verification},
}

// invariants holds the traces of the scenarios against all invariants.
func invariants(b budget) (seen seenState) {
	for _, s := range scenarios.All()[:b.scenarios] {
		seen.Looked++
		trace, refused, err := subject(s).Trace()
		if err == nil {
			err = refused
		}
		if err != nil {
			return seen.of("unrecorded", err)
		}
		examined, err := property.Examine(bytes.NewReader(trace))
		if err != nil {
			return seen.of("unreadable", err)
		}
		if found := examined.Violations; len(found) > 0 {
			return seen.of(found[0].Invariant, s.Name, found[0])
		}
	}
	return seen
}

// modelled asks the model what generated turns do.
func modelled(b budget) (seen seenState) {
	turns := gen.Turns(gen.Knobs{OneStrand: true, NoGoexit: true, Operations: 14})
	for seed := range b.turns {
		seen.Looked++
		if text := model.Check(turns.Example(seed)); text != "" {
			return seen.of("disagrees", text)
		}
	}
	return seen
}

// generators runs generated turns twice, replays them and holds them against all
// invariants.
func generators(b budget) (seen seenState) {
	turns := gen.Turns(gen.Knobs{})
	for seed := range b.turns {
		seen.Looked++
		if findings := turn.CheckTurn(turns.Example(seed)); len(findings) > 0 {
			return seen.of(findings[0].Name, findings[0].Text)
		}
	}
	return seen
}

// exploration breaks the scenarios at every crossing, once in each run.
func exploration(b budget) (seen seenState) {
	for _, s := range scenarios.All()[:b.scenarios] {
		result, err := explore.Explore(context.Background(), subject(s), explore.Options{Bound: 1})
		if err != nil {
			return seen.of("unexplored", err)
		}
		seen.Looked += result.Schedules
		if found := result.Violations; len(found) > 0 {
			return seen.of(found[0].Invariant, s.Name, found[0].Schedule, found[0])
		}
	}
	return seen
}

// verification replays the fixtures, as the engine without a mistake has recorded
// them.
func verification(b budget) (seen seenState) {
	for _, s := range scenarios.All()[:b.scenarios] { // the simple ones first
		seen.Looked++
		name := s.Name + ".jsonl"
		trace, err := fixtures.Traces.ReadFile(name)
		if err != nil {
			return seen.of("unreadable", err)
		}
		report, err := replay.Verify(context.Background(), bytes.NewReader(trace), replay.Live{})
		if err != nil {
			return seen.of("unreadable", name, err)
		}
		if report.Divergence != nil {
			return seen.of(string(report.Divergence.Class), name, report.Divergence)
		}
	}
	return seen
}

// of is the seenState of what is wrong.
func (seen seenState) of(by string, what ...any) seenState {
	seen.By, seen.Text = by, fmt.Sprintln(what...)
	return seen
}

func subject(s scenarios.Scenario) turn.Subject {
	return turn.Subject{Name: s.Name, Build: func(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return s.Build(scenarios.Outside{Cancel: cancel})
	}}
}

// No killer sees anything wrong with the engine as it stands. With a mistake in it,
// this is the test that a mutant's binary runs, killer by killer, and it prints what
// was seen as a line of JSON.
func TestTheEngineStands(t *testing.T) {
	if standIn() {
		return
	}
	far := sampleBudget
	if *whole {
		far = wholeBudget
	}
	for _, k := range killers {
		t.Run(k.name, func(t *testing.T) {
			begun := time.Now()
			seen := k.look(far)
			seen.Killer, seen.Seconds = k.name, time.Since(begun).Seconds()
			assert.Positive(t, seen.Looked)
			assert.Empty(t, seen.By, seen.Text)
			line, err := json.Marshal(seen)
			assert.NoError(t, err)
			fmt.Println(string(line))
		})
	}
}
