package wrap_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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
)

// clerk stands for an agent of another framework: it has its own loop, and a tool that is a function.
type clerk struct {
	client       *http.Client
	instructions string
}

// Answer asks the model until the model wants no tool.
func (c *clerk) Answer(ctx context.Context, question string) (string, error) {
	messages := []map[string]any{{"role": "system", "content": c.instructions}, {"role": "user", "content": question}}
	for range 8 {
		body, err := json.Marshal(map[string]any{"model": "m-1", "messages": messages})
		if err != nil {
			return "", err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example/v1/chat/completions", bytes.NewReader(body))
		if err != nil {
			return "", err
		}
		said, err := c.asked(req)
		if err != nil {
			return "", err
		}
		if len(said.ToolCalls) == 0 {
			if said.Content == "" {
				return "", errors.New("the model says nothing")
			}
			return said.Content, nil
		}
		messages = append(messages, map[string]any{"role": "assistant", "tool_calls": said.ToolCalls})
		for _, call := range said.ToolCalls {
			var args struct{ Order int }
			if err := json.Unmarshal([]byte(call.Function.Arguments), &args); err != nil {
				return "", err
			}
			messages = append(messages, map[string]any{"role": "tool", "tool_call_id": call.ID, "content": fmt.Sprintf("order %d is on its way", args.Order)})
		}
	}
	return "", errors.New("the model wants tools without end")
}

type said struct {
	Content   string `json:"content"`
	ToolCalls []struct {
		ID       string                           `json:"id"`
		Type     string                           `json:"type"`
		Function struct{ Name, Arguments string } `json:"function"`
	} `json:"tool_calls"`
}

func (c *clerk) asked(req *http.Request) (s said, err error) {
	resp, err := c.client.Do(req)
	if err != nil {
		return s, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return s, err
	}
	var answer struct {
		Choices []struct {
			Message said
			Reason  string `json:"finish_reason"`
		}
	}
	if resp.StatusCode != http.StatusOK {
		return s, fmt.Errorf("the model answers %s", resp.Status)
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return s, err
	}
	if len(answer.Choices) != 1 || answer.Choices[0].Reason != "stop" && answer.Choices[0].Reason != "tool_calls" {
		return s, errors.New("the model has no whole answer")
	}
	return answer.Choices[0].Message, nil
}

// desk wraps the clerk as an agent, with a scripted model.
func desk(instructions string) wrap.Agent {
	model := fakes.NewTransport(fakes.Converse(fakes.StreamToolCall("call_1", "lookup", `{"order":17}`), fakes.StreamReply("Order 17 is on its way.")))
	c := &clerk{&http.Client{Transport: adkhttp.NewTransport(model)}, instructions}
	return wrap.Agent{Name: "desk", Answer: c.Answer}
}

const where = "Where is order 17?"

// An existing agent is recorded while it answers, and its recording is compared with today's agent: an
// unchanged agent does not diverge, and a changed prompt is named.
func TestAWrappedAgentIsReplayed(t *testing.T) {
	var trace bytes.Buffer
	answer, err := desk("Be brief.").Ask(t.Context(), where, replay.Record(&trace))
	require.NoError(t, err)
	assert.Equal(t, "Order 17 is on its way.", answer)
	for instructions, changed := range map[string]bool{"Be brief.": false, "Be very brief.": true} {
		config, raw := desk(instructions).Turn("")
		report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), replay.Live{Config: config, Turn: raw, Seams: []string{replay.Executor}})
		require.NoError(t, err)
		assert.Equal(t, changed, report.Divergence != nil, "%s", report)
		if changed {
			assert.Contains(t, report.String(), "request.body.messages[0].content")
		}
	}
}

// Exploring finds nothing wrong with a careful agent, wherever a turn of it breaks.
func TestAWrappedAgentIsExplored(t *testing.T) {
	explore.Test(t, turn.Subject{Name: "desk", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return desk("Be brief.").Turn(where)
	}}, explore.Options{})
}

// Ask returns the error of whatever went wrong: the agent's own error, a panic, the end of the context, or
// an answer that cannot be stored.
func TestAskFails(t *testing.T) {
	own := errors.New("no clerk is in")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(own)
	answering := func(f func() (string, error)) wrap.Agent {
		return wrap.Agent{Answer: func(context.Context, string) (string, error) { return f() }}
	}
	for name, c := range map[string]struct {
		ctx   context.Context
		agent wrap.Agent
		is    error
		says  string
	}{
		"an error":    {t.Context(), answering(func() (string, error) { return "half", own }), own, ""},
		"a panic":     {t.Context(), answering(func() (string, error) { panic("no clerk") }), nil, "no clerk"},
		"an end":      {ended, answering(func() (string, error) { return "late", nil }), own, ""},
		"no answer":   {t.Context(), answering(func() (string, error) { return "", nil }), nil, "wrap: the agent gave an empty answer"},
		"no function": {t.Context(), wrap.Agent{}, nil, "wrap: Agent.Answer is nil"},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := c.agent.Ask(c.ctx, where, nil)
			assert.Empty(t, answer)
			require.Error(t, err)
			if c.is != nil {
				assert.ErrorIs(t, err, c.is)
			}
			assert.Contains(t, err.Error(), c.says)
		})
	}
}

// Ask refuses an empty question before a turn begins.
func TestAskWithoutAQuestion(t *testing.T) {
	_, err := desk("Be brief.").Ask(t.Context(), "", nil)
	assert.EqualError(t, err, "wrap: the question is empty: want what the user says")
}

// Config makes the agent answer the last message of a user in the storage. Without one there is
// nothing to answer.
func TestConfigAnswersTheLastMessage(t *testing.T) {
	message := func(id string, role adk.Role, text string) adk.Record {
		m, err := adk.NewMessage(adk.MessageInit{ID: id, Role: role, Content: text, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
		require.NoError(t, err)
		return m
	}
	echo := wrap.Agent{Answer: func(_ context.Context, question string) (string, error) { return strings.ToUpper(question), nil }}
	run := func(records ...adk.Record) (failure error, kept []*adk.Message) {
		storage := fakes.NewStorage(records...)
		runner, err := adk.NewRunner(fakes.Deterministic(echo.Config(storage.Storage())))
		require.NoError(t, err)
		raw := adk.RawTurn{SystemPrompt: "Help.", Observability: adk.Observability{Error: func(e adk.ErrorEvent) { failure = e.Error }}}
		require.NoError(t, runner.Run(t.Context(), raw))
		return failure, storage.Messages()
	}
	failure, kept := run(message("1", adk.RoleUser, "one"), message("2", adk.RoleAssistant, "ONE"), message("3", adk.RoleUser, "two"), message("4", adk.RoleAssistant, "wait"))
	require.NoError(t, failure)
	assert.Equal(t, "TWO", kept[len(kept)-1].Content().String())
	failure, kept = run(message("1", adk.RoleAssistant, "one"))
	assert.ErrorContains(t, failure, "no message of a user is in the storage")
	assert.Len(t, kept, 1)
}

func Example() {
	client := &http.Client{Transport: adkhttp.NewTransport(fakes.NewTransport(fakes.Converse(
		fakes.StreamToolCall("call_1", "lookup", `{"order":17}`), fakes.StreamReply("Order 17 is on its way."))))}
	agent := &clerk{client: client, instructions: "You are a clerk."} // of whatever framework

	desk := wrap.Agent{Name: "desk", Answer: agent.Answer}
	var trace bytes.Buffer
	answer, err := desk.Ask(context.Background(), "Where is order 17?", replay.Record(&trace))
	fmt.Println(answer, err)

	config, turn := desk.Turn("")
	report, err := replay.Verify(context.Background(), &trace, replay.Live{Config: config, Turn: turn, Seams: []string{replay.Executor}})
	fmt.Println("diverged:", report.Divergence != nil, err)
	// Output:
	// Order 17 is on its way. <nil>
	// diverged: false <nil>
}
