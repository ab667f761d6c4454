package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
)

// The tests of this file run turns on answers of real providers, which are kept beside the module
// and not in it.
const cassettes = "../../shared/cassettes"

// realInput is a recorded conversation, with a change of one token and the place where a replay
// must find the change.
type realInput struct {
	file string
	// says is what the model finally says, or how that begins.
	says string
	// wholeRequests reports whether the requests have the form that this executor makes.
	wholeRequests bool
	changes       []change
}

type change struct {
	name     string
	old, new string
	class    replay.Class // empty if nothing differs
	seam     string
	field    string
	want     string
	got      string
}

var realInputs = []realInput{
	{"cagent-TestExec_OpenAI_ToolCall.json", "1", true, []change{
		{"argument", `"arguments":"working"`, `"arguments":"sleeping"`, replay.ChangedInput, "executor/chat#0", "args.path",
			`"testdata/working_dir"`, `"testdata/sleeping_dir"`},
		{"answer", `"content":"1"`, `"content":"2"`, replay.ChangedInput, "executor/chat#1", "delta", `"1"`, `"2"`},
	}},
	{"cagent-TestExec_Mistral_ToolCall.json", "1", true, []change{
		// The model gives each call another id; ids are compared up to renaming.
		{name: "call id", old: `"id":"D9WYdiHxV"`, new: `"id":"D9WYdiHxW"`},
		{"answer", `"content":"1"`, `"content":"2"`, replay.ChangedInput, "executor/chat#1", "delta", `"1"`, `"2"`},
	}},
	{"langchaingo-TestWithStreaming.json", "Sure! Pomeranians are a breed of dog", false, []change{
		{"answer", `"content":" family"`, `"content":" familia"`, replay.ChangedInput, "executor/chat#0", "delta", `" family"`, `" familia"`},
	}},
}

// recordings are the ways to record a turn:
// as in a test, and as in production.
var recordings = []struct {
	name   string
	config func(adk.Config, adk.Probe) adk.Config
}{
	{"fixed clock", func(c adk.Config, p adk.Probe) adk.Config { return fakes.Deterministic(c, p) }},
	{"system clock", func(c adk.Config, p adk.Probe) adk.Config { c.Probe = p; return c }},
}

// Turns on real streams replay, both scripted and with a live executor that asks again. A changed
// token is found at the place where it changed.
func TestRealInput(t *testing.T) {
	if _, err := os.Stat(cassettes); err != nil {
		t.Skipf("there are no recorded conversations: %v", err)
	}
	for _, input := range realInputs {
		for _, recording := range recordings {
			t.Run(input.file+"/"+recording.name, func(t *testing.T) {
				r := recordReal(t, input, recording.config)
				t.Run("scripted", r.verifyScripted)
				t.Run("live", r.verifyLive)
				for _, c := range input.changes {
					t.Run("changed "+c.name, func(t *testing.T) { r.verifyChanged(t, c) })
				}
				t.Run("cut short", r.verifyCutShort)
				t.Run("refused", r.verifyRefused)
				t.Run("server gone", r.verifyServerGone)
				t.Run("server hangs", r.verifyServerHangs)
			})
		}
	}
}

// realTurn is a recorded turn on a recorded conversation.
type realTurn struct {
	realInput
	conversation fakes.Conversation
	requests     []fakes.ProviderRequest
	tools        []*fakes.Tool
	trace        []byte
	crossings    int
}

func readCassette(t *testing.T, file string) fakes.Conversation {
	t.Helper()
	f, err := os.Open(filepath.Join(cassettes, file))
	require.NoError(t, err)
	defer f.Close()
	c, err := fakes.ReadConversation(f)
	require.NoError(t, err)
	return c
}

// recordReal runs the turn of a conversation against a provider that serves it.
func recordReal(t *testing.T, input realInput, finish func(adk.Config, adk.Probe) adk.Config) *realTurn {
	t.Helper()
	r := &realTurn{realInput: input, conversation: readCassette(t, input.file)}
	provider := fakes.NewProvider(r.conversation)
	defer provider.Close()
	var trace bytes.Buffer
	recorder := replay.Record(&trace)

	config, raw, storage := r.turn(t)
	config.Executor = adk.Executor{Name: "chat", Run: chat{provider.URL(), "model"}.run}
	runner, err := adk.NewRunner(finish(config, recorder))
	require.NoError(t, err)
	runner.Observe(adk.Observability{Error: func(e adk.ErrorEvent) { t.Error(e.Error) }})
	require.NoError(t, runner.Run(t.Context(), raw))

	require.NoError(t, recorder.Err())
	r.requests, r.trace = provider.Requests(), trace.Bytes()
	r.crossings = bytes.Count(r.trace, []byte("\n")) - 2 // without the header and the footer
	r.checkTurn(t, storage)
	return r
}

// checkTurn checks that the turn had the content of the conversation.
func (r *realTurn) checkTurn(t *testing.T, storage *fakes.Storage) {
	t.Helper()
	messages := storage.Messages()
	require.Len(t, messages, 2)
	assert.True(t, strings.HasPrefix(messages[1].Content().String(), r.says), messages[1].Content())
	require.Len(t, r.requests, len(r.conversation.Interactions))
	require.Len(t, storage.ToolCalls(), len(r.requests)-1)
	for i, request := range r.requests {
		if r.wholeRequests {
			recorded := readChatRequest(t, r.conversation.Interactions[i].Request.Body)
			assert.Equal(t, recorded, readChatRequest(t, request.Body))
		}
	}
}

// chatRequest holds what a recorded request and
// a request of this executor have in common.
type chatRequest struct {
	Messages []struct {
		Role       string `json:"role"`
		Content    any    `json:"content"`
		ToolCallID string `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string `json:"id"`
			Type     string `json:"type"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

// readChatRequest parses a request, and normalizes the JSON in it.
func readChatRequest(t *testing.T, body string) (r chatRequest) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(body), &r))
	for i := range r.Tools {
		r.Tools[i].Function.Parameters = sameJSON(t, r.Tools[i].Function.Parameters)
	}
	for _, m := range r.Messages {
		for i := range m.ToolCalls {
			m.ToolCalls[i].Function.Arguments = string(sameJSON(t, []byte(m.ToolCalls[i].Function.Arguments)))
		}
	}
	return r
}

func sameJSON(t *testing.T, text []byte) []byte {
	t.Helper()
	var value any
	require.NoError(t, json.Unmarshal(text, &value))
	same, err := json.Marshal(value)
	require.NoError(t, err)
	return same
}

// turn returns what led to the first request, with tools that give the answers which the last
// request contains.
func (r *realTurn) turn(t *testing.T) (adk.Config, adk.RawTurn, *fakes.Storage) {
	t.Helper()
	interactions := r.conversation.Interactions
	first := readChatRequest(t, interactions[0].Request.Body)
	last := readChatRequest(t, interactions[len(interactions)-1].Request.Body)
	var raw adk.RawTurn
	var history []adk.Record
	for _, m := range first.Messages {
		switch {
		case m.Role == "user":
			history = append(history, userMessage(t, m.Content))
		case raw.SystemPrompt == "":
			raw.SystemPrompt = m.Content.(string)
		default:
			raw.Instructions = append(raw.Instructions, m.Content.(string))
		}
	}
	if raw.SystemPrompt == "" {
		raw.SystemPrompt = "You are a helpful assistant." // a turn needs a prompt
	}
	config := adk.Config{TurnInput: []adk.TurnMiddleware{{Name: "hydrate", Run: hydrateMessages}}}
	for _, described := range first.Tools {
		f := described.Function
		tool := fakes.NewTool(f.Name, f.Description, Answers(last, f.Name)...)
		tool.Init.InputSchema = f.Parameters
		r.tools = append(r.tools, tool)
		config.Tools = append(config.Tools, tool.Tool())
	}
	storage := fakes.NewStorage(history...)
	config.Storage = storage.Storage()
	return config, raw, storage
}

// Answers returns the answers of a tool that a request contains.
func Answers(r chatRequest, tool string) (answers []any) {
	names := map[string]string{}
	for _, m := range r.Messages {
		for _, call := range m.ToolCalls {
			names[call.ID] = call.Function.Name
		}
		if m.Role == "tool" && names[m.ToolCallID] == tool {
			answers = append(answers, m.Content.(string))
		}
	}
	return answers
}

// userMessage is a message of a request; its content is a text or a list of parts.
func userMessage(t *testing.T, content any) *adk.Message {
	t.Helper()
	var texts []string
	switch c := content.(type) {
	case string:
		texts = append(texts, c)
	case []any:
		for _, part := range c {
			texts = append(texts, part.(map[string]any)["text"].(string))
		}
	}
	asked := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	m, err := adk.NewMessage(adk.MessageInit{ID: "asked", Role: adk.RoleUser, Content: strings.Join(texts, "\n"), CreatedAt: asked, UpdatedAt: asked})
	require.NoError(t, err)
	return m
}

func hydrateMessages(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	messages, err := tc.Messages().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if _, err := tc.Messages().Add(m); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}

// verify replays the trace. With a URL, the executor is live and sends its requests there.
func (r *realTurn) verify(ctx context.Context, url string) (*replay.Report, error) {
	var live replay.Live
	if url != "" {
		live = replay.LiveExecutor(chat{url, "model"}.run)
	}
	return replay.Verify(ctx, bytes.NewReader(r.trace), live)
}

// diverges returns the divergence of a replay with a live executor.
func (r *realTurn) diverges(t *testing.T, url string) *replay.Divergence {
	t.Helper()
	report, err := r.verify(t.Context(), url)
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	r.checkTools(t)
	return report.Divergence
}

// checkTools checks that no tool has run except in the recorded turn.
func (r *realTurn) checkTools(t *testing.T) {
	t.Helper()
	calls := 0
	for _, tool := range r.tools {
		calls += tool.Count()
	}
	assert.Equal(t, len(r.requests)-1, calls)
}

func (r *realTurn) verifyScripted(t *testing.T) {
	report, err := r.verify(t.Context(), "")
	require.NoError(t, err)
	assert.Nil(t, report.Divergence)
	assert.Equal(t, r.crossings, report.Crossings)
	assert.Empty(t, report.Live)
	r.checkTools(t)
}

// A live executor sends the recorded requests byte for byte.
func (r *realTurn) verifyLive(t *testing.T) {
	provider := fakes.NewProvider(r.conversation)
	defer provider.Close()
	report, err := r.verify(t.Context(), provider.URL())
	require.NoError(t, err)
	assert.Nil(t, report.Divergence)
	assert.Equal(t, r.crossings, report.Crossings)
	assert.Equal(t, []string{"executor"}, report.Live)
	assert.Equal(t, r.requests, provider.Requests())
	r.checkTools(t)
}

// edited is the conversation with the bodies of the replies edited.
func (r *realTurn) edited(edit func(string) string) fakes.Conversation {
	var c fakes.Conversation
	for _, i := range r.conversation.Interactions {
		i.Response.Body = edit(i.Response.Body)
		c.Interactions = append(c.Interactions, i)
	}
	return c
}

func (r *realTurn) verifyChanged(t *testing.T, c change) {
	provider := fakes.NewProvider(r.edited(func(body string) string { return strings.Replace(body, c.old, c.new, 1) }))
	defer provider.Close()
	if c.class == "" {
		report, err := r.verify(t.Context(), provider.URL())
		require.NoError(t, err)
		assert.Nil(t, report.Divergence)
		return
	}
	d := r.diverges(t, provider.URL())
	assert.Equal(t, c.class, d.Class)
	assert.Equal(t, c.seam, d.Seam)
	require.NotEmpty(t, d.Fields)
	assert.Equal(t, c.field, d.Fields[0].Field)
	assert.Equal(t, c.want, d.Fields[0].Want)
	assert.Equal(t, c.got, d.Fields[0].Got)
}

// A stream that breaks off in the middle is an error of the executor.
func (r *realTurn) verifyCutShort(t *testing.T) {
	provider := fakes.NewProvider(r.edited(func(body string) string { return body[:strings.LastIndex(body, "data: [DONE]")] }))
	defer provider.Close()
	d := r.diverges(t, provider.URL())
	assert.Equal(t, "executor/chat#0", d.Seam)
	assert.Contains(t, d.Got, "unexpected EOF")
}

// A refusal of the provider is an error that holds the status.
func (r *realTurn) verifyRefused(t *testing.T) {
	provider := fakes.NewProvider(fakes.Converse(fakes.Reply{Status: http.StatusTooManyRequests, Body: "slow down"}))
	defer provider.Close()
	d := r.diverges(t, provider.URL())
	assert.Equal(t, "executor/chat#0", d.Seam)
	assert.Contains(t, d.Got, "429 Too Many Requests")
}

func (r *realTurn) verifyServerGone(t *testing.T) {
	provider := fakes.NewProvider(r.conversation)
	provider.Close()
	d := r.diverges(t, provider.URL())
	assert.Equal(t, "executor/chat#0", d.Seam)
	assert.Contains(t, d.Got, "dial tcp") // refused or reset, depending on the system
}

// A replay whose context ends does not wait for an executor that hangs.
func (r *realTurn) verifyServerHangs(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	impatient := errors.New("waited long enough")
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body) // only then does a server notice that its client has left
		cancel(impatient)
		<-request.Context().Done()
	}))
	defer server.Close()
	report, err := r.verify(ctx, server.URL)
	require.ErrorIs(t, err, impatient)
	assert.Less(t, report.Crossings, r.crossings)
}
