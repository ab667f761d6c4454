package main

import (
	"os"
	"os/exec"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An input beyond a limit ends every command that reads it with the exit code for unreadable
// files. The error names the limit, and the flag raises it.
func TestLimits(t *testing.T) {
	path := put(t, "large.jsonl", fixture(t, "tool-round-trip"))
	for _, c := range []struct {
		limit string
		args  []string
	}{
		{"crossings", []string{"verify", path}},
		{"crossings", []string{"accept", path}},
		{"crossings", []string{"check", path}},
		{"crossings", []string{"lint", path}},
		{"crossings", []string{"show", path}},
		{"crossings", []string{"show", "--at", "20", path}},
		{"crossings", []string{"stats", path}},
		{"crossings", []string{"distil", path}},
		{"crossings", []string{"view", path, "-o", "-"}},
		{"crossings", []string{"export", "--otlp", path}},
		{"crossings", []string{"export", put(t, "asks.jsonl", fixture(t, "asks-a-model"))}},
		{"memory", []string{"diff", path, path}},
		{"memory", []string{"shrink", path}},
		{"memory", []string{"explore", path, "--bound", "1", "--schedules", "1"}},
		{"memory", []string{"replay", path, "--set", "run.prompt=other"}},
	} {
		beyond := adkreplay(append(c.args, "--limit", c.limit+"=10")...)
		assert.Equal(t, exitUnreadable, beyond.code, "%v: %s", c.args, beyond.err)
		assert.Contains(t, beyond.out+beyond.err, "--limit "+c.limit+"=N", "%v", c.args)
		within := adkreplay(append(c.args, "--limit", c.limit+"=1000000")...)
		assert.NotEqual(t, exitUnreadable, within.code, "%v: %s", c.args, within.err)
	}
	for _, wrong := range []string{"crossings", "crossings=many", "crossing=10", "crossings=0"} {
		refused := adkreplay("verify", path, "--limit", wrong)
		assert.Equal(t, exitUsage, refused.code, wrong)
		assert.Contains(t, refused.err, "--limit: ", wrong)
	}
}

// A process that the runtime ends, for example for lack of memory or of stack, does not report
// wrong usage.
func TestCrashesAreNoUsage(t *testing.T) {
	const child = "ADKREPLAY_TEST_CRASH"
	if os.Getenv(child) != "" {
		bound()
		debug.SetMaxStack(1 << 20)
		var deeper func(int) int
		deeper = func(n int) int { return deeper(n+1) + 1 }
		deeper(0)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashesAreNoUsage$")
	cmd.Env = append(os.Environ(), child+"=yes")
	var ended *exec.ExitError
	require.ErrorAs(t, cmd.Run(), &ended)
	assert.NotEqual(t, exitUsage, ended.ExitCode())
}
