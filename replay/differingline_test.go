package replay_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// wordsForAcme returns the words for one customer, whose name is part of the function's name.
func wordsForAcme() string { return "its limit is surely nine words" }

// The line with the differing text is shown beside the line of the ask. Both are hidden if a rule
// redacts text in them. The line number is shown, however long the path is.
func TestTheLineThatSaysIt(t *testing.T) {
	var trace bytes.Buffer
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(sending("its limit is ten words", true), replay.Record(&trace))))
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
	written := func(rules *redact.Rules) string {
		report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), replay.Live{Config: sending(wordsForAcme(), true), Seams: []string{replay.Executor}, Redact: rules})
		require.NoError(t, err)
		require.NotNil(t, report.Divergence)
		assert.Contains(t, strings.Join(strings.Fields(report.Divergence.String()), " "), " written: "+report.Divergence.Written+" ")
		return report.Divergence.Written
	}
	assert.Regexp(t, `^replay/differingline_test\.go:\d+ \(replay_test\.wordsForAcme\)$`, written(nil))
	assert.NotContains(t, written(&redact.Rules{Patterns: []redact.Pattern{{Kind: "customer", Expr: "(?i)acme"}}}), "Acme")
	long := "internal/agents/customer/support/prompting/systemprompts.go:1234 (prompting.System)"
	assert.Equal(t, "code: a.go:1 (a.A)\nwritten:\n    "+strings.Replace(long, " ", "\n    ", 1), strings.Join(strings.Split((&replay.Divergence{Place: "a.go:1 (a.A)", Written: long}).String(), "\n")[1:5], "\n"))
}
