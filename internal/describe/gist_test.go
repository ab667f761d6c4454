package describe_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/tracetest"
)

// The gist of a crossing contains the names that appear in the code, and none of its data.
func TestGist(t *testing.T) {
	executor := adk.Seam{Label: adk.LabelExecutor, Name: "model", Iteration: 3}
	for want, x := range map[string]*adk.Crossing{
		"executor/model":               {Kind: adk.KindCall, Seam: executor, Text: "be brief"},
		"executor/model returns":       {Kind: adk.KindReturn, Seam: executor, Outcome: adk.OutcomeError},
		"stash user.name":              {Kind: adk.KindStash, Name: "user.name", Value: "Ann"},
		"stash mood deleted":           {Kind: adk.KindStash, Name: "mood"},
		"remove messages":              {Kind: adk.KindRemove, Collection: adk.Messages, Key: "q1"},
		"store messages":               {Kind: adk.KindStore, Phase: adk.Begin, Collection: adk.Messages},
		"store done":                   {Kind: adk.KindStore, Phase: adk.Done},
		"report-message":               {Kind: adk.KindReportMessage, Name: "a1", Text: "Hello."},
		"report-tool-call weather":     {Kind: adk.KindReportToolCall, Name: "c1", Key: "weather"},
		"wait-for":                     {Kind: adk.KindWaitFor, Phase: adk.Begin, Name: "g1", Text: "may I?"},
		"settle resolved":              {Kind: adk.KindSettle, Name: "g1", Status: adk.GateResolved, Key: "ann"},
		"fork worker":                  {Kind: adk.KindFork, Name: "worker", ID: 7},
		"cancel outside":               {Kind: adk.KindCancel, Key: "outside", Cause: errors.New("gone")},
		"dispatchEnd ack":              {Kind: adk.KindDispatchEnd, Status: adk.StatusAck, N: 2},
		"toolExecutionEnd cold failed": {Kind: adk.KindToolExecutionEnd, IsError: true, Payload: adk.ToolExecutionEnd{ToolName: "cold"}},
		"toolCall":                     {Kind: adk.KindToolCallEvent, Key: "0badc0de"},
		"report-log":                   {Kind: adk.KindReportLog, Key: "info", Name: "progress", Text: "looking"},
		"untold request":               {Kind: adk.KindContained, Name: adk.PassedBy, Text: "localhost: GET /json: enough"},
		"sleep":                        {Kind: adk.KindSleep, Phase: adk.Begin, Duration: 5},
	} {
		assert.Equal(t, want, describe.Gist(x))
	}
}

// Authored returns the words that somebody wrote for a crossing, which tell it from other crossings.
func TestAuthored(t *testing.T) {
	log := adk.LogEvent{Level: adk.LevelInfo, Kind: "progress", Message: "looking"}
	for want, x := range map[string]*adk.Crossing{
		`info progress: "looking"`: {Kind: adk.KindLogEvent, Payload: log},
		"with error: no answer":    {Kind: adk.KindNack, Cause: errors.New("no answer")},
		"":                         {Kind: adk.KindAbort},
		"error: down":              {Kind: adk.KindErrorEvent, Err: errors.New("down")},
	} {
		words, ok := describe.Authored(x)
		assert.True(t, ok)
		assert.Equal(t, want, words)
	}
	_, ok := describe.Authored(&adk.Crossing{Kind: adk.KindStash, Name: "a"})
	assert.False(t, ok)
}

// Every crossing of any run has a gist, which contains no id or text of the run.
func TestGistOfAnyCrossing(t *testing.T) {
	for _, f := range tracetest.AllFixtures(t) {
		fold := state.New()
		for i := range f.Trace.Lines() {
			x := fold.Filled(&f.Trace.Lines()[i].Crossing)
			gist := describe.Gist(x)
			assert.NotEmpty(t, gist)
			if describe.NamesID(x) {
				assert.NotContains(t, gist, x.Name, "%s at %d", f.Name, i+1)
			}
			if x.Text != "" {
				assert.NotContains(t, gist, x.Text, "%s at %d", f.Name, i+1)
			}
			_ = fold.Apply(&f.Trace.Lines()[i].Crossing)
		}
	}
}
