package transcript_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

func phasesOf(t *testing.T, name string) (lines []string) {
	t.Helper()
	recorded, err := fixtures.Traces.ReadFile(name + ".jsonl")
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, transcript.WritePhases(&out, bytes.NewReader(recorded)))
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// Each event is listed under its phase, with the number of its crossing.
func TestPhases(t *testing.T) {
	assert.Equal(t, []string{
		"turn input",
		"     2  * turnStart turn1",
		"     4  fetch messages",
		`     8  add m1 user "What is the weather in Oslo?" to messages`,
		"dispatch · iteration 0",
		"    13  * dispatchStart dispatch1",
		"    14  * iterationStart 0",
		"    15  state: prompt, 1 message (m1), 1 tool (weather)",
		"    18  * toolCall call1 #0666dc0b",
		"    20  * toolExecutionStart weather #0666dc0b",
		"    23  * toolExecutionEnd weather",
		"    26  * toolCall call1 #0666dc0b",
		`    27  store call1 weather {"city":"Oslo"} gave "4 °C, rain" in toolCalls`,
		"    32  * iterationEnd 0, 1 change made in the turn",
		"dispatch · iteration 1",
		"    33  * iterationStart 1",
		"    34  state: prompt, 1 message (m1), 1 tool call (call1), 1 tool (weather)",
		`    37  * message m2 "It is 4 °C and raining in Oslo." complete`,
		`    38  store m2 assistant "It is 4 °C and raining in Oslo." in messages`,
		"    42  ack",
		"    45  * dispatchEnd dispatch1 ack after 2 iterations, 1 change made in the turn",
		"turn output",
		"    47  state before the output: prompt, 2 messages (m1 m2), 1 tool call (call1), 1 tool (weather)",
		"    48  state at the end: prompt, 2 messages (m1 m2), 1 tool call (call1), 1 tool (weather)",
		"    49  * turnEnd turn1",
	}, phasesOf(t, "tool-round-trip"))
}

// A dispatch that user code calls is a phase of its own, under its name.
func TestPhasesOfCalledDispatches(t *testing.T) {
	var headings []string
	for _, line := range phasesOf(t, "sub-agents") {
		if !strings.HasPrefix(line, " ") {
			headings = append(headings, line)
		}
	}
	assert.Equal(t, []string{"turn input", "dispatch · iteration 0", "dispatch researcher · iteration 0", "dispatch · iteration 0",
		"dispatch critic · iteration 0", "dispatch · iteration 0", "dispatch · iteration 1", "turn output"}, headings)
}

// Each crossing of an event has its place in a phase; crossings that only read, wait or continue have none.
func TestInPhases(t *testing.T) {
	for _, kind := range adk.Kinds() {
		if kind.Class() == adk.ClassEvent {
			assert.True(t, transcript.InPhases(kind), kind.String())
		}
	}
	for _, name := range []string{"store", "fetch", "add", "register", "stash", "ack", "nack", "cancel", "state"} {
		assert.True(t, transcript.InPhases(adk.KindByName(name)), name)
	}
	for _, name := range []string{"call", "return", "next", "now", "timer", "piece", "wait", "sleep"} {
		assert.False(t, transcript.InPhases(adk.KindByName(name)), name)
	}
}

// A trace that breaks off has the phases up to its end.
func TestPhasesOfATraceThatBreaksOff(t *testing.T) {
	recorded, err := fixtures.Traces.ReadFile("hello.jsonl")
	require.NoError(t, err)
	var out strings.Builder
	err = transcript.WritePhases(&out, bytes.NewReader(recorded[:len(recorded)-10]))
	assert.ErrorContains(t, err, "truncated")
	assert.Contains(t, out.String(), "turnEnd")
}
