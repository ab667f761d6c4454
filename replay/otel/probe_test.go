package otel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/otlp"
	"github.com/adkreplay/adkreplay/internal/spans"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/otel"
	replaytrace "github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/scenarios"
)

// watched returns a tracer provider, and an exporter that keeps the spans that have ended.
func watched(t *testing.T) (*sdk.TracerProvider, *tracetest.InMemoryExporter) {
	ended := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(ended))
	t.Cleanup(func() { require.NoError(t, provider.Shutdown(context.Background())) })
	return provider, ended
}

// told is a span in the form that tests compare, whether live or exported.
type told struct {
	Name, Parent string // the parent's name; empty for none
	Kind         int
	Begin, End   int64
	Failed       bool
	Said         map[string]any
	Events       []string
}

// ofTracer are the spans of a tracer.
func ofTracer(stubs tracetest.SpanStubs) (all []told) {
	names := map[trace.SpanID]string{}
	for _, s := range stubs {
		names[s.SpanContext.SpanID()] = s.Name
	}
	for _, s := range stubs {
		one := told{Name: s.Name, Parent: names[s.Parent.SpanID()], Kind: int(s.SpanKind), Begin: s.StartTime.UnixNano(), End: s.EndTime.UnixNano(),
			Failed: s.Status.Code == codes.Error, Said: map[string]any{}}
		for _, kv := range s.Attributes {
			one.Said[string(kv.Key)] = kv.Value.AsInterface()
		}
		for _, e := range s.Events {
			words := fmt.Sprint(e.Name, " ", e.Time.UnixNano())
			for _, kv := range e.Attributes {
				words += fmt.Sprint(" ", kv.Key, "=", kv.Value.AsInterface())
			}
			one.Events = append(one.Events, words)
		}
		all = append(all, one)
	}
	return all
}

// logged keeps the log records that it is given.
type logged struct{ records []sdklog.Record }

func (l *logged) Export(_ context.Context, records []sdklog.Record) error {
	for _, one := range records {
		l.records = append(l.records, one.Clone())
	}
	return nil
}

func (*logged) ForceFlush(context.Context) error { return nil }

func (*logged) Shutdown(context.Context) error { return nil }

// listened returns a logger provider, and the records that it has received.
func listened() (*sdklog.LoggerProvider, *logged) {
	var l logged
	return sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(&l))), &l
}

// event is a log record in the form that tests compare, whether live or exported.
type event struct {
	Name, Within string // the name of its span
	At, Observed int64
	Said         map[string]any
}

// ofLogger are the events of a logger that belong to spans of a tracer.
func ofLogger(t *testing.T, l *logged, stubs tracetest.SpanStubs) (all []event) {
	names := map[trace.SpanID]string{}
	for _, s := range stubs {
		names[s.SpanContext.SpanID()] = s.Name
	}
	for _, r := range l.records {
		require.Equal(t, stubs[0].SpanContext.TraceID(), r.TraceID())
		one := event{r.EventName(), names[r.SpanID()], r.Timestamp().UnixNano(), r.ObservedTimestamp().UnixNano(), map[string]any{}}
		r.WalkAttributes(func(kv attribute.KeyValue) bool {
			one.Said[string(kv.Key)] = valueSaid(kv.Value)
			return true
		})
		all = append(all, one)
	}
	return all
}

// valueSaid converts a value of a logger to the form that plain gives values of OTLP.
func valueSaid(v attribute.Value) any {
	switch v.Type() {
	case attribute.SLICE:
		var all []any
		for _, one := range v.AsSlice() {
			all = append(all, valueSaid(one))
		}
		return list(all)
	case attribute.MAP:
		all := map[string]any{}
		for _, kv := range v.AsMap() {
			all[string(kv.Key)] = valueSaid(kv.Value)
		}
		return all
	}
	return v.AsInterface()
}

// list is a list; it is one of strings if all elements are.
func list(all []any) any {
	texts := []string{}
	for _, one := range all {
		if text, ok := one.(string); ok {
			texts = append(texts, text)
		}
	}
	if len(texts) == len(all) {
		return texts
	}
	return all
}

// ofTrace are the spans and the events that are exported from a trace.
func ofTrace(t *testing.T, recorded []byte, o spans.Options) (all []told, events []event) {
	exported, err := otlp.Export(bytes.NewReader(recorded), replaytrace.Options{}, o)
	require.NoError(t, err)
	names := map[string]string{}
	for _, s := range exported.Spans {
		names[s.SpanID] = s.Name
	}
	for _, e := range exported.Events {
		require.Equal(t, exported.Spans[0].TraceID, e.TraceID)
		one := event{e.EventName, names[e.SpanID], int64(e.Time), int64(e.Observed), map[string]any{}}
		for _, kv := range e.Attributes {
			one.Said[kv.Key] = plain(kv.Value)
		}
		events = append(events, one)
	}
	for _, s := range exported.Spans {
		one := told{Name: s.Name, Parent: names[s.ParentID], Kind: int(s.Kind), Begin: int64(s.Start), End: int64(s.End), Failed: s.Status.Code == 2, Said: map[string]any{}}
		for _, kv := range s.Attributes {
			one.Said[kv.Key] = plain(kv.Value)
		}
		for _, e := range s.Events {
			words := fmt.Sprint(e.Name, " ", int64(e.Time))
			for _, kv := range e.Attributes {
				words += fmt.Sprint(" ", kv.Key, "=", plain(kv.Value))
			}
			one.Events = append(one.Events, words)
		}
		all = append(all, one)
	}
	return all, events
}

func plain(v otlp.Value) any {
	switch {
	case v.String != nil:
		return *v.String
	case v.Bool != nil:
		return *v.Bool
	case v.Int != nil:
		return int64(*v.Int)
	case v.Double != nil:
		return *v.Double
	}
	switch {
	case v.Array != nil:
		var all []any
		for _, one := range v.Array.Values {
			all = append(all, plain(one))
		}
		return list(all)
	case v.List != nil:
		all := map[string]any{}
		for _, kv := range v.List.Values {
			all[kv.Key] = plain(kv.Value)
		}
		return all
	}
	return nil
}

// asksOverHTTP is a turn that asks a service, fails, and asks again, and then asks a model. It
// uses values of every kind, and some that the conventions do not know.
func asksOverHTTP() scenarios.Scenario {
	return scenarios.Scenario{Name: "asks-over-http", Must: scenarios.Ending{Dispatch: adk.StatusAck, Iterations: 1}, Build: func(scenarios.Outside) (adk.Config, adk.RawTurn) {
		const forecast = "http://weather.example:8080/v1/oslo?key=secret"
		asks := []struct {
			method, url, body string
			status            int
			answer            string
		}{
			{http.MethodGet, forecast, "", http.StatusServiceUnavailable, `{"error":"busy"}`},
			{http.MethodGet, forecast, "", http.StatusOK, `{"celsius":4}`},
			{http.MethodPost, "https://api.openai.com/v1/chat/completions", `{"model":"small","temperature":0.5,"messages":[{"role":"user","content":"Oslo?"},{"role":"assistant","tool_calls":[{"id":"c0","function":{"name":"look","arguments":"{\"day\":3,\"wind\":2.5,\"of\":null,\"in\":[],\"at\":{},\"deep\":[1,[\"a\",true]],\"most\":1e400}"}}]}],` +
				`"tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object"}}},{"type":"web_search"},7,null]}`,
				http.StatusOK, `{"id":"c1","model":"small-2026","choices":[{"message":{"role":"assistant","content":"It is \u0000cold."},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":7}}`},
			{http.MethodPost, "https://api.openai.com/v1/embeddings", `{"model":"e","input":["Oslo"]}`, http.StatusOK, `{"data":[]}`},
		}
		next := 0
		client := http.Client{Transport: adkhttp.NewTransport(service(func(r *http.Request) *http.Response {
			return &http.Response{StatusCode: asks[next].status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(asks[next].answer)), Request: r}
		}))}
		execute := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			for next = range asks {
				request, err := http.NewRequestWithContext(ctx, asks[next].method, asks[next].url, strings.NewReader(asks[next].body))
				if err != nil {
					return err
				}
				request.Header.Set("Content-Type", "application/json")
				response, err := client.Do(request)
				if err != nil {
					return err
				}
				_, err = io.Copy(io.Discard, response.Body)
				if err = errors.Join(err, response.Body.Close()); err != nil {
					return err
				}
			}
			return dc.Ack()
		}
		return adk.Config{Executor: adk.Executor{Name: "forecaster", Run: execute}, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Be short."}
	}}
}

type service func(*http.Request) *http.Response

func (s service) RoundTrip(r *http.Request) (*http.Response, error) { return s(r), nil }

// A tracer and a logger receive of a turn exactly what is exported from its trace, with content
// and without: spans of every kind, and an event for each exchange with a model. The name of an
// attribute is in the conventions or is ours; an event has no attributes of ours.
func TestLiveAndExportedAgree(t *testing.T) {
	known := conventions(t)
	kinds, events := map[string]int{}, 0
	for _, s := range append(scenarios.All(), asksOverHTTP()) {
		for _, content := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s content=%v", s.Name, content), func(t *testing.T) {
				provider, ended := watched(t)
				logs, records := listened()
				var recorded bytes.Buffer
				recorder := replay.Record(&recorded)
				require.NoError(t, s.Run(t.Context(), adk.MultiProbe(recorder, otel.NewProbe(otel.Config{Provider: provider, Logs: logs, Agent: "weather", Content: content}))))
				require.NoError(t, recorder.Err())
				live := ofTracer(ended.GetSpans())
				require.NotEmpty(t, live)
				exported, beside := ofTrace(t, recorded.Bytes(), spans.Options{Agent: "weather", Content: content, Events: true})
				assert.Equal(t, live, exported)
				liveBeside := ofLogger(t, records, ended.GetSpans())
				assert.Equal(t, liveBeside, beside)
				asks := 0
				for _, one := range live {
					operation, _ := one.Said["gen_ai.operation.name"].(string)
					kinds[operation]++
					if one.Kind == int(trace.SpanKindClient) && operation != "" && operation != "embeddings" {
						asks++
					}
					for key := range one.Said {
						assert.True(t, known[key] || strings.HasPrefix(key, "adkreplay."), key)
					}
				}
				assert.Len(t, liveBeside, asks)
				for _, one := range liveBeside {
					events++
					assert.Equal(t, "gen_ai.client.inference.operation.details", one.Name)
					assert.Equal(t, content, one.Said["gen_ai.input.messages"] != nil)
					for key := range one.Said {
						assert.True(t, known[key], key)
					}
				}
			})
		}
	}
	for _, operation := range []string{"invoke_agent", "chat", "execute_tool", "embeddings", ""} {
		assert.Positive(t, kinds[operation], "%q, empty for HTTP", operation)
	}
	assert.Positive(t, events)
}

// Without a logger there are no events. With one, each event says about the model what its span
// says. If content is requested, the event holds it as structured values, not as text.
func TestEvents(t *testing.T) {
	for _, content := range []bool{false, true} {
		logs, records := listened()
		all := run(t, t.Context(), otel.Config{Logs: logs, Content: content}, func(ctx context.Context, dc *adk.DispatchContext, a *answering) error {
			require.NoError(t, a.ask(ctx))
			require.NoError(t, a.ask(ctx))
			return dc.Ack()
		}, busy, answered)
		require.Len(t, records.records, 2)
		for i, r := range records.records {
			said, span := map[string]any{}, all[i].Said
			r.WalkAttributes(func(kv attribute.KeyValue) bool {
				said[string(kv.Key)] = valueSaid(kv.Value)
				return true
			})
			assert.Equal(t, all[i].End, r.Timestamp().UnixNano())
			assert.Equal(t, span["error.type"], said["error.type"])
			for key, value := range span {
				if !strings.HasPrefix(key, "gen_ai.") && !strings.HasPrefix(key, "server.") {
					continue
				}
				if text, ok := value.(string); ok && strings.HasPrefix(text, "[") {
					raw, err := json.Marshal(said[key])
					require.NoError(t, err)
					assert.JSONEq(t, text, string(raw), key)
					assert.IsNotType(t, "", said[key], key)
					continue
				}
				assert.Equal(t, value, said[key], key)
			}
			assert.NotContains(t, said, "adkreplay.executor")
			assert.NotContains(t, said, "http.response.status_code")
			assert.Equal(t, content, said["gen_ai.tool.definitions"] != nil)
		}
	}
}

// conventions are the attribute keys of the conventions.
func conventions(t *testing.T) map[string]bool {
	keys, err := semconv()
	require.NoError(t, err)
	require.Greater(t, len(keys), 500)
	require.True(t, keys["gen_ai.operation.name"])
	return keys
}

// semconv are the keys that the package of the conventions declares; the package has no list of them.
var semconv = sync.OnceValues(func() (map[string]bool, error) {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "go.opentelemetry.io/otel/semconv/v1.41.0").Output()
	if err != nil {
		return nil, err
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "attribute_group.go"))
	keys := map[string]bool{}
	for _, m := range regexp.MustCompile(`attribute\.Key\("([^"]+)"\)`).FindAllSubmatch(source, -1) {
		keys[string(m[1])] = true
	}
	return keys, err
})

// asked is what user code asks a model for, as a transport reports it.
type asked struct {
	Method string         `json:"method"`
	Path   string         `json:"path"`
	Body   map[string]any `json:"body"`
}

var request = asked{"POST", "/v1/chat/completions", map[string]any{
	"model": "small", "stream": true, "temperature": 0.5, "max_tokens": 100, "stop": []any{"END"}, "response_format": map[string]any{"type": "json_object"},
	"messages": []any{map[string]any{"role": "system", "content": "Be short."}, map[string]any{"role": "user", "content": "Oslo?"}},
	"tools":    []any{map[string]any{"type": "function", "function": map[string]any{"name": "weather"}}},
}}

// answering are the answers, each a list of pieces that arrive a second apart.
type answering struct {
	clock   *fakes.Clock
	answers [][]string
}

// ask reads the next answer; an empty piece is an error.
func (a *answering) ask(ctx context.Context) (err error) {
	next := a.answers[0]
	a.answers = a.answers[1:]
	for _, err = range adk.AskStream(ctx, "api.openai.com", request, func(_ context.Context, _ asked, hand func(json.RawMessage) error) error {
		for _, piece := range next {
			a.clock.Advance(time.Second)
			if piece == "" {
				return errors.New("cut off")
			}
			if err := hand(json.RawMessage(piece)); err != nil {
				return err
			}
		}
		return nil
	}) {
	}
	return err
}

var busy = []string{`{"status":429}`, `{"body":{"error":{"message":"busy"}}}`}

var answered = []string{`{"status":200}`,
	`{"data":{"id":"c1","model":"small-2026","choices":[{"index":0,"delta":{"role":"assistant","content":"Look"}}]}}`,
	`{"data":{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"weather","arguments":"{\"city\":"}}]}}]}}`,
	`{"data":{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Oslo\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":20,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":16},"completion_tokens_details":{"reasoning_tokens":2}}}}`,
}

// run runs a turn with execute as its executor, and returns its spans.
func run(t *testing.T, ctx context.Context, c otel.Config, execute func(ctx context.Context, dc *adk.DispatchContext, a *answering) error, answers ...[]string) []told {
	t.Helper()
	provider, ended := watched(t)
	c.Provider = provider
	a := &answering{answers: answers}
	config := adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return execute(ctx, dc, a) }}}
	config = fakes.Deterministic(config, otel.NewProbe(c))
	a.clock = config.Clock.(*fakes.Clock)
	runner, err := adk.NewRunner(config)
	require.NoError(t, err)
	require.NoError(t, runner.Run(ctx, adk.RawTurn{SystemPrompt: "Be short."}))
	all, known := ofTracer(ended.GetSpans()), conventions(t)
	for _, one := range all {
		for key := range one.Said {
			assert.True(t, known[key] || strings.HasPrefix(key, "adkreplay."), key)
		}
	}
	return all
}

func named(t *testing.T, all []told, name string) told {
	t.Helper()
	at := slices.IndexFunc(all, func(one told) bool { return one.Name == name })
	require.GreaterOrEqual(t, at, 0, "%s in %v", name, all)
	return all[at]
}

// Each request to a model has its own span, which says what was requested and what it consumed. No
// span holds the content.
func TestChat(t *testing.T) {
	all := run(t, t.Context(), otel.Config{Agent: "weather"}, func(ctx context.Context, dc *adk.DispatchContext, a *answering) error {
		require.NoError(t, a.ask(ctx))
		require.NoError(t, a.ask(ctx))
		return dc.Ack()
	}, busy, answered)
	require.Len(t, all, 3)
	first := map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "small", "gen_ai.request.stream": true,
		"gen_ai.request.temperature": 0.5, "gen_ai.request.max_tokens": int64(100), "gen_ai.request.stop_sequences": []string{"END"}, "gen_ai.output.type": "json",
		"server.address": "api.openai.com", "adkreplay.executor": "model", "adkreplay.iteration": int64(0),
		"gen_ai.response.time_to_first_chunk": 2.0, "http.response.status_code": int64(429), "error.type": "429",
	}
	assert.Equal(t, first, all[0].Said)
	assert.True(t, all[0].Failed)
	again := map[string]any{"http.response.status_code": int64(200), "http.request.resend_count": int64(1),
		"gen_ai.response.id": "c1", "gen_ai.response.model": "small-2026", "gen_ai.response.finish_reasons": []string{"tool_calls"},
		"gen_ai.usage.input_tokens": int64(20), "gen_ai.usage.cache_read.input_tokens": int64(16), "gen_ai.usage.output_tokens": int64(7), "gen_ai.usage.reasoning.output_tokens": int64(2)}
	for key, value := range first {
		if _, has := again[key]; !has && key != "error.type" {
			again[key] = value
		}
	}
	assert.Equal(t, again, all[1].Said)
	assert.False(t, all[1].Failed)
	for _, one := range all[:2] {
		assert.Equal(t, []any{"chat small", "invoke_agent weather", int(trace.SpanKindClient)}, []any{one.Name, one.Parent, one.Kind})
	}
	assert.Equal(t, 4*time.Second, time.Duration(all[1].End-all[1].Begin))
	agent := all[2]
	assert.Equal(t, map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "weather", "gen_ai.provider.name": "openai",
		"adkreplay.turn.id": "id-1", "adkreplay.dispatch.id": "id-2", "adkreplay.dispatch.status": "ack", "adkreplay.iterations": int64(1)}, agent.Said)
	assert.Equal(t, []any{"", int(trace.SpanKindInternal), false}, []any{agent.Parent, agent.Kind, agent.Failed})
}

// If content is requested, it is in the form of the conventions.
func TestContent(t *testing.T) {
	all := run(t, t.Context(), otel.Config{Content: true}, func(ctx context.Context, dc *adk.DispatchContext, a *answering) error {
		require.NoError(t, a.ask(ctx))
		return dc.Ack()
	}, answered)
	said := named(t, all, "chat small").Said
	for key, want := range map[string]string{
		"gen_ai.input.messages":   `[{"role":"system","parts":[{"type":"text","content":"Be short."}]},{"role":"user","parts":[{"type":"text","content":"Oslo?"}]}]`,
		"gen_ai.output.messages":  `[{"role":"assistant","parts":[{"type":"text","content":"Look"},{"type":"tool_call","id":"call_1","name":"weather","arguments":{"city":"Oslo"}}],"finish_reason":"tool_calls"}]`,
		"gen_ai.tool.definitions": `[{"type":"function","name":"weather"}]`,
	} {
		assert.JSONEq(t, want, said[key].(string), key)
	}
}

// The span of a turn is a child of its caller's span, and the spans of user code are children of
// the turn's: parallel tools side by side, and a turn within a tool.
func TestParents(t *testing.T) {
	provider, ended := watched(t)
	ctx, above := provider.Tracer("caller").Start(t.Context(), "request")
	tool := func(name string) *adk.Tool {
		made, err := adk.NewTool(adk.ToolInit{Name: name, Description: "Asks " + name + ".", InputSchema: []byte(`{"type":"object"}`), Handler: func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			_, own := provider.Tracer("tool").Start(ctx, "own of "+name)
			own.End()
			inner := adk.Config{Storage: fakes.NewStorage().Storage(), Executor: fakes.Script{{fakes.Say("yes"), fakes.Ack()}}.Executor("inner")}
			runner, err := adk.NewRunner(fakes.Deterministic(inner, otel.NewProbe(otel.Config{Provider: provider, Agent: "agent of " + name})))
			require.NoError(t, err)
			return adk.Text("yes"), runner.Run(ctx, adk.RawTurn{SystemPrompt: "Say yes."})
		}})
		require.NoError(t, err)
		return made
	}
	config := adk.Config{Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{tool("left"), tool("right")},
		Executor: fakes.Script{{fakes.Call("left", "{}"), fakes.Call("right", "{}")}, {fakes.Ack()}}.Executor("model")}
	runner, err := adk.NewRunner(fakes.Deterministic(config, otel.NewProbe(otel.Config{Provider: provider, Agent: "outer"})))
	require.NoError(t, err)
	require.NoError(t, runner.Run(ctx, adk.RawTurn{SystemPrompt: "Be short."}))
	above.End()
	all := ofTracer(ended.GetSpans())
	for name, parent := range map[string]string{
		"request": "", "invoke_agent outer": "request",
		"execute_tool left": "invoke_agent outer", "own of left": "execute_tool left", "invoke_agent agent of left": "execute_tool left",
		"execute_tool right": "invoke_agent outer", "own of right": "execute_tool right", "invoke_agent agent of right": "execute_tool right",
	} {
		assert.Equal(t, parent, named(t, all, name).Parent, name)
	}
	for _, s := range ended.GetSpans() {
		assert.Equal(t, above.SpanContext().TraceID(), s.SpanContext.TraceID(), s.Name)
	}
}

// The span of a tool has the id of the model's call, fails if the tool fails, and holds the
// arguments only if content is requested.
func TestTools(t *testing.T) {
	for _, content := range []bool{false, true} {
		provider, ended := watched(t)
		broken := fakes.NewTool("weather", "Tells the weather.", errors.New("no wind gauge"))
		config := adk.Config{Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{broken.Tool(), fakes.NewTool("time", "Tells the time.", "noon").Tool()},
			Executor: fakes.Script{{fakes.Call("weather", `{"city":"Oslo"}`), fakes.Call("time", `{}`)}, {fakes.Ack()}}.Executor("model")}
		runner, err := adk.NewRunner(fakes.Deterministic(config, otel.NewProbe(otel.Config{Provider: provider, Content: content})))
		require.NoError(t, err)
		require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Be short."}))
		all := ofTracer(ended.GetSpans())
		want := map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "gen_ai.tool.type": "function",
			"gen_ai.tool.description": "Tells the weather.", "gen_ai.tool.call.id": "c0.0", "error.type": "E_TOOL_DOWNSTREAM_ERROR"}
		if content {
			want["gen_ai.tool.call.arguments"] = `{"city":"Oslo"}`
		}
		weather, clock := named(t, all, "execute_tool weather"), named(t, all, "execute_tool time")
		assert.Equal(t, want, weather.Said)
		assert.True(t, weather.Failed)
		require.Len(t, weather.Events, 1)
		assert.Equal(t, content, strings.Contains(weather.Events[0], "no wind gauge"))
		assert.Contains(t, weather.Events[0], "exception.type=E_TOOL_DOWNSTREAM_ERROR")
		assert.Equal(t, content, clock.Said["gen_ai.tool.call.result"] == "noon")
		assert.False(t, clock.Failed)
	}
}

// The span of the agent says how its turn failed.
func TestFailures(t *testing.T) {
	cases := map[string]struct {
		execute func(context.Context, *adk.DispatchContext, *answering) error
		kind    string // of the agent's failure
		chat    string // of the executor's, if it has one
		events  string
	}{
		"an error": {func(context.Context, *adk.DispatchContext, *answering) error { return errors.New("boom") },
			"E_LLM_EXECUTION_EXECUTOR_ERROR", "_OTHER", "exception exception.type=E_LLM_EXECUTION_EXECUTOR_ERROR"},
		"a panic": {func(context.Context, *adk.DispatchContext, *answering) error { panic("boom") },
			"E_LLM_EXECUTION_EXECUTOR_ERROR", "panic", "exception exception.type=E_LLM_EXECUTION_EXECUTOR_ERROR"},
		"a nack": {func(_ context.Context, dc *adk.DispatchContext, _ *answering) error { return dc.Nack(errors.New("no")) },
			"nack", "", "exception exception.type=E_LLM_EXECUTION_NACKED"},
		"an abort": {func(_ context.Context, dc *adk.DispatchContext, _ *answering) error {
			return dc.Abort(errors.New("enough"))
		},
			"aborted", "", "adkreplay.cancel adkreplay.cancel.by=abort"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			all := run(t, t.Context(), otel.Config{}, c.execute)
			agent, chat := named(t, all, "invoke_agent"), named(t, all, "chat")
			assert.True(t, agent.Failed)
			assert.Equal(t, c.kind, agent.Said["error.type"])
			require.Len(t, agent.Events, 1)
			assert.Equal(t, c.events, regexp.MustCompile(` \d+`).ReplaceAllString(agent.Events[0], ""))
			assert.Equal(t, c.chat != "", chat.Failed)
			if c.chat != "" {
				assert.Equal(t, c.chat, chat.Said["error.type"])
				require.Len(t, chat.Events, 1)
				assert.Equal(t, "exception exception.type="+c.chat, regexp.MustCompile(` \d+`).ReplaceAllString(chat.Events[0], ""))
			}
		})
	}
}

// A turn that is cancelled from outside fails with the cause of the cancellation.
func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	all := run(t, ctx, otel.Config{}, func(ctx context.Context, _ *adk.DispatchContext, _ *answering) error {
		cancel()
		return context.Cause(ctx)
	})
	agent := named(t, all, "invoke_agent")
	assert.True(t, agent.Failed)
	assert.Equal(t, "canceled", agent.Said["error.type"])
	assert.Equal(t, "canceled", named(t, all, "chat").Said["error.type"])
}

// The span of an answer that was cut off fails.
func TestCutOff(t *testing.T) {
	all := run(t, t.Context(), otel.Config{}, func(ctx context.Context, dc *adk.DispatchContext, a *answering) error {
		require.Error(t, a.ask(ctx))
		return dc.Ack()
	}, append(answered[:2:2], ""))
	chat := named(t, all, "chat small")
	assert.True(t, chat.Failed)
	assert.Equal(t, "_OTHER", chat.Said["error.type"])
	assert.False(t, named(t, all, "invoke_agent").Failed)
}
