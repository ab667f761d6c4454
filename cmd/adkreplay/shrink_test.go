package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/property/turn"
)

func TestParseShrink(t *testing.T) {
	o, err := parseShrink(shrinkOptions{keep: "one-error", file: "a_test.go"}, []string{"a"})
	assert.NoError(t, err)
	assert.Equal(t, shrinkOptions{path: "a", keep: "one-error", file: "a_test.go"}, o)
	_, err = parseShrink(shrinkOptions{}, nil)
	assert.EqualError(t, err, "shrink takes one file, and got 0")
	_, err = parseShrink(shrinkOptions{file: "a.go"}, []string{"a"})
	assert.EqualError(t, err, "-o a.go: the name of a Go test ends in _test.go")
}

// A turn without a fault is not shrunk.
func TestShrinkOfWhatIsRight(t *testing.T) {
	path := good(t)
	assert.Equal(t, outcome{exitSame, "same " + path + ": the turn keeps all invariants, and replays as it ran: there is nothing to shrink\n", ""},
		adkreplay("shrink", path))
	assert.Equal(t, outcome{exitInternal, "", "adkreplay: " + path + ": run again on today's engine, the turn shows no \"turn-bounds\", nor anything else that is wrong\n"},
		adkreplay("shrink", path, "--keep", "turn-bounds"))
}

// A fault that only the recording engine made, or that comes from an edit of the trace, does not
// recur when the turn runs: the turn cannot be shrunk, but is not reported as the same either.
func TestShrinkOfWhatTheTraceAloneShows(t *testing.T) {
	path := divergent(t)
	assert.Equal(t, outcome{exitDivergence, "divergence " + path + ": the trace diverges, changed output at crossing 26, which adkreplay verify shows; " +
		"run again on today's engine, the turn shows nothing that is wrong, and cannot be shrunk\n", ""}, adkreplay("shrink", path))
}

func TestShrinkWhatCannotBeRead(t *testing.T) {
	assert.Equal(t, exitUnreadable, adkreplay("shrink", "nosuch.jsonl").code)
	assert.Equal(t, exitUnreadable, adkreplay("shrink", truncated(t)).code)
	assert.Equal(t, exitUnreadable, adkreplay("shrink", malformed(t)).code)
	assert.Equal(t, exitUsage, adkreplay("shrink").code)
}

// weatherIsWrong reports a finding for every turn that runs the tool weather.
func weatherIsWrong(one turn.Turn) []turn.Finding {
	trace, _, err := one.Trace()
	if err != nil || !bytes.Contains(trace, []byte(`"seam":"tool/weather"`)) {
		return nil
	}
	return []turn.Finding{{Name: "no-weather", Text: "it runs the tool weather"}}
}

// shrunk runs the command with the test's own findings.
func shrunk(ctx context.Context, o shrinkOptions, findings examiner) (string, error) {
	var out, stderr bytes.Buffer
	err := runShrink(ctx, newTerminal(&out, &stderr), o, findings)
	return out.String(), err
}

func TestShrinkARecordedTurn(t *testing.T) {
	path := put(t, "tools.jsonl", fixture(t, "tool-round-trip"))
	test := filepath.Join(t.TempDir(), "no_weather_test.go")
	out, err := shrunk(context.Background(), shrinkOptions{path: path, file: test}, weatherIsWrong)
	require.Error(t, err)
	assert.Equal(t, exitFound, classified(err).code)
	assert.Regexp(t, `^shrunk `+path+`: no-weather, from \d+ operations to 1, of \d+ turns tried\n`, out)
	assert.Contains(t, out, `      execute weather {"city":"Oslo"}`)
	source, err := os.ReadFile(test)
	require.NoError(t, err)
	assert.Contains(t, string(source), "func TestNoWeather(t *testing.T) {")
	assert.Contains(t, string(source), "//\t      execute weather {\"city\":\"Oslo\"}\n")
}

func TestInterruptedShrink(t *testing.T) {
	ctx, interrupt := context.WithCancel(context.Background())
	path := put(t, "tools.jsonl", fixture(t, "tool-round-trip"))
	out, err := shrunk(ctx, shrinkOptions{path: path}, func(one turn.Turn) []turn.Finding {
		defer interrupt()
		return weatherIsWrong(one)
	})
	assert.EqualError(t, err, "interrupted: nothing was shrunk")
	assert.Empty(t, out)
}

func TestChosen(t *testing.T) {
	found := []turn.Finding{{Name: "a"}, {Name: "b"}, {Name: "a"}}
	kept, err := chosen(shrinkOptions{}, found)
	assert.NoError(t, err)
	assert.Equal(t, "a", kept)
	kept, err = chosen(shrinkOptions{keep: "b"}, found)
	assert.NoError(t, err)
	assert.Equal(t, "b", kept)
	_, err = chosen(shrinkOptions{path: "x", keep: "c"}, found)
	assert.EqualError(t, err, `x: run again on today's engine, the turn shows no "c"; it shows a, b`)
}

func TestNamesOfTests(t *testing.T) {
	for path, want := range map[string]string{"lost_message_test.go": "LostMessage", "a/b/x-1_test.go": "X1", "_test.go": "Shrunk", "ß_test.go": "Shrunk", "7_test.go": "7"} {
		assert.Equal(t, want, testName(path), path)
	}
	assert.Equal(t, "myagent_test", packageOf("x/my-agent/lost_test.go"))
	assert.Equal(t, "shrunk7_test", packageOf("x/7/lost_test.go"))
}
