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

// This file changes what tools give: a search finds nothing, a page is long, a text has
// letters that nobody thought of.

// The reasons for which a tool does not give something else.
const (
	onlyTexts  = "only a tool that gives a text can give another one"
	isItsShape = "what it gives is JSON, and its shape the tool's own"
)

// refusesResult allows another text where a tool gives one.
func (s *faultPoint) refusesResult() string {
	if !s.isSeam() || s.seam.Label != adk.LabelTool || s.x.Outcome != adk.OutcomeOK || !s.guarded || len(oracle.Text(s.x.Result)) < 2 {
		return onlyTexts
	}
	return ""
}

// refusesText allows one that has no shape.
func (s *faultPoint) refusesText() string {
	if why := s.refusesResult(); why != "" {
		return why
	}
	if json.Valid([]byte(oracle.Text(s.x.Result))) {
		return isItsShape
	}
	return ""
}

// refusesMore allows one with more in it, in the shape that it has.
func (s *faultPoint) refusesMore() string {
	if why := s.refusesResult(); why != "" {
		return why
	}
	if text := oracle.Text(s.x.Result); json.Valid([]byte(text)) && oddtext.With(text, "") == text {
		return isItsShape
	}
	return ""
}

// changedResult is what a tool gives, with the fault that is planned for its call.
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

// anotherText is changedText as a tool gives it. It may be long, and is the same in many
// runs: it is made once.
func (a *attempt) anotherText(kind turn.FaultKind, text string) adk.ToolResult {
	if known := a.another; known.result == nil || known.kind != kind || known.of != text {
		a.another = otherResult{kind, text, adk.Text(changedText(kind, text))}
	}
	return a.another.result
}

// otherResult is what a tool gave in the place of a text.
type otherResult struct {
	kind   turn.FaultKind
	of     string
	result adk.ToolResult
}

// changesTexts reports whether a schedule has somebody say, or give, another text.
func (n candidate) changesTexts() bool {
	return n.input.Kind == turn.Said || n.input.Kind == turn.OddPrompt || slices.ContainsFunc(n.faults, func(f planned) bool { return f.Kind.OfResult() })
}

// doubtChecks takes what checks say where texts were changed for a hint, if they say
// something too where that means nothing: then it is the usual text that they know.
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

// changedText is another text than a tool gave.
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
