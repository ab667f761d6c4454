package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/stats"
)

// figuresOf are the figures that stats prints as JSON.
func figuresOf(t *testing.T, args ...string) statistics {
	t.Helper()
	var document struct {
		Figures, Before struct{ Traces, Turns, Unreadable int }
		Changes         []stats.Difference
		Failed          []string
		ExitCode        int
		Error           string
	}
	got := adkreplay(append([]string{"stats", "--json"}, args...)...)
	require.NoError(t, json.Unmarshal([]byte(got.out), &document), got.out)
	require.Equal(t, got.code, document.ExitCode)
	return statistics{Figures: &stats.Figures{Traces: document.Figures.Traces, Turns: document.Figures.Turns, Unreadable: document.Figures.Unreadable},
		Changes: document.Changes, Failed: document.Failed, ExitCode: document.ExitCode, Error: document.Error}
}

func TestStats(t *testing.T) {
	round := put(t, "round.jsonl", fixture(t, "tool-round-trip"))
	got := adkreplay("stats", round)
	assert.Equal(t, exitSame, got.code, got.err)
	assert.Contains(t, got.out, "| turns ")
	assert.Contains(t, got.out, "| tools.weather.calls ")
	assert.NotContains(t, got.out, "tools.weather.failed", "what is nothing is not said")
	for line := range strings.Lines(got.out) {
		assert.Len(t, line, len(strings.SplitAfter(got.out, "\n")[0]), "a table: %s", line)
	}
	rows, err := csv.NewReader(strings.NewReader(adkreplay("stats", "--csv", round).out)).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, []string{"figure", "unit", "value"}, rows[0])
	assert.Contains(t, rows, []string{"tools.weather.failed", "number", "0"})
	assert.Equal(t, embeddedTurns(), figuresOf(t).Figures.Turns)
}

// stats compares two folders, and a condition on the change determines the exit code.
func TestStatsOfTwo(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	for file, name := range map[string]string{one + "/a.jsonl": "hello", two + "/a.jsonl": "hello", two + "/deep/b.jsonl": "tool-failure"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, fixture(t, name), 0o600))
	}
	assert.Contains(t, adkreplay("stats", one, two).out, "| turns ")
	result := figuresOf(t, one, two, "--fail-if", "turns > +50%", "--fail-if", "tools.weather.failed > 0", "--fail-if", "traces.unreadable > 0")
	assert.Equal(t, []string{"turns > +50%: it is 2, and was 1", "tools.weather.failed > 0: it is 1"}, result.Failed)
	assert.Equal(t, exitFound, result.ExitCode)
	got := adkreplay("stats", one, two, "--fail-if", "turns > +50%")
	assert.Equal(t, exitFound, got.code)
	assert.Equal(t, "adkreplay: --fail-if turns > +50%: it is 2, and was 1\n", got.err)
	assert.Equal(t, exitSame, adkreplay("stats", one, two, "--fail-if", "turns > +100%").code)
	assert.Contains(t, adkreplay("stats", two, one).out, "(-50.0%)")
}

func TestStatsOfWhatCannotBeRead(t *testing.T) {
	result := figuresOf(t, truncated(t), "--fail-if", "traces.unreadable > 0")
	assert.Equal(t, exitUnreadable, result.ExitCode, "the highest wins")
	assert.Equal(t, 1, result.Figures.Unreadable)
	got := adkreplay("stats", "nosuch.jsonl")
	assert.Equal(t, exitUnreadable, got.code)
	assert.Equal(t, "adkreplay: nosuch.jsonl: no such file or directory\n", got.err)
}

func TestStatsIsRefused(t *testing.T) {
	for says, args := range map[string][]string{
		"got 3":                                  {"a", "b", "c"},
		"argument 1 is empty":                    {""},
		"is on a change":                         {good(t), "--fail-if", "turns > +1"},
		"did you mean tokens.out?":               {good(t), "--fail-if", "token.out > 1"},
		`there is no such figure`:                {good(t), "--fail-if", "cost > 1"},
		"want a figure":                          {good(t), "--fail-if", "tokens.out"},
		"--json and --csv contradict each other": {good(t), "--csv", "--json"},
		"--prices":                               {good(t), "--prices"},
		"- is the standard input, which":         {"-", "-"},
	} {
		got := adkreplay(append([]string{"stats"}, args...)...)
		assert.Equal(t, exitUsage, got.code, args)
		assert.Contains(t, got.err, says)
	}
	assert.Equal(t, exitUsage, figuresOf(t, "a", "b", "c").ExitCode)
	for _, prices := range []string{put(t, "prices.json", []byte("{}")), "nosuch.json"} {
		got := adkreplay("stats", "--prices", prices, good(t))
		assert.Equal(t, exitUnreadable, got.code)
		assert.Contains(t, got.err, "adkreplay: "+prices+": ")
	}
}

// The cost is shown if there are prices.
func TestStatsOfCost(t *testing.T) {
	prices := put(t, "prices.json", []byte(`{"currency":"EUR","models":{"executor/*":{"in":1,"out":2}}}`))
	got := adkreplay("stats", "--prices", prices, good(t), "--fail-if", "cost > 1000", "--fail-if", "cost.unpriced > 0")
	assert.Equal(t, exitSame, got.code, got.err)
	assert.Contains(t, got.out, " EUR |")
}

func TestStatsIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, err strings.Builder
	assert.Equal(t, exitInternal, executeContext(ctx, []string{"stats"}, &out, &err))
	assert.Equal(t, fmt.Sprintf("adkreplay: interrupted: 0 of %d traces were counted\n", embeddedTurns()), err.String())
	assert.Empty(t, out.String())
}
