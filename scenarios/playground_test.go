package scenarios_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/transcript"
	"github.com/adkreplay/adkreplay/scenarios"
)

// phases returns what happens in a scenario, grouped by the phases of its turn: the lines of
// "show --phases" without their numbers.
func phases(t *testing.T, name string) []string {
	t.Helper()
	s, found := scenarios.Named(name)
	require.True(t, found)
	var recorded bytes.Buffer
	recorder := replay.Record(&recorded)
	require.NoError(t, s.Run(context.Background(), recorder))
	require.NoError(t, recorder.Err())
	var words bytes.Buffer
	require.NoError(t, transcript.WritePhases(&words, &recorded))
	var lines []string
	for line := range strings.Lines(words.String()) {
		lines = append(lines, regexp.MustCompile(`^ +\d+ +`).ReplaceAllString(strings.TrimRight(line, "\n"), ""))
	}
	return lines
}

// inOrder checks that lines begin with these words, in this order, possibly with other lines
// between them.
func inOrder(t *testing.T, lines []string, words ...string) {
	t.Helper()
	at := 0
	for _, want := range words {
		for at < len(lines) && !strings.HasPrefix(strings.TrimLeft(lines[at], "* "), want) {
			at++
		}
		require.Less(t, at, len(lines), "%q does not come, or not behind those before it, in:\n%s", want, strings.Join(lines, "\n"))
		at++
	}
}

// The turns with which readers learn the phases show the phases that they are meant to show.
func TestPlaygroundPhases(t *testing.T) {
	for name, want := range map[string][]string{
		"minimal": {"turn input", "turnStart", "dispatch · iteration 0", "dispatchStart", "iterationStart 0", "message", "message", "store", "ack", "dispatchEnd dispatch1 ack after 1 iteration",
			"turn output", "turnEnd"},
		"multi-turn-memory": {"turn input", "fetch messages", "add m1", "add m2", "add m3", "add m4", "store", "dispatch · iteration 0", "store", "dispatchEnd"},
		"tool-use": {"turn input", "fetch tools", "register", "register", "dispatch · iteration 0", "iterationStart 0", "toolCall", "toolExecutionStart get_time", "toolExecutionEnd get_time",
			"store call1 get_time", "toolCall", "toolExecutionStart calculate", "toolExecutionEnd calculate", "store call2 calculate", "iterationEnd 0",
			"dispatch · iteration 1", "iterationStart 1", "message", "dispatchEnd dispatch1 ack after 2 iterations"},
		"standing-instructions": {"turn input", "refresh instructions", `add i1 "You are a teacher`, `add i2 "Say nothing`, `add i3 "Answer with`, "dispatch · iteration 0", "state: prompt, 3 instructions"},
		"input-pipeline":        {"turn input", "fetch messages", "add m1", `add m1`, "dispatch · iteration 0", "state"},
	} {
		inOrder(t, phases(t, name), want...)
	}
	for _, line := range phases(t, "minimal") {
		assert.NotContains(t, line, "iterationEnd", "the ack ends the iteration")
	}
}

// What a middleware removes from a message is hidden from the model, and stays in the storage.
func TestInputPipelineRedacts(t *testing.T) {
	lines := strings.Join(phases(t, "input-pipeline"), "\n")
	assert.Contains(t, lines, "I am [EMAIL], or call [PHONE].")
	assert.NotContains(t, lines, "store m1", "nothing of it is stored")
}

// Each turn of a session finds what the earlier turns have stored, two messages each. A new session
// finds nothing.
func TestSessionsRemember(t *testing.T) {
	fetched := regexp.MustCompile(`fetch messages → storage/messages\.fetch(.*)`)
	for range 2 { // the second time in a new session
		var turns [3]bytes.Buffer
		require.NoError(t, scenarios.RememberingTurns(len(turns), func(turn int) adk.Probe { return replay.Record(&turns[turn-1]) }))
		for i := range turns {
			var words bytes.Buffer
			require.NoError(t, transcript.Write(&words, &turns[i]))
			found := fetched.FindStringSubmatch(words.String())
			require.NotNil(t, found, words.String())
			assert.Equal(t, 2*i, strings.Count(found[1], " user ")+strings.Count(found[1], " assistant "), found[1])
			assert.Equal(t, 2, strings.Count(words.String(), "in messages → storage/messages.store"))
			assert.Contains(t, words.String(), fmt.Sprintf("Reply %d.", i+1))
		}
	}
}
