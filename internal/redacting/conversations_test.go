package redacting_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
)

type closed struct{ bytes.Buffer }

func (*closed) Close() error { return nil }

// What a path finds in one run of a conversation is looked for in its next runs, and not in those of another
// conversation. If nothing says what a conversation is, each run is on its own.
func TestConversationsKnowWhatWasFound(t *testing.T) {
	const number = "4012 8888 8888 1881"
	run := func(named bool, prompts ...string) (traces []string) {
		options := replay.RecordOptions{Redact: &redact.Rules{Paths: []string{"card"}}}
		if named {
			options.Conversation = func(first *adk.Crossing) string { return strings.TrimSuffix(first.Text, "Help.") }
		}
		var files []*closed
		recorder := replay.RecordEach(func(adk.RunInfo) (io.WriteCloser, error) {
			files = append(files, &closed{})
			return files[len(files)-1], nil
		}, options)
		for i, prompt := range prompts {
			runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				if i == 0 {
					h.Log(adk.LevelInfo, "paid", "all is well", map[string]any{"card": number})
				} else {
					h.Log(adk.LevelInfo, "said", `you paid with "`+number+`"`, nil)
				}
				return dc.Ack()
			}}}, recorder)))
			require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: prompt}))
		}
		require.NoError(t, recorder.Err())
		for _, file := range files {
			traces = append(traces, file.String())
		}
		return traces
	}
	traces := run(true, "Help Ada.", "Help Ada.", "Help Grace.")
	assert.NotContains(t, traces[1], number)
	assert.Contains(t, traces[1], `you paid with \"[redacted:card:1]\"`)
	assert.Contains(t, traces[2], number)
	assert.Contains(t, run(false, "Help Ada.", "Help Ada.")[1], number)
	assert.Contains(t, run(true, "Help.", "Help.")[1], number, "of no conversation")
}

// Only the latest secrets of the latest conversations are kept, each secret once.
func TestConversationsAreBounded(t *testing.T) {
	all := redacting.NewConversations(func(first *adk.Crossing) string { return first.Text })
	ada := &adk.Crossing{Text: "ada"}
	assert.Empty(t, all.Begin(ada, "the first of all", "the first of all"))
	assert.Equal(t, []string{"the first of all"}, all.Begin(ada))
	many := make([]string, redacting.MostSecrets)
	for i := range many {
		many[i] = fmt.Sprintf("secret %d", i)
	}
	all.Begin(ada, many...)
	assert.Equal(t, many, all.Begin(ada))
	for i := range redacting.MostConversations - 1 {
		all.Begin(&adk.Crossing{Text: fmt.Sprint(i)})
	}
	assert.Len(t, all.Begin(ada), len(many), "it is the latest now")
	for i := range redacting.MostConversations {
		all.Begin(&adk.Crossing{Text: fmt.Sprint("other ", i)})
	}
	assert.Empty(t, all.Begin(ada))
}

// Several runs of one conversation may be under way concurrently.
func TestConversationsAtOnce(t *testing.T) {
	all := redacting.NewConversations(func(first *adk.Crossing) string { return first.Text })
	var runs sync.WaitGroup
	for i := range 8 {
		runs.Go(func() { all.Begin(&adk.Crossing{Text: "ada"}, fmt.Sprintf("secret %d", i)) })
	}
	runs.Wait()
	assert.Len(t, all.Begin(&adk.Crossing{Text: "ada"}), 8)
}
