// Package killers_test checks that the checks work. Each way in which this project examines a turn is a
// killer. A killer is run against the engine with a seeded mistake, and has to report that something is
// wrong.
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

// budget is how much every killer examines. It is counted and not timed, so that the same mistakes
// are found on every machine.
type budget struct{ scenarios, turns int }

var (
	wholeBudget  = budget{len(scenarios.All()), 2000}
	sampleBudget = budget{6, 150}
)

var whole = flag.Bool("whole", false, "look as far as the budget for mutants goes, and not only at a sample")

// killer examines the engine in one way until it finds something wrong.
type killer struct {
	name string
	// unit is what look counts.
	unit string
	look func(budget) seenState
}

// seenState is what a killer found: by is the name of what is wrong and text describes it; both are
// empty if nothing is wrong. Looked is how much it examined.
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

// invariants checks the traces of the scenarios against all invariants.
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

// modelled compares generated turns with the model.
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

// generators runs generated turns twice, replays them and checks them against all
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

// exploration injects a fault at every crossing of the scenarios, one in each run.
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

// verification replays the fixtures, which the engine without a mistake
// recorded.
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

// of returns seen with a finding.
func (seen seenState) of(by string, what ...any) seenState {
	seen.By, seen.Text = by, fmt.Sprintln(what...)
	return seen
}

func subject(s scenarios.Scenario) turn.Subject {
	return turn.Subject{Name: s.Name, Build: func(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return s.Build(scenarios.Outside{Cancel: cancel})
	}}
}

// No killer finds anything wrong with the engine as it is. The binary of a mutant runs this test too, once
// for each killer, and the test then prints what the killer found as a line of
// JSON.
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
