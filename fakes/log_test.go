package fakes_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// HLP-6: a script logs as an executor does.
func TestLogStep(t *testing.T) {
	var heard []adk.LogEvent
	in := adk.DispatchInput{
		Name:     "logger",
		Executor: fakes.Script{{fakes.Log(adk.LevelWarn, "budget", "nearly spent", 7), fakes.Ack()}}.Executor("model"),
		Raw: &adk.RawDispatch{SystemPrompt: "Log.", Storage: fakes.NoOpStorage(),
			Observability: adk.Observability{Log: func(e adk.LogEvent) { heard = append(heard, e) }}},
	}
	_, err := adk.Dispatch(t.Context(), in)
	require.NoError(t, err)
	require.Len(t, heard, 1)
	assert.Equal(t, "budget: nearly spent", heard[0].Kind+": "+heard[0].Message)
	assert.Equal(t, 7, heard[0].Payload)
	assert.Equal(t, adk.LevelWarn, heard[0].Level)
}
