// Package sdks tests the transport with the client libraries that people use. It is a module of its
// own, so that importers of the main module do not get these libraries.
package sdks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/replay"
)

const key = "a-key-that-nobody-is-to-see"

// answer is one answer of a server.
type answer struct {
	status int
	kind   string
	body   string
	header http.Header
}

const (
	ofJSON   = "application/json"
	ofEvents = "text/event-stream"
)

// server returns a server that gives these answers one after the other, and then repeats the last one.
func server(t *testing.T, answers ...answer) *httptest.Server {
	t.Helper()
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		said := answers[min(int(asked.Add(1)), len(answers))-1]
		for name, values := range said.header {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Type", said.kind)
		w.WriteHeader(max(said.status, 200))
		for _, event := range strings.SplitAfter(said.body, "\n\n") {
			_, _ = io.WriteString(w, event)
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// said is a client as its users call it: it asks a server and returns the result.
type said func(ctx context.Context, client *http.Client, url string) (string, error)

func askOpenAI(ctx context.Context, client *http.Client, url string) (string, error) {
	c := openai.NewClient(openaioption.WithHTTPClient(client), openaioption.WithBaseURL(url), openaioption.WithAPIKey(key), openaioption.WithMaxRetries(2))
	answer, err := c.Chat.Completions.New(ctx, completion)
	if err != nil || answer == nil { // the answer is nil for a body that is null
		return "", err
	}
	return fmt.Sprint(len(answer.Choices), answer.RawJSON(), answer.Usage.TotalTokens), nil
}

var completion = openai.ChatCompletionNewParams{Model: openai.ChatModelGPT4o, Temperature: openai.Float(0.5),
	Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("Be kind."), openai.UserMessage("<Hello> & goodbye")}}

func streamOpenAI(ctx context.Context, client *http.Client, url string) (string, error) {
	c := openai.NewClient(openaioption.WithHTTPClient(client), openaioption.WithBaseURL(url), openaioption.WithAPIKey(key))
	stream := c.Chat.Completions.NewStreaming(ctx, completion)
	defer stream.Close()
	var whole openai.ChatCompletionAccumulator
	chunks := 0
	for stream.Next() {
		whole.AddChunk(stream.Current())
		chunks++
	}
	text := fmt.Sprint(chunks, " ", whole.Usage.TotalTokens)
	for _, choice := range whole.Choices {
		text += choice.Message.Content
		for _, call := range choice.Message.ToolCalls {
			text += call.ID + call.Function.Name + call.Function.Arguments
		}
	}
	return text, stream.Err()
}

func askResponses(ctx context.Context, client *http.Client, url string) (string, error) {
	c := openai.NewClient(openaioption.WithHTTPClient(client), openaioption.WithBaseURL(url), openaioption.WithAPIKey(key), openaioption.WithMaxRetries(2))
	answer, err := c.Responses.New(ctx, asking)
	if err != nil || answer == nil {
		return "", err
	}
	return saidInResponse(answer), nil
}

var asking = responses.ResponseNewParams{Model: openai.ChatModelGPT4o, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Hello")}}

func saidInResponse(answer *responses.Response) string {
	text := string(answer.Status)
	for _, item := range answer.Output {
		text += " " + item.CallID + " " + item.Name + " " + item.Arguments.OfString
		for _, part := range item.Content {
			text += part.Text + part.Refusal
		}
	}
	return text
}

func streamResponses(ctx context.Context, client *http.Client, url string) (string, error) {
	c := openai.NewClient(openaioption.WithHTTPClient(client), openaioption.WithBaseURL(url), openaioption.WithAPIKey(key))
	stream := c.Responses.NewStreaming(ctx, asking)
	defer stream.Close()
	var text, whole string
	for stream.Next() {
		event := stream.Current()
		text += event.Delta
		if event.Response.Status != "" && event.Response.Status != "in_progress" {
			whole = saidInResponse(&event.Response)
		}
	}
	return text + " " + whole, stream.Err()
}

var message = anthropic.MessageNewParams{Model: "claude-sonnet-4-5", MaxTokens: 64,
	Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Hello"))}}

func askAnthropic(ctx context.Context, client *http.Client, url string) (string, error) {
	c := anthropic.NewClient(anthropicoption.WithHTTPClient(client), anthropicoption.WithBaseURL(url), anthropicoption.WithAPIKey(key), anthropicoption.WithMaxRetries(2))
	answer, err := c.Messages.New(ctx, message)
	if err != nil || answer == nil {
		return "", err
	}
	return fmt.Sprint(len(answer.Content), answer.RawJSON(), answer.StopReason), nil
}

func streamAnthropic(ctx context.Context, client *http.Client, url string) (string, error) {
	c := anthropic.NewClient(anthropicoption.WithHTTPClient(client), anthropicoption.WithBaseURL(url), anthropicoption.WithAPIKey(key))
	stream := c.Messages.NewStreaming(ctx, message)
	defer stream.Close()
	var whole anthropic.Message
	for stream.Next() {
		if err := whole.Accumulate(stream.Current()); err != nil {
			return fmt.Sprint(whole.Content), err
		}
	}
	text := string(whole.StopReason)
	for _, block := range whole.Content {
		if text += block.Text + string(block.Input); block.Type == "tool_use" {
			text += " calls " + block.Name + " as " + block.ID
		}
	}
	return text, stream.Err()
}

func google(ctx context.Context, client *http.Client, url string) (*genai.Client, error) {
	return genai.NewClient(ctx, &genai.ClientConfig{APIKey: key, Backend: genai.BackendGeminiAPI, HTTPClient: client, HTTPOptions: genai.HTTPOptions{BaseURL: url, RetryOptions: quickly}})
}

// quickly makes the client retry, which it does not do by default, and soon: it ignores a server's
// Retry-After.
var quickly = &genai.HTTPRetryOptions{Attempts: genai.Ptr[int32](3), InitialDelay: genai.Ptr(0.001), MaxDelay: genai.Ptr(0.001)}

func askGoogle(ctx context.Context, client *http.Client, url string) (string, error) {
	c, err := google(ctx, client, url)
	if err != nil {
		return "", err
	}
	answer, err := c.Models.GenerateContent(ctx, "gemini-2.5-flash", genai.Text("Hello"), nil)
	if err != nil || answer == nil {
		return "", err
	}
	return saidByGoogle(answer), nil
}

// saidByGoogle returns the content of an answer, and why it ended.
func saidByGoogle(answer *genai.GenerateContentResponse) string {
	calls := answer.FunctionCalls()
	if len(calls) == 0 {
		return answer.Text() + finishOf(answer) // Text logs a warning if there are calls
	}
	var text string
	for _, call := range calls {
		args, _ := json.Marshal(call.Args)
		text += call.Name + string(args)
	}
	return text + finishOf(answer)
}

func finishOf(answer *genai.GenerateContentResponse) (text string) {
	for _, candidate := range answer.Candidates {
		if candidate.FinishReason != genai.FinishReasonStop {
			text += string(candidate.FinishReason)
		}
	}
	return text
}

func streamGoogle(ctx context.Context, client *http.Client, url string) (string, error) {
	c, err := google(ctx, client, url)
	if err != nil {
		return "", err
	}
	text := ""
	for part, err := range c.Models.GenerateContentStream(ctx, "gemini-2.5-flash", genai.Text("Hello"), nil) {
		if err != nil {
			return text, err
		}
		text += saidByGoogle(part) + "|"
	}
	return text, nil
}

var (
	busy = answer{status: 429, kind: ofJSON, body: `{"error":{"message":"slow down","type":"rate_limit"}}`, header: http.Header{"Retry-After-Ms": {"1"}}}
	bad  = answer{status: 400, kind: ofJSON, body: `{"error":{"message":"no such model","type":"invalid_request_error","code":400,"status":"INVALID_ARGUMENT"}}`}

	openAIAnswer = answer{kind: ofJSON, body: `{"id":"c1","object":"chat.completion","created":1,"model":"gpt-4o","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hi."}}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`}
	openAIStream = answer{kind: ofEvents, body: `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-4o","choices":[{"index":0,"delta":{"role":"assistant","content":"H"}}]}

data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-4o","choices":[{"index":0,"delta":{"content":"i."},"finish_reason":"stop"}]}

data: [DONE]

`}
	anthropicAnswer = answer{kind: ofJSON, body: `{"id":"m1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Hi."}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`}
	anthropicStream = answer{kind: ofEvents, body: `event: message_start
data: {"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"usage":{"input_tokens":1,"output_tokens":0}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}

event: message_stop
data: {"type":"message_stop"}

`}
	googleAnswer = answer{kind: ofJSON, body: "{\n  \"candidates\": [{\"content\": {\"parts\": [{\"text\": \"Hi.\"}], \"role\": \"model\"}, \"finishReason\": \"STOP\"}]\n}\n"}
	googleStream = answer{kind: ofEvents, body: "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"H\"}],\"role\": \"model\"}}]}\r\n\r\ndata: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"i.\"}],\"role\": \"model\"},\"finishReason\": \"STOP\"}]}\r\n\r\n"}
)

// WLD-1, WLD-2, WLD-4, WLD-7: each client sees the same through the transport as without it, retries and
// errors included. Its key is nowhere in the trace, and a replay gives it the same again without asking
// anybody.
func TestClients(t *testing.T) {
	cases := []struct {
		name    string
		ask     said
		answers []answer
		asks    int
	}{
		{"openai", askOpenAI, []answer{openAIAnswer}, 1},
		{"openai streams", streamOpenAI, []answer{openAIStream}, 1},
		{"openai retries", askOpenAI, []answer{busy, busy, openAIAnswer}, 3},
		{"openai fails", askOpenAI, []answer{bad}, 1},
		{"anthropic", askAnthropic, []answer{anthropicAnswer}, 1},
		{"anthropic streams", streamAnthropic, []answer{anthropicStream}, 1},
		{"anthropic retries", askAnthropic, []answer{busy, anthropicAnswer}, 2},
		{"anthropic fails", askAnthropic, []answer{bad}, 1},
		{"genai", askGoogle, []answer{googleAnswer}, 1},
		{"genai streams", streamGoogle, []answer{googleStream}, 1},
		{"genai fails", askGoogle, []answer{bad}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want, wantErr := c.ask(t.Context(), &http.Client{}, server(t, c.answers...).URL)
			held(t, c.ask, server(t, c.answers...).URL, want, wantErr, c.asks)
		})
	}
}

// held records a client that asks, and replays it.
func held(t *testing.T, ask said, url, want string, wantErr error, asks int) {
	t.Helper()
	base := http.DefaultTransport
	run := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		got, err := ask(ctx, &http.Client{Transport: adkhttp.NewTransport(base)}, url)
		assert.Equal(t, want, got)
		assert.Equal(t, wantErr != nil, err != nil, "%v", err)
		if _, err := h.ReportMessage("m", got, true); err != nil {
			return err
		}
		return dc.Ack()
	}
	var trace bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: run}}, replay.Record(&trace)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
	assert.Equal(t, asks, strings.Count(trace.String(), `"kind":"ask","phase":"begin"`))
	assert.NotContains(t, trace.String(), key)
	closesAll(t, trace.Bytes())

	base = roundTrip(func(*http.Request) (*http.Response, error) {
		assert.Fail(t, "the world was asked")
		return nil, errors.New("nobody is there")
	})
	report, err := replay.Verify(t.Context(), &trace, replay.LiveExecutor(run))
	require.NoError(t, err)
	assert.Nil(t, report.Divergence, "%s", report)
}

// closesAll checks the recording of a client for likely mistakes: a body that nobody closes, and
// work that outlives its seam call.
func closesAll(t *testing.T, trace []byte) {
	t.Helper()
	e, err := property.Examine(bytes.NewReader(trace))
	require.NoError(t, err)
	for _, h := range e.Hints {
		assert.NotContains(t, []string{"unclosed-answer", "plain-goroutines"}, h.Advice, "%s", h)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// cassettes is the folder of recorded conversations of others, which is next to the project on some
// machines.
const cassettes = "../../../shared/cassettes"

// WLD-2, WLD-4: the answers of real servers come through unchanged to the byte.
func TestRecordedConversations(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(cassettes, "*.json"))
	if len(files) == 0 {
		t.Skip("there are no recorded conversations in " + cassettes)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var cassette struct {
				Interactions []struct {
					Response struct {
						Status      int
						ContentType string
						Body        string
					}
				}
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, &cassette))
			for _, one := range cassette.Interactions {
				said := answer{status: one.Response.Status, kind: one.Response.ContentType, body: one.Response.Body}
				for _, ask := range []client{{"plain", askPlainly}, {"openai", streamOpenAI}} {
					if ask.name == "openai" && (said.status != 200 || !strings.HasPrefix(said.kind, ofEvents)) {
						continue
					}
					want, wantErr := ask.ask(t.Context(), &http.Client{}, server(t, said).URL)
					held(t, ask.ask, server(t, said).URL, want, wantErr, 1)
				}
			}
		})
	}
}

// client is one that reads a recorded conversation.
type client struct {
	name string
	ask  said
}

func askPlainly(ctx context.Context, client *http.Client, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"model":"m"}`))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.Status + string(body), err
}

// WLD-8: there is no back-off before a retry whose answer is served. So a replay takes no time, whatever the server
// said and however long the clients waited when recorded, and the trace has what the server said.
func TestServedRetriesDoNotWait(t *testing.T) {
	refusals := map[string]answer{
		"429 with seconds":      {status: 429, kind: ofJSON, body: busy.body, header: http.Header{"Retry-After": {"30"}}},
		"429 with milliseconds": {status: 429, kind: ofJSON, body: busy.body, header: http.Header{"Retry-After-Ms": {"20000"}}},
		"500":                   {status: 500, kind: ofJSON, body: `{"error":{"message":"broken"}}`},
		"503 with a date":       {status: 503, kind: ofJSON, body: `{}`, header: http.Header{"Retry-After": {"Sat, 01 Jan 2000 00:00:40 GMT"}}},
		"408":                   {status: 408, kind: ofJSON, body: `{}`},
		"409":                   {status: 409, kind: ofJSON, body: `{}`},
	}
	for name, first := range refusals {
		for _, c := range []struct {
			name string
			ask  said
			last answer
		}{
			{"openai", askOpenAI, openAIAnswer}, {"openai streams", streamOpenAI, openAIStream},
			{"anthropic", askAnthropic, anthropicAnswer}, {"anthropic streams", streamAnthropic, anthropicStream},
		} {
			t.Run(name+" "+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { servedWithoutWait(t, c.ask, first, first, c.last) })
			})
		}
	}
}

// servedWithoutWait records a client that retries, in the time of a synctest bubble, and
// replays it.
func servedWithoutWait(t *testing.T, ask said, answers ...answer) {
	asked := 0
	base := http.RoundTripper(roundTrip(func(req *http.Request) (*http.Response, error) {
		now := answers[asked]
		asked++
		header := now.header.Clone()
		if header == nil {
			header = http.Header{}
		}
		header.Set("Content-Type", now.kind)
		return &http.Response{StatusCode: max(now.status, 200), Header: header, Body: io.NopCloser(strings.NewReader(now.body)), ContentLength: -1, Request: req}, nil
	}))
	run := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		got, err := ask(ctx, &http.Client{Transport: adkhttp.NewTransport(base)}, "https://api.example")
		require.NoError(t, err)
		if _, err := h.ReportMessage("m", got, true); err != nil {
			return err
		}
		return dc.Ack()
	}
	var trace bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: run}}, replay.Record(&trace)))
	require.NoError(t, err)
	begun := time.Now()
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
	assert.Positive(t, time.Since(begun), "the client waits before it tries again")
	assert.Equal(t, len(answers), asked)
	for name, values := range answers[0].header {
		assert.Contains(t, trace.String(), fmt.Sprintf("%q:%q", strings.ToLower(name), values[0]))
	}
	assert.NotContains(t, trace.String(), `"retry-after-ms":"0"`)

	begun = time.Now()
	report, err := replay.Verify(t.Context(), &trace, replay.LiveExecutor(run))
	require.NoError(t, err)
	assert.Nil(t, report.Divergence, "%s", report)
	assert.Zero(t, time.Since(begun), "and none where nobody is asked")
	assert.Equal(t, len(answers), asked)
}
