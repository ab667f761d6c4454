package chat_test

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
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// reply is how a test's server answers one request.
type reply struct {
	status int // 0 means 200
	kind   string
	header http.Header
	body   string
	from   io.Reader // used instead of body
	err    error     // returned instead of an answer
}

// events is a stream of these data, followed by [DONE].
func events(data ...string) reply {
	return stream(strings.Join(append(data, "[DONE]"), "\n\ndata: "))
}

// stream is a stream of this text, with "data: " before it.
func stream(text string) reply {
	return reply{kind: "text/event-stream", body: "data: " + text + "\n\n"}
}

// plain is an answer that is one JSON document.
func plain(body string) reply { return reply{kind: "application/json", body: body} }

// saying is a plain answer with a text.
func saying(text string) reply {
	return plain(`{"id":"resp-1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":` + quoted(text) + `},"finish_reason":"stop"}]}`)
}

// calling is a plain answer that wants one tool call.
func calling(id, name, args string) reply {
	return plain(`{"id":"resp-1","choices":[{"index":0,"message":{"content":null,"tool_calls":[{"id":` + quoted(id) +
		`,"type":"function","function":{"name":` + quoted(name) + `,"arguments":` + quoted(args) + `}}]},"finish_reason":"tool_calls"}]}`)
}

func refusing(status int, body string, header ...string) reply {
	r := reply{status: status, kind: "application/json", body: body, header: http.Header{}}
	for i := 0; i+1 < len(header); i += 2 {
		r.header.Set(header[i], header[i+1])
	}
	return r
}

func quoted(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw)
}

// server answers requests in the order of replies, and keeps them. It must be used by one goroutine
// at a time.
type server struct {
	replies []reply
	asked   []*http.Request
	bodies  []string
}

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	s.asked, s.bodies = append(s.asked, req), append(s.bodies, string(body))
	if len(s.asked) > len(s.replies) {
		return nil, errors.New("the test has no such answer")
	}
	r := s.replies[len(s.asked)-1]
	if r.err != nil {
		return nil, r.err
	}
	resp := &http.Response{StatusCode: max(r.status, 200), Header: http.Header{}, ContentLength: -1, Request: req}
	for name, values := range r.header {
		resp.Header[name] = values
	}
	if r.kind != "" {
		resp.Header.Set("Content-Type", r.kind)
	}
	if r.from == nil {
		r.from = strings.NewReader(r.body)
	}
	resp.Body = io.NopCloser(r.from)
	return resp, nil
}

// scene describes a turn to play.
type scene struct {
	options   chat.Options
	overrides []chat.Options
	replies   []reply
	records   []adk.Record
	tools     []*adk.Tool
	raw       adk.RawTurn
	storage   *fakes.Storage
	change    func(*adk.Config)
	// heard is called with each report of a message.
	heard func(*adk.DispatchContext)
	// live are the seams that are live in the replay, in addition to the executor.
	live []string
	// alone plays the turn without a replay: live code acts outside of its context there, which no replay can repeat.
	alone bool
	// untold plays the turn without a recording and a replay; bare also registers no listeners.
	untold, bare bool
}

// played is the outcome of a scene.
type played struct {
	*server
	current  *adk.DispatchContext
	storage  *fakes.Storage
	logs     []adk.LogEvent
	reports  []string
	toolRuns int
	failures []error
	end      adk.DispatchEnd
	trace    []byte
}

// play plays a turn, and then replays it with the executor live: the replay has the same outcome, and
// makes no request.
func play(t *testing.T, sc scene) *played {
	t.Helper()
	var p played
	playOn(t, &p, sc)
	return &p
}

// playOn is play with an outcome that the test can read while the turn runs.
func playOn(t *testing.T, p *played, sc scene) {
	t.Helper()
	p.server, p.storage = &server{replies: sc.replies}, sc.storage
	if p.storage == nil {
		p.storage = fakes.NewStorage(sc.records...)
	}
	if sc.options.Model == "" {
		sc.options.Model = "m"
	}
	if sc.options.Transport == nil {
		sc.options.Transport = p.server
	}
	if sc.raw.SystemPrompt == "" {
		sc.raw.SystemPrompt = "You help."
	}
	adapter, err := chat.New(sc.options)
	require.NoError(t, err)
	config := adk.Config{Executor: adapter.Executor("model", sc.overrides...), Storage: p.storage.Storage(), Tools: sc.tools,
		TurnInput: []adk.TurnMiddleware{tracetest.Loading(adk.Messages, adk.Thoughts, adk.ToolCalls)}}
	// Nothing bounds a dispatch: one that no option acks is acked after its last answer.
	config.DispatchOutput = []adk.DispatchMiddleware{{Name: "stop", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		if dc.Iteration() >= len(sc.replies)-1 && !dc.IsSignalled() {
			return dc.Ack()
		}
		next(ctx)
		return nil
	}}}
	if sc.change != nil {
		sc.change(&config)
	}
	run := config.Executor.Run
	config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		p.current = dc
		return run(ctx, dc, h)
	}
	var recorded bytes.Buffer
	if !sc.bare {
		var probes []adk.Probe
		if !sc.untold {
			probes = append(probes, replay.Record(&recorded))
		}
		config = fakes.Deterministic(config, probes...)
	}
	runner, err := adk.NewRunner(config)
	require.NoError(t, err)
	p.listen(runner)
	if sc.heard != nil {
		runner.On(adk.Functional{Message: func(adk.MessageEvent) { sc.heard(p.current) }})
	}
	require.NoError(t, runner.Run(t.Context(), sc.raw))
	p.trace = recorded.Bytes()
	if !sc.alone && !sc.untold && !sc.bare {
		asked := len(p.asked)
		report, err := replay.Verify(t.Context(), bytes.NewReader(p.trace), replay.Live{Config: config, Seams: append(sc.live, replay.Executor)})
		require.NoError(t, err)
		assert.Nil(t, report.Divergence, "%s", report)
		assert.Len(t, p.asked, asked, "a replay asks nobody")
	}
}

func (p *played) listen(runner *adk.Runner) {
	report := func(what, id, delta string, complete bool) {
		line := fmt.Sprintf("%s %s %q", what, id, delta)
		if complete {
			line += " complete"
		}
		p.reports = append(p.reports, line)
	}
	runner.On(adk.Functional{
		Message: func(e adk.MessageEvent) { report("message", e.ID, e.Delta, e.Complete) },
		Thought: func(e adk.ThoughtEvent) { report("thought", e.ID, e.Delta, e.Complete) },
		ToolCall: func(e adk.ToolCallEvent) {
			line := "call " + e.ID + " " + e.Tool
			if e.IsError {
				line += " failed"
			}
			if e.Complete {
				line += " complete"
			}
			p.reports = append(p.reports, line)
		},
	})
	runner.Observe(adk.Observability{
		Log:                func(e adk.LogEvent) { p.logs = append(p.logs, e) },
		Error:              func(e adk.ErrorEvent) { p.failures = append(p.failures, e.Error) },
		DispatchEnd:        func(e adk.DispatchEnd) { p.end = e },
		ToolExecutionStart: func(adk.ToolExecutionStart) { p.toolRuns++ },
	})
}

// log returns the only log of a kind.
func (p *played) log(t *testing.T, kind string) adk.LogEvent {
	t.Helper()
	var found []adk.LogEvent
	for _, one := range p.logs {
		if one.Kind == kind {
			found = append(found, one)
		}
	}
	require.Len(t, found, 1, "logs of the kind %s in %v", kind, p.kinds())
	return found[0]
}

// kinds returns the kinds of all logs, in order.
func (p *played) kinds() (kinds []string) {
	for _, one := range p.logs {
		kinds = append(kinds, one.Kind)
	}
	return kinds
}

// failure returns the only failure of the turn.
func (p *played) failure(t *testing.T) error {
	t.Helper()
	require.Len(t, p.failures, 1)
	return p.failures[0]
}

// acked checks that the turn went well.
func (p *played) acked(t *testing.T) *played {
	t.Helper()
	assert.Empty(t, p.failures)
	assert.Equal(t, adk.StatusAck, p.end.Status)
	return p
}

// texts returns what the storage holds of the model's messages and thoughts.
func (p *played) texts() (all []string) {
	for _, m := range p.storage.Messages() {
		if m.Role() == adk.RoleAssistant {
			all = append(all, "said "+m.Content().String())
		}
	}
	for _, one := range p.storage.Thoughts() {
		all = append(all, "thought "+one.ID()+" "+one.Content().String())
	}
	return all
}

// results returns what the storage holds of tool calls.
func (p *played) results(t *testing.T) (all []string) {
	for _, c := range p.storage.ToolCalls() {
		args, err := json.Marshal(c.Args())
		require.NoError(t, err)
		line := fmt.Sprintf("%s %s%s: %s", c.ID(), c.Tool(), args, resultText(t, c.Results()))
		if c.IsError() {
			line = "failed " + line
		}
		all = append(all, line)
	}
	return all
}

func resultText(t *testing.T, result adk.ToolResult) string {
	switch result := result.(type) {
	case *adk.Tokenizable:
		return result.String()
	case *adk.Media:
		from, err := result.Open(t.Context())
		require.NoError(t, err)
		defer from.Close()
		body, err := io.ReadAll(from)
		require.NoError(t, err)
		return "artifact " + string(body)
	}
	return fmt.Sprintf("%T", result)
}

// messages returns the messages of a request, each as JSON.
func (p *played) messages(t *testing.T, request int) (all []string) {
	t.Helper()
	var body struct{ Messages []json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(p.bodies[request]), &body))
	for _, m := range body.Messages {
		all = append(all, string(m))
	}
	return all
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func must[T any](t testing.TB) func(made T, err error) T {
	return func(made T, err error) T {
		t.Helper()
		require.NoError(t, err)
		return made
	}
}

// asking is a message of a user.
func asking(t testing.TB, text string) *adk.Message {
	return must[*adk.Message](t)(adk.NewMessage(adk.MessageInit{ID: "m1", Role: adk.RoleUser, Content: text, CreatedAt: noon, UpdatedAt: noon}))
}

// tool is a tool that answers with a text, or fails.
func tool(t testing.TB, name string, handle func(args map[string]any) (adk.ToolResult, error), change ...func(*adk.ToolInit)) *adk.Tool {
	init := adk.ToolInit{Name: name, Description: "Does " + name + ".",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","minLength":2}},"required":["city"]}`),
		Handler: func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			return handle(args)
		}}
	for _, c := range change {
		c(&init)
	}
	return must[*adk.Tool](t)(adk.NewTool(init))
}

func weather(t testing.TB) *adk.Tool {
	return tool(t, "weather", func(args map[string]any) (adk.ToolResult, error) {
		return adk.Text(fmt.Sprint("4 °C in ", args["city"])), nil
	})
}

// echo is a server that answers with the user of the request: for requests from many goroutines.
type echo struct{}

func (echo) RoundTrip(req *http.Request) (*http.Response, error) {
	var body struct{ User string }
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		return nil, err
	}
	half := len(body.User) / 2
	r := events(`{"choices":[{"delta":{"content":`+quoted(body.User[:half])+`}}]}`, `{"choices":[{"delta":{"content":`+quoted(body.User[half:])+`}}]}`)
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {r.kind}}, Body: io.NopCloser(strings.NewReader(r.body)), Request: req}, nil
}
