package docs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/adk/wrap"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/golden"
)

// reception stands for an agent of a framework, which asks its model by Messages.
type reception struct{ client *http.Client }

func newDesk(client *http.Client) *reception { return &reception{client} }

// Answer asks until the model says something, and looks nothing up.
func (r *reception) Answer(ctx context.Context, question string) (string, error) {
	said := []any{map[string]any{"role": "user", "content": question}}
	for range 3 {
		body, err := json.Marshal(map[string]any{"max_tokens": 64, "messages": said})
		if err != nil {
			return "", err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example/v1/messages", bytes.NewReader(body))
		if err != nil {
			return "", err
		}
		answer, err := r.asked(req)
		if err != nil {
			return "", err
		}
		var results []any
		for _, block := range answer.Content {
			if block.Type == "text" && answer.Stop == "end_turn" && block.Text != "" {
				return block.Text, nil
			}
			if block.Type == "tool_use" {
				results = append(results, map[string]any{"type": "tool_result", "tool_use_id": block.ID, "content": "on its way"})
			}
		}
		if len(results) == 0 || answer.Stop != "tool_use" {
			break
		}
		said = append(said, map[string]any{"role": "assistant", "content": answer.Content}, map[string]any{"role": "user", "content": results})
	}
	return "", errors.New("the model comes to no end")
}

type answered struct {
	Content []struct {
		Type  string          `json:"type"`
		Text  string          `json:"text,omitempty"`
		ID    string          `json:"id,omitempty"`
		Name  string          `json:"name,omitempty"`
		Input json.RawMessage `json:"input,omitempty"`
	}
	Stop string `json:"stop_reason"`
}

func (r *reception) asked(req *http.Request) (a answered, err error) {
	resp, err := r.client.Do(req)
	if err != nil {
		return a, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return a, err
	}
	if resp.StatusCode != http.StatusOK {
		return a, errors.New(resp.Status)
	}
	return a, json.Unmarshal(data, &a)
}

func desk() wrap.Agent {
	model := fakes.NewTransport(fakes.Converse(
		fakes.StreamToolCall("call_1", "lookup", `{"order":17}`),
		fakes.StreamReply("Order 17 is on its way.")))
	client := &http.Client{Transport: adkhttp.NewTransport(model)}
	return wrap.Agent{Name: "desk", Answer: newDesk(client).Answer}
}

// The one that the page begins with has a real client, and nobody to ask here.
func TestFrameworksPageBringsAnAgentIn(t *testing.T) {
	client := &http.Client{Transport: adkhttp.NewTransport(nil)}
	desk := wrap.Agent{Name: "desk", Answer: newDesk(client).Answer} // func(ctx, question) (answer, error)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := io.Discard
	answer, err := desk.Ask(ctx, "Where is order 17?", replay.Record(file))
	assert.Empty(t, answer)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestFrameworksPageReplays(t *testing.T) {
	if updating() {
		t.Skip("a check that updates says nothing: it records again")
	}
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll("testdata/turns", 0o700))
	file, err := os.Create("testdata/turns/oslo.jsonl")
	require.NoError(t, err)
	answer, err := desk().Ask(t.Context(), "Where is order 17?", replay.Record(file))
	require.NoError(t, err)
	require.NoError(t, file.Close())
	assert.Equal(t, "Order 17 is on its way.", answer)

	golden.Replay(t, "testdata/turns", func(string) replay.Live {
		config, turn := desk().Turn("")
		return replay.Live{Config: config, Turn: turn, Seams: []string{replay.Executor}}
	})
}

func TestFrameworksPageExplores(t *testing.T) {
	explore.Test(t, turn.Subject{Name: "desk", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return desk().Turn("Where is order 17?")
	}}, explore.Options{})
}

// The page shows what is run here; what other frameworks call their options is text.
func TestFrameworksPageShowsWhatRuns(t *testing.T) {
	page, err := os.ReadFile("frameworks.md")
	require.NoError(t, err)
	code, err := os.ReadFile("frameworks_test.go")
	require.NoError(t, err)
	ours, within, shown := string(code), strings.ReplaceAll(string(code), "\n\t", "\n"), 0
	for _, b := range blocksOf(page) {
		if b.language == "go" {
			shown++
			assert.True(t, strings.Contains(ours, b.content) || strings.Contains(within, b.content), "the page has\n%s", b.content)
		}
	}
	assert.Equal(t, 5, shown)
}
