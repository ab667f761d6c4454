package explore

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/internal/oddtext"
	"github.com/adkreplay/adkreplay/property/internal/oracle"
	"github.com/adkreplay/adkreplay/property/internal/wanted"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file changes the results of tools: a search finds nothing, a page is long, a text has
// unexpected characters.

// The reasons why the result of a tool cannot be changed.
const (
	onlyTexts  = "only a tool that gives a text can give another one"
	isItsShape = "what it gives is JSON, and its shape the tool's own"
)

// refusesResult allows another text if a tool returns one.
func (s *faultPoint) refusesResult() string {
	if !s.isSeam() || s.seam.Label != adk.LabelTool || s.x.Outcome != adk.OutcomeOK || !s.guarded || len(oracle.Text(s.x.Result)) < 2 {
		return onlyTexts
	}
	return ""
}

// refusesText allows a changed text that need not keep the shape of JSON.
func (s *faultPoint) refusesText() string {
	if why := s.refusesResult(); why != "" {
		return why
	}
	if json.Valid([]byte(oracle.Text(s.x.Result))) {
		return isItsShape
	}
	return ""
}

// refusesMore allows a longer text, which keeps the shape of JSON.
func (s *faultPoint) refusesMore() string {
	if why := s.refusesResult(); why != "" {
		return why
	}
	if text := oracle.Text(s.x.Result); json.Valid([]byte(text)) && oddtext.With(text, "") == text {
		return isItsShape
	}
	return ""
}

// changedResult returns the result of a tool's call, changed by the fault that is planned for the
// call.
func (a *attempt) changedResult(call int, at string, result adk.ToolResult) adk.ToolResult {
	for i := range a.faults {
		if f := &a.faults[i]; f.moment == changed && a.strikes(f, call, at, wanted.What{}) {
			a.fire(f, 0)
			text := oracle.Text(result)
			if a.plain {
				result = adk.Text(oddtext.With(text, oddtext.Plain))
			} else {
				result = a.anotherText(f.Kind, text)
			}
		}
	}
	return result
}

// anotherText returns changedText as a tool result. The text may be long and is the same in many
// runs, so the last one is cached.
func (a *attempt) anotherText(kind turn.FaultKind, text string) adk.ToolResult {
	if known := a.another; known.result == nil || known.kind != kind || known.of != text {
		a.another = otherResult{kind, text, adk.Text(changedText(kind, text))}
	}
	return a.another.result
}

// otherResult is a tool result that replaces another text.
type otherResult struct {
	kind   turn.FaultKind
	of     string
	result adk.ToolResult
}

// changesTexts reports whether the schedule changes a text that is said or returned.
func (n candidate) changesTexts() bool {
	return n.input.Kind == turn.Said || n.input.Kind == turn.OddPrompt || slices.ContainsFunc(n.faults, func(f planned) bool { return f.Kind.OfResult() })
}

// doubtChecks turns violations of checks in schedules that change texts into hints, if the check
// also fails with a harmless change: then the check only knows the usual text.
func (e *exploring) doubtChecks() {
	e.result.Violations = slices.DeleteFunc(e.result.Violations, func(b Breach) bool {
		if b.Invariant != checkGiven || !b.from.changesTexts() || e.over() {
			return false
		}
		n := b.from
		n.plain = true
		var t tried
		e.workers[0].runAnd(n, false, false, func(a *attempt, s *stall) {
			if s == nil || s.kind == crashed {
				t = e.judge(a, n, s)
			}
		})
		knows := slices.ContainsFunc(append(t.violations, t.hints...), func(v property.Violation) bool { return v.Invariant == checkGiven })
		if knows {
			e.result.Hints = append(e.result.Hints, b)
		}
		return knows
	})
}

// changedText returns the text that replaces the result of a tool.
func changedText(kind turn.FaultKind, text string) string {
	switch kind {
	case turn.ResultEmpty:
		return ""
	case turn.ResultCut:
		half := len(text) / 2
		for half > 0 && !utf8.RuneStart(text[half]) {
			half--
		}
		return text[:half]
	case turn.ResultLong:
		return oddtext.With(text, oddtext.Long)
	}
	return text + "\n" + strings.Join(oddtext.Messages, "\n")
}
