package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The output says what was set, what the engine makes of it, and which overrides had no effect.
// The new trace is like any other.
func TestReplaySet(t *testing.T) {
	path := put(t, "turn.jsonl", fixture(t, "tool-round-trip"))
	out := filepath.Join(t.TempDir(), "cold.jsonl")
	require.NoError(t, os.WriteFile(out, []byte("an older one"), 0o600))
	got := adkreplay("replay", path, "--set", "22.result=cold", "--set", "tool/weather.at=2s", "--out", out)
	assert.Equal(t, exitSame, got.code)
	assert.Empty(t, got.err)
	assert.Contains(t, got.out, "set 22.result in tool/weather\n    result.text: \"4 °C, rain\" → \"cold\"\n")
	assert.Contains(t, got.out, `+         tool/weather {"city":"Oslo"} → "cold"`)
	assert.Contains(t, got.out, "answered something else: executor/model#0 at 19")

	got = adkreplay("verify", out)
	assert.Equal(t, exitSame, got.code, got.out)
	got = adkreplay("diff", path, out)
	assert.Equal(t, exitDivergence, got.code)
	assert.Contains(t, got.out, `→ "cold"`)
}

func TestReplayPrintsJSON(t *testing.T) {
	got := adkreplay("replay", "--json", put(t, "turn.jsonl", fixture(t, "tool-round-trip")), "--set", "22.result=cold")
	assert.Equal(t, exitSame, got.code)
	var document struct {
		Set []struct {
			Path    string
			Reached bool
		}
		Diff       struct{ Crossings struct{ Equal, Changed int } }
		AsRecorded []struct{ Seam, Was string }
		Unanswered []any
		ExitCode   *int
	}
	require.NoError(t, json.Unmarshal([]byte(got.out), &document))
	require.Len(t, document.Set, 1)
	assert.Equal(t, "22.result", document.Set[0].Path)
	assert.True(t, document.Set[0].Reached)
	assert.Equal(t, 49, document.Diff.Crossings.Equal)
	assert.Equal(t, 1, document.Diff.Crossings.Changed)
	require.Len(t, document.AsRecorded, 1)
	assert.Equal(t, "answered", document.AsRecorded[0].Was)
	assert.NotNil(t, document.Unanswered)
	require.NotNil(t, document.ExitCode)

	got = adkreplay("replay", "--json", "absent.jsonl", "--set", "22.result=cold")
	assert.Equal(t, exitUnreadable, got.code)
	assert.JSONEq(t, `{"error":"absent.jsonl: no such file or directory","exitCode":3}`, got.out)
}

// Errors end with their exit codes, and nothing is written.
func TestReplayFailures(t *testing.T) {
	path := put(t, "turn.jsonl", fixture(t, "tool-round-trip"))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	half := filepath.Join(t.TempDir(), "half.jsonl")
	require.NoError(t, os.WriteFile(half, whole[:len(whole)/2], 0o600))
	out := filepath.Join(t.TempDir(), "out.jsonl")
	refuses(t, "replay", out, []misuse{
		{[]string{}, exitUsage, "replay takes one file, and got 0"},
		{[]string{path}, exitUsage, "replay needs --set PATH=VALUE"},
		{[]string{path, "--set", "22.result"}, exitUsage, `--set: "22.result" has no value`},
		{[]string{path, "--set", "=cold"}, exitUsage, "has no path"},
		{[]string{path, "--set", "15.digest=1", "--out", out}, exitUsage, "--set 15.digest: digest of state is the engine's own"},
		{[]string{path, "--set", "1.prompt=null", "--out", out}, exitUsage, "E_INVALID_TURN_CONTEXT"},
		{[]string{path, "--set", "22.result=cold", "--out", ""}, exitUsage, "--out is empty"},
		{[]string{half, "--set", "3.error=x", "--out", out}, exitUnreadable, half},
		{[]string{path, "--set", "22.result=cold", "--out", filepath.Join(out, "x.jsonl")}, exitInternal, "there is no folder"},
	})
}
