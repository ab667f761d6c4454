package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"example.com/agent"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/replay"
)

// The recorded turns of this example are of a scripted model, on a server of this
// machine, and of a scripted weather service, so that it needs neither a key nor a
// network. An agent in
// production records its own:
//
//	config.Probe = replay.Record(file, replay.RecordOptions{Sentinels: reading.Sentinels})

// conversation is one and what happens outside in one turn of it.
type conversation struct {
	name      string
	question  string
	stranger  bool                      // nothing is known of the user
	replies   []fakes.Reply             // of the model
	forecasts map[agent.Query][]weather // each in order
	leaves    bool                      // the user, when the first call of a tool is complete
	ends      string                    // how the dispatch ends
}

// weather is what the service answers.
type weather struct {
	text string
	err  error
}

var errBusy = errors.New("the weather service is busy")

// call is a call of the tool.
type call struct{ id, args string }

// turns are the turns in testdata/turns: each way in which one can go.
var turns = []conversation{
	{
		name:     "greeting",
		question: "Hello!",
		stranger: true,
		replies:  []fakes.Reply{fakes.StreamReply("Hello! ", "Which city?")},
		ends:     adk.StatusAck,
	},
	{
		name:     "one-city",
		question: "What is the weather in Oslo?",
		replies: []fakes.Reply{
			calling("Let me look.", call{"call_1", `{"cities":["Oslo"]}`}),
			fakes.StreamReply("Oslo today: ", "rain, 46 °F."),
		},
		forecasts: map[agent.Query][]weather{{"Oslo", 1, "imperial"}: {{text: "rain, 46 °F"}}},
		ends:      adk.StatusAck,
	},
	{
		name:     "two-cities",
		question: "Is it warmer in Rome than in Oslo, over the weekend?",
		replies: []fakes.Reply{
			fakes.StreamToolCall("call_1", "forecast", `{"cities":["Rome",`, `"Oslo"],"days":3}`),
			fakes.StreamReply("Yes: Rome has 75 °F on Sunday, ", "Oslo 48 °F."),
		},
		forecasts: map[agent.Query][]weather{
			{"Rome", 3, "imperial"}: {{text: "sun, 72 to 75 °F"}},
			{"Oslo", 3, "imperial"}: {{text: "rain, 45 to 48 °F"}},
		},
		ends: adk.StatusAck,
	},
	{
		name:     "busy-and-unknown",
		question: "And in Bergen and Osslo?",
		replies: []fakes.Reply{
			{Status: http.StatusServiceUnavailable, Headers: http.Header{"Retry-After": {"1"}}, Body: "busy"},
			fakes.StreamToolCall("call_1", "forecast", `{"cities":["Bergen","Osslo"]}`),
			fakes.StreamReply("Bergen today: rain, 50 °F. ", "I do not know Osslo: did you mean Oslo?"),
		},
		forecasts: map[agent.Query][]weather{
			{"Bergen", 1, "imperial"}: {{err: errBusy}, {text: "rain, 50 °F"}},
			{"Osslo", 1, "imperial"}:  {{err: agent.ErrNoSuchCity}},
		},
		ends: adk.StatusAck,
	},
	{
		name:     "in-circles",
		question: "How cold will it be?",
		replies: []fakes.Reply{
			fakes.StreamToolCall("call_1", "forecast", `{"cities":["here"]}`),
			fakes.StreamToolCall("call_2", "forecast", `{"cities":["home"]}`),
			fakes.StreamToolCall("call_3", "forecast", `{"days":9}`),
		},
		forecasts: map[agent.Query][]weather{
			{"here", 1, "imperial"}: {{err: agent.ErrNoSuchCity}},
			{"home", 1, "imperial"}: {{err: errBusy}, {err: errBusy}},
		},
		ends: adk.StatusNack,
	},
	{
		name:     "user-leaves",
		question: "Rome or Bergen?",
		replies: []fakes.Reply{
			calling("One moment.", call{"call_1", `{"cities":["Rome"]}`}, call{"call_2", `{"cities":["Bergen"]}`}),
		},
		forecasts: map[agent.Query][]weather{{"Rome", 1, "imperial"}: {{text: "sun, 72 °F"}}},
		leaves:    true,
		ends:      adk.StatusAborted,
	},
}

// calling is a model that says something, and wants the tool.
func calling(text string, calls ...call) fakes.Reply {
	var wanted []any
	for i, c := range calls {
		wanted = append(wanted, map[string]any{"index": i, "id": c.id, "type": "function",
			"function": map[string]any{"name": "forecast", "arguments": c.args}})
	}
	body := ""
	for _, choice := range []map[string]any{{"delta": map[string]any{"content": text}}, {"delta": map[string]any{"tool_calls": wanted}, "finish_reason": "tool_calls"}} {
		body += "data: " + string(must(json.Marshal(map[string]any{"choices": []any{choice}}))) + "\n\n"
	}
	return fakes.Reply{ContentType: "text/event-stream", Body: body + "data: [DONE]\n\n"}
}

var record = flag.Bool("record", false, "record the turns in testdata/turns again")

// Every turn ends as it should, and breaks no invariant of the engine.
// With -record its trace is written, as production would write it.
func TestTurns(t *testing.T) {
	for _, c := range turns {
		t.Run(c.name, func(t *testing.T) {
			var trace bytes.Buffer
			recorder := replay.Record(&trace, replay.RecordOptions{Sentinels: reading.Sentinels})
			if err := errors.Join(c.play(recorder, *record), recorder.Err()); err != nil {
				t.Fatal(err)
			}
			property.Check(t, bytes.NewReader(trace.Bytes()))
			if *record {
				write(t, filepath.Join(folder, c.name+".jsonl"), trace.Bytes())
			}
		})
	}
}

func write(t *testing.T, path string, trace []byte) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal("-record is refused where CI is set: a trace is changed by somebody who reads the diff")
	}
	if err := os.WriteFile(path, trace, 0o644); err != nil {
		t.Fatal(err)
	}
}

// run plays the turn, observed by the probe, the same way each time.
func (c conversation) run(probe adk.Probe) error { return c.play(probe, false) }

// play plays the turn, observed by the probe. For real it has the machine's clock,
// strands that run freely and ids of its own, as it has in production.
func (c conversation) play(probe adk.Probe, real bool) error {
	provider := fakes.NewProvider(fakes.Converse(c.replies...))
	defer provider.Close()
	config, raw, err := c.build(agent.Model(provider.URL()+"/v1", "sk-example", "small"))
	if err != nil {
		return err
	}
	ctx, leave := context.WithCancelCause(context.Background())
	defer leave(nil)
	status := ""
	raw.Observability.DispatchEnd = func(e adk.DispatchEnd) { status = e.Status }
	if c.leaves {
		raw.Functional.ToolCall = func(e adk.ToolCallEvent) {
			if e.Complete {
				leave(errors.New("the user has left"))
			}
		}
	}
	if real {
		config.Probe = probe
	} else {
		config = fakes.Deterministic(config, probe)
	}
	runner, err := adk.NewRunner(config)
	if err != nil {
		return err
	}
	if err := runner.Run(ctx, raw); err != nil {
		return err
	}
	if status != c.ends {
		return fmt.Errorf("the dispatch ended with %q, want %q", status, c.ends)
	}
	return nil
}

// build is the agent with a model, and all else that is outside played by the script.
func (c conversation) build(model chat.Options) (adk.Config, adk.RawTurn, error) {
	storage, err := agent.NewStorage(c.before()...)
	if err != nil {
		return adk.Config{}, adk.RawTurn{}, err
	}
	config, err := agent.Config(agent.Outside{Model: model, Forecasts: newService(c.forecasts).forecast, Storage: storage})
	return config, agent.Turn(), err
}

// before is what the storage holds when the turn begins.
func (c conversation) before() []adk.Record {
	at := fakes.Epoch.Add(-time.Hour)
	message := func(id string, role adk.Role, text string) adk.Record {
		return must(adk.NewMessage(adk.MessageInit{ID: id, Role: role, Content: text, CreatedAt: at, UpdatedAt: at}))
	}
	if c.stranger {
		return []adk.Record{message("q1", adk.RoleUser, c.question)}
	}
	return []adk.Record{
		message("q1", adk.RoleUser, "I am packing for a journey."),
		message("a1", adk.RoleAssistant, "Where are you going?"),
		message("q2", adk.RoleUser, c.question),
		must(adk.NewMemory(adk.MemoryInit{ID: "units", Content: "imperial", Confidence: new(0.9), Importance: new(0.5), CreatedAt: at, UpdatedAt: at})),
	}
}

// must is for records that are written down here and cannot be wrong.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// service is a weather service whose answers are known, for each query one after
// the other.
type service struct {
	mu      sync.Mutex
	answers map[agent.Query][]weather
	asked   map[agent.Query]int
}

func newService(answers map[agent.Query][]weather) *service {
	return &service{answers: answers, asked: map[agent.Query]int{}}
}

// forecast is the next answer to the query.
func (s *service) forecast(_ context.Context, q agent.Query) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[q]++
	if n := s.asked[q]; n <= len(s.answers[q]) {
		answer := s.answers[q][n-1]
		return answer.text, answer.err
	}
	return "", fmt.Errorf("query %d for %v: there are %d answers", s.asked[q], q, len(s.answers[q]))
}
