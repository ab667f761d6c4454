package sdks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay"
)

// faulted is a client whose answers are broken by faults.
type faulted struct {
	name  string
	ask   said
	usual answer
}

var allFaulted = []faulted{
	{"openai", askOpenAI, openAIAnswer}, {"openai streams", streamOpenAI, openAIStream},
	{"anthropic", askAnthropic, anthropicAnswer}, {"anthropic streams", streamAnthropic, anthropicStream},
	{"genai", askGoogle, googleAnswer}, {"genai streams", streamGoogle, googleStream},
	{"plain", askPlainly, openAIAnswer}, {"plain streams", askPlainly, openAIStream},
	{"openai calls", askOpenAI, callingAnswer}, {"openai streams calls", streamOpenAI, callingStream},
	{"anthropic calls", askAnthropic, anthropicCalling}, {"anthropic streams calls", streamAnthropic, anthropicCallingStream},
	{"responses calls", askResponses, responsesCalling}, {"responses streams calls", streamResponses, responsesCallingStream},
	{"genai calls", askGoogle, googleCalling}, {"genai streams calls", streamGoogle, googleCallingStream},
}

// The calls in other forms.
var (
	anthropicCalling = answer{kind: ofJSON, body: `{"id":"m1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Let me see."},
{"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Oslo"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`}
	anthropicCallingStream = answer{kind: ofEvents, body: inEvents(`{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"usage":{"input_tokens":1,"output_tokens":0}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Let me see."}}`, `{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"weather","input":{}}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\": "}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"Oslo\"}"}}`, `{"type":"content_block_stop","index":1}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`, `{"type":"message_stop"}`)}

	responsesItem          = `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"weather","status":"completed","arguments":"{\"city\":\"Oslo\"}"}`
	responsesCalling       = answer{kind: ofJSON, body: `{"id":"r1","object":"response","created_at":1,"model":"gpt-5","status":"completed","output":[` + responsesItem + `],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`}
	responsesCallingStream = answer{kind: ofEvents, body: inEvents(`{"type":"response.created","sequence_number":0,"response":{"id":"r1","object":"response","status":"in_progress","output":[]}}`,
		`{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"weather","status":"in_progress","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","sequence_number":2,"output_index":0,"item_id":"fc_1","delta":"{\"city\":"}`, `{"type":"response.function_call_arguments.delta","sequence_number":3,"output_index":0,"item_id":"fc_1","delta":"\"Oslo\"}"}`,
		`{"type":"response.function_call_arguments.done","sequence_number":4,"output_index":0,"item_id":"fc_1","arguments":"{\"city\":\"Oslo\"}"}`, `{"type":"response.output_item.done","sequence_number":5,"output_index":0,"item":`+responsesItem+`}`,
		`{"type":"response.completed","sequence_number":6,"response":{"id":"r1","object":"response","created_at":1,"model":"gpt-5","status":"completed","output":[`+responsesItem+`],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}`)}

	googleCalling       = answer{kind: ofJSON, body: `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"weather","args":{"city":"Oslo"}}}]},"finishReason":"STOP"}]}`}
	googleCallingStream = answer{kind: ofEvents, body: `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Let me see."}]}}]}` + "\r\n\r\n" +
		`data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"weather","args":{"city":"Oslo"}}}]},"finishReason":"STOP"}]}` + "\r\n\r\n"}
)

// inEvents returns events that are named by their types.
func inEvents(all ...string) (body string) {
	for _, data := range all {
		_, behind, _ := strings.Cut(data, `"type":"`)
		name, _, _ := strings.Cut(behind, `"`)
		body += "event: " + name + "\ndata: " + data + "\n\n"
	}
	return body
}

// The explorer can make the faults of models in the answers of every provider, and the provider's client sees them.
func TestFaultsOfModels(t *testing.T) {
	for name, want := range map[string]map[turn.FaultKind]string{
		"anthropic calls": {turn.ChatTool: "weather_that_there_is_not", turn.ChatTwins: `"id":"toolu_1","input":{"city":"Oslo"},"name":"weather","type":"tool_use"},{"id":"toolu_1"`,
			turn.ChatSeveral: "toolu_1_again", turn.ChatLength: "max_tokens", turn.ChatRefusal: "refusal"},
		"anthropic streams calls": {turn.ChatArguments: "{} calls weather", turn.ChatTool: "calls weather_that_there_is_not", turn.ChatTwins: `calls weather as toolu_1{"city": "Oslo"} calls weather as toolu_1`,
			turn.ChatSeveral: "calls weather as toolu_1_again", turn.ChatLength: "max_tokens", turn.ChatRefusal: "refusal"},
		"responses calls": {turn.ChatArguments: `{"city": `, turn.ChatTool: "weather_that_there_is_not", turn.ChatTwins: `call_1 weather {"city":"Oslo"} call_1 weather`,
			turn.ChatSeveral: "call_1_again", turn.ChatLength: "incomplete", turn.ChatRefusal: "I cannot help with that."},
		"responses streams calls": {turn.ChatArguments: `{"city": `, turn.ChatTool: "weather_that_there_is_not", turn.ChatTwins: `call_1 weather {"city":"Oslo"} call_1 weather`,
			turn.ChatSeveral: "call_1_again", turn.ChatLength: "incomplete", turn.ChatRefusal: "I cannot help with that."},
		"genai calls":         {turn.ChatTool: "weather_that_there_is_not", turn.ChatSeveral: `weather{"city":"Oslo"}weather`, turn.ChatLength: "MAX_TOKENS", turn.ChatRefusal: "SAFETY"},
		"genai streams calls": {turn.ChatTool: "weather_that_there_is_not", turn.ChatSeveral: `weather{"city":"Oslo"}weather`, turn.ChatLength: "MAX_TOKENS", turn.ChatRefusal: "SAFETY"},
	} {
		t.Run(name, func(t *testing.T) {
			c := allFaulted[slices.IndexFunc(allFaulted, func(c faulted) bool { return c.name == name })]
			heard := map[turn.FaultKind]string{}
			for at, one := range explored(t, c) {
				if strings.HasPrefix(at.kind.String(), "chat-") && !at.eachTime {
					heard[at.kind], _ = strconv.Unquote(quotedIn.FindString(string(one.outcome)))
				}
			}
			assert.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(heard)))
			for kind, text := range want {
				assert.Contains(t, heard[kind], text, "%s", kind)
			}
		})
	}
}

// quotedIn matches what a client got, within an outcome.
var quotedIn = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// Answers of a model that calls tools, with the white space that servers put there.
var (
	callingAnswer = answer{kind: ofJSON, body: `{
  "id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-4o",
  "choices": [
    {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null, "tool_calls": [
      {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Oslo\"}"}},
      {"id": "call_2", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Rome\"}"}}]}}
  ],
  "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
}
`}
	callingStream = answer{kind: ofEvents, body: `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-4o","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"weather","arguments":""}}]}}]}

: still here

data: {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", "choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{\"city\":"}}]}}]}

data:{"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-4o","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Oslo\"}"}}]},"finish_reason":"tool_calls"}]}

data: [DONE]

`}
)

// outcome is what a client's user sees: how often the server was asked, what came, and the error with
// everything by which users distinguish errors: its text, the types in it, and errors.Is.
type outcome string

func outcomeOf(asks int, got string, err error) outcome {
	return outcome(fmt.Sprintf("%d asks, %q, %s", asks, got, errorOf(err)))
}

// outcome asks a client once. If the client panics, as some do at an unexpected answer, the panic is its
// outcome, with and without the transport.
func (c faulted) outcome(ctx context.Context, base http.RoundTripper) (now outcome) {
	counted := &counting{base: base}
	defer func() {
		if value := recover(); value != nil {
			now = outcome(fmt.Sprintf("%d asks, panic: %v", counted.n.Load(), value))
		}
	}()
	got, err := c.ask(ctx, &http.Client{Transport: counted}, worldURL)
	return outcomeOf(int(counted.n.Load()), got, err)
}

// addresses matches addresses of this machine, whose ports differ each time.
var addresses = regexp.MustCompile(` \d+\.\d+\.\d+\.\d+:\d+(->\d+\.\d+\.\d+\.\d+:\d+)?`)

func errorOf(err error) string {
	if err == nil {
		return "no error"
	}
	all := []string{fmt.Sprintf("%q", addresses.ReplaceAllString(err.Error(), ""))}
	note := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if e, ok := errors.AsType[*openai.Error](err); ok {
		note("openai %d %q %q %q %s", e.StatusCode, e.Code, e.Type, e.Message, e.RawJSON())
	}
	if e, ok := errors.AsType[*anthropic.Error](err); ok {
		note("anthropic %d %q %s", e.StatusCode, e.Type(), e.RawJSON())
	}
	if e, ok := errors.AsType[genai.APIError](err); ok {
		note("genai %d %q %q", e.Code, e.Status, e.Message)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		note("url %s timeout %t", e.Op, e.Timeout())
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		note("net %s %s to somebody %t", e.Op, e.Net, e.Addr != nil)
	}
	if e, ok := errors.AsType[*os.SyscallError](err); ok {
		note("of %s", e.Syscall)
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		note("errno %d", e)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		note("syntax at %d", e.Offset)
	}
	if e, ok := errors.AsType[net.Error](err); ok {
		note("timeout %t", e.Timeout())
	}
	for _, one := range []error{io.EOF, io.ErrUnexpectedEOF, os.ErrDeadlineExceeded, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, one) {
			note("is %q", one)
		}
	}
	return strings.Join(all, ", ")
}

// counting is a transport that counts its requests.
type counting struct {
	base http.RoundTripper
	n    atomic.Int64
}

func (c *counting) RoundTrip(req *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.base.RoundTrip(req)
}

// bare returns what a client sees without this module's transport.
func bare(t *testing.T, c faulted, fault misbehaviour) outcome {
	w := newWorld(t, c.usual, fault)
	return c.outcome(context.WithValue(t.Context(), worldOf{}, w), w.transport())
}

// recorded returns what a client sees through the transport, and in a replay of that, which asks
// nobody.
func recorded(t *testing.T, c faulted, fault misbehaviour) (live, again outcome, report *replay.Report) {
	w := newWorld(t, c.usual, fault)
	base, now := w.transport(), &live
	run := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		*now = c.outcome(ctx, adkhttp.NewTransport(base))
		h.Log(adk.LevelInfo, "outcome", string(*now), nil)
		return dc.Ack()
	}
	var trace bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: run}}, replay.Record(&trace)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(context.WithValue(t.Context(), worldOf{}, w), adk.RawTurn{SystemPrompt: "Ask."}))
	closesAll(t, trace.Bytes())
	base = roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("the world was asked") })
	now = &again
	report, err = replay.Verify(t.Context(), &trace, replay.LiveExecutor(run))
	require.NoError(t, err)
	return live, again, report
}

// answers returns the usual answers without a server.
func (c faulted) answers(req *http.Request) (*http.Response, error) {
	said, header := c.usual, http.Header{}
	if req.URL.Path == otherPath {
		said = otherAnswer
	}
	length := int64(len(said.body))
	if header.Set("Content-Type", said.kind); said.isStream() {
		length = -1
	} else {
		header.Set("Content-Length", fmt.Sprint(length))
	}
	return &http.Response{StatusCode: 200, Header: header, Body: io.NopCloser(strings.NewReader(said.body)), ContentLength: length, Request: req}, nil
}

// spot is a kind of fault, and the piece of the answer at which it comes: 0 is the head, and -1 is the place
// where the client asks.
type spot struct {
	kind     turn.FaultKind
	piece    int
	eachTime bool
}

func (s spot) String() string {
	text := s.kind.String()
	if s.piece >= 0 {
		text += fmt.Sprint(" at piece ", s.piece)
	}
	if s.eachTime {
		text += " each time"
	}
	return text
}

// seen is what a client sees of a fault, and the bytes of the fault.
type seen struct {
	outcome
	body string
}

// explored returns what a client sees of the faults that the explorer makes in its first ask. It runs in
// a synctest bubble, so that retries take no time.
func explored(t *testing.T, c faulted) map[spot]seen {
	var mu sync.Mutex
	all, places := map[spot]seen{}, map[int]int{}
	subject := turn.Subject{Name: c.name, Scripted: true, Open: func(context.CancelCauseFunc) turn.Instance {
		var now outcome
		run := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			base := adkhttp.NewTransport(roundTrip(c.answers))
			now = c.outcome(ctx, base)
			_, _ = askPlainly(ctx, &http.Client{Transport: base}, worldURL+otherPath)
			return dc.Ack()
		}
		config := adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: run}}
		return turn.Instance{Config: config, Raw: adk.RawTurn{SystemPrompt: "Ask."}, Check: func(r turn.Run) error {
			mu.Lock()
			defer mu.Unlock()
			if len(r.Schedule.Faults) == 0 {
				places = placesOfFirst(r)
				return nil
			}
			fault := r.Schedule.Faults[0]
			if at, isFirst := places[fault.At]; isFirst && (fault.Times == 0 || fault.Times == turn.EachTime) {
				all[spot{fault.Kind, at, fault.Times == turn.EachTime}] = seen{now, bodyOfFirst(r)}
			}
			return nil
		}}
	}}
	synctest.Test(t, func(t *testing.T) {
		_, err := explore.Explore(t.Context(), subject, explore.Options{Faults: worldKinds(), UsualInput: true})
		require.NoError(t, err)
	})
	return all
}

// placesOfFirst returns the pieces of a run's first ask by their crossings; -1 is the beginning of the
// ask.
func placesOfFirst(r turn.Run) map[int]int {
	places, op := map[int]int{}, 0
	for x := range r.Crossings {
		switch {
		case op == 0 && x.Kind == adk.KindAsk:
			op, places[x.Seq] = x.Op, -1
		case x.Kind == adk.KindPiece && x.Op == op:
			places[x.Seq] = len(places) - 1
		}
	}
	return places
}

// bodyOfFirst returns the body of the first answer of a run.
func bodyOfFirst(r turn.Run) (body string) {
	op := 0
	for x := range r.Crossings {
		switch {
		case op == 0 && x.Kind == adk.KindAsk:
			op = x.Op
		case x.Kind == adk.KindPiece && x.Op == op:
			piece, _ := httpform.ReadPiece(x.JSON)
			body += string(piece.Bytes())
		}
	}
	return body
}

func worldKinds() (all []turn.FaultKind) {
	for _, kind := range turn.FaultKinds() {
		if kind.OfWorld() {
			all = append(all, kind)
		}
	}
	return all
}

func refusing(n int, header http.Header) answer {
	text := http.StatusText(n)
	return answer{status: n, kind: ofJSON, body: fmt.Sprintf(`{"error":{"code":%d,"message":%q}}`, n, text), header: header}
}

func instead(a answer) func(*saying, answer) { return func(s *saying, _ answer) { s.all(a) } }

// dialing returns a function that fails as package net does.
func dialing(to string, timeout time.Duration) func() error {
	return func() error {
		_, err := (&net.Dialer{Timeout: timeout}).Dial("tcp", to)
		return err
	}
}

// noPort is a port at which no process listens, on any machine.
const noPort = "127.0.0.1:1"

// explorable returns the faults that the explorer can make in an answer with these pieces.
func explorable(usual answer) map[spot]misbehaviour {
	refused, timeout := dialing(noPort, 0), dialing(noPort, 1)
	busy := instead(refusing(429, http.Header{"Retry-After": {"1"}}))
	failed, unavailable := instead(refusing(500, nil)), instead(refusing(503, nil))
	all := map[spot]misbehaviour{
		{turn.AskRefused, -1, false}:      {dial: refused},
		{turn.AskRefused, -1, true}:       {dial: refused, forEver: true},
		{turn.AskDown, -1, false}:         {dial: refused, forEver: true},
		{turn.AskDownOne, -1, false}:      {dial: refused, forEver: true},
		{turn.AskTimeout, -1, false}:      {dial: timeout},
		{turn.AskTimeout, -1, true}:       {dial: timeout, forEver: true},
		{turn.AskBusy, -1, false}:         {says: busy},
		{turn.AskBusy, -1, true}:          {says: busy, forEver: true},
		{turn.AskFailed, -1, false}:       {says: failed},
		{turn.AskFailed, -1, true}:        {says: failed, forEver: true},
		{turn.AskUnavailable, -1, false}:  {says: unavailable},
		{turn.AskUnavailable, -1, true}:   {says: unavailable, forEver: true},
		{turn.AskUnauthorized, -1, false}: {says: instead(refusing(401, nil))},
		{turn.AskEmpty, -1, false}:        {says: func(s *saying, a answer) { s.all(a.with()) }},
		{turn.AskOther, -1, false}:        {says: instead(otherAnswer)},
		{turn.AskSlow, -1, false}:         {},
		{turn.AskStalled, 0, false}:       {says: func(s *saying, _ answer) { s.stall() }},
		{turn.AskCut, 0, false}:           {says: func(*saying, answer) {}},
	}
	if !usual.isStream() {
		all[spot{turn.AskBare, -1, false}] = misbehaviour{says: func(s *saying, a answer) { s.all(a.with("{}")) }}
	}
	for i, piece := range usual.pieces() {
		n := i + 1
		all[spot{turn.AskStalled, n, false}] = misbehaviour{says: func(s *saying, a answer) { s.part(a, i); s.stall() }}
		all[spot{turn.AskCut, n, false}] = misbehaviour{says: func(s *saying, a answer) { s.part(a, i) }}
		all[spot{turn.AskCutWithin, n, false}] = misbehaviour{says: func(s *saying, a answer) { s.part(a, i); s.piece(a, piece[:len(piece)/2]) }}
		if usual.isStream() {
			all[spot{turn.AskTwice, n, false}] = misbehaviour{says: func(s *saying, a answer) {
				s.all(a.with(append(append([]string(nil), a.pieces()[:n]...), a.pieces()[i:]...)...))
			}}
		}
		if short := halfOfJSON(piece); short != "" {
			all[spot{turn.AskShort, n, false}] = misbehaviour{says: func(s *saying, a answer) {
				s.all(a.with(append(append([]string(nil), a.pieces()[:i]...), short)...))
			}}
		}
	}
	return all
}

// halfOfJSON returns a piece whose JSON is cut in the middle, or nothing if it has no JSON.
func halfOfJSON(piece string) string {
	begin, end := strings.Index(piece, "{"), strings.LastIndex(piece, "}")
	if begin < 0 {
		return ""
	}
	cut := piece[:begin+(end+1-begin)/2]
	if begin > 0 {
		cut += piece[end+1:]
	}
	return cut
}

// cell is a client and a fault, with what the client's user sees in each way.
type cell struct {
	at                            spot
	bare, recorded, again, broken outcome
	report                        *replay.Report
}

// WLD-1, WLD-3, WLD-4: a fault of the world looks the same to every client in all ways: without this module,
// through the transport, in a replay, and made by the explorer.
func TestFaultsOfTheWorld(t *testing.T) {
	all := make([][]cell, len(allFaulted))
	var busy sync.WaitGroup // most of the time, clients wait before they retry
	for i, c := range allFaulted {
		broken := explored(t, c)
		busy.Go(func() { all[i] = cells(t, c, broken) })
	}
	busy.Wait()
	for i, c := range allFaulted {
		t.Run(c.name, func(t *testing.T) {
			for _, one := range all[i] {
				t.Run(one.at.String(), func(t *testing.T) {
					t.Logf("%s", one.bare)
					assert.Equal(t, one.bare, one.recorded, "recorded")
					assert.Equal(t, one.bare, one.again, "played again")
					assert.Nil(t, one.report.Divergence, "%s", one.report)
					assert.Equal(t, one.bare, one.broken, "explored")
				})
			}
		})
	}
}

// until returns a client whose caller gives up when its time is over: while it waits for the head of an
// answer or, with behindHead set, while it reads the body.
func (c faulted) until(behindHead bool) faulted {
	ask := c.ask
	c.ask = func(ctx context.Context, client *http.Client, url string) (string, error) {
		own := &deadline{Context: ctx, done: make(chan struct{})}
		over := own.pass
		if w, live := ctx.Value(worldOf{}).(*world); live {
			reading := make(chan struct{})
			w.over = func() { <-reading; own.pass() }
			over = sync.OnceFunc(func() { close(reading) })
		}
		base := client.Transport
		return ask(own, &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
			if !behindHead {
				over()
			}
			resp, err := base.RoundTrip(req)
			if err == nil {
				resp.Body = &noticing{resp.Body, over}
			}
			return resp, err
		})}, url)
	}
	return c
}

// noticing is a body that calls read when it is read.
type noticing struct {
	io.ReadCloser
	read func()
}

func (n *noticing) Read(p []byte) (int, error) {
	n.read()
	return n.ReadCloser.Read(p)
}

// worldOf is the context key of the world; a replay has none.
type worldOf struct{}

// deadline is a context whose deadline passes when pass is called.
type deadline struct {
	context.Context
	once sync.Once
	done chan struct{}
}

func (d *deadline) pass()                       { d.once.Do(func() { close(d.done) }) }
func (d *deadline) Done() <-chan struct{}       { return d.done }
func (d *deadline) Deadline() (time.Time, bool) { return time.Unix(1<<33, 0), true }

func (d *deadline) Err() error {
	select {
	case <-d.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// misbehaviours are things that servers do which the explorer does not imitate.
var misbehaviours = []misbehaviour{
	{name: "reset before the head", says: func(s *saying, _ answer) { s.reset() }},
	{name: "reset behind the head", says: func(s *saying, a answer) { s.head(a); s.reset() }},
	{name: "reset within", says: func(s *saying, a answer) { s.head(a); s.piece(a, a.pieces()[0][:10]); s.reset() }},
	{name: "cut within the head", says: func(s *saying, _ answer) { s.text("HTTP/1.1 200 O") }},
	{name: "no HTTP", says: func(s *saying, _ answer) { s.text("220 mail.example ESMTP\r\n") }},
	{name: "a header that is none", says: func(s *saying, a answer) { s.head(a, "what is this") }},
	{name: "a chunk that is none", says: func(s *saying, _ answer) {
		s.text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
	}},
	{name: "more than its length", says: func(s *saying, a answer) {
		s.head(a)
		s.piece(a, a.body)
		_, _ = io.WriteString(s.conn, "more")
	}},
	{name: "a page under JSON", says: func(s *saying, a answer) { s.all(a.with("<html>502</html>")) }},
	{name: "a page", says: instead(answer{kind: "text/html", body: "<html>Sign in</html>"})},
	{name: "a page of a proxy", says: instead(answer{status: 502, kind: "text/html", body: "<html>Bad gateway</html>"})},
	{name: "invalid UTF-8", says: func(s *saying, a answer) { s.all(a.with(strings.ReplaceAll(a.body, "i.", "\xff\xfe"))) }},
	{name: "null", says: func(s *saying, a answer) { s.all(a.with("null")) }},
	{name: "nothing at all", says: instead(answer{status: 204, kind: ofJSON})},
	{name: "an error within", says: func(s *saying, a answer) {
		s.all(a.with(a.pieces()[0], "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\",\"code\":529}}\n\n"))
	}},
	{name: "come back tomorrow", impatient: true, says: instead(refusing(429, http.Header{"Retry-After": {"86400"}}))},
	{name: "come back some time", says: instead(refusing(429, http.Header{"Retry-After": {"soon"}}))},
	{name: "come back yesterday", says: instead(refusing(503, http.Header{"Retry-After": {"Sat, 01 Jan 2000 00:00:40 GMT"}}))},
	{name: "do not come back", forEver: true, says: instead(refusing(503, http.Header{"X-Should-Retry": {"false"}}))},
	{name: "come back all the same", says: instead(refusing(400, http.Header{"X-Should-Retry": {"true"}, "Retry-After-Ms": {"1"}}))},
	{name: "too large", says: instead(refusing(413, nil))},
	{name: "another way", says: instead(answer{status: 307, kind: ofJSON, header: http.Header{"Location": {"/elsewhere"}}})},
	{name: "no way", forEver: true, says: instead(answer{status: 302, kind: ofJSON, header: http.Header{"Location": {"/elsewhere"}}})},
	{name: "half of a gzip", says: func(s *saying, a answer) {
		s.text("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: " + a.kind + "\r\nConnection: close\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\xaa\x56")
	}},
}

// WLD-3, WLD-4: other misbehavior of servers looks the same to every client through the transport and in a replay.
func TestMisbehaviours(t *testing.T) {
	type result struct {
		bare, recorded, again outcome
		report                *replay.Report
	}
	all := map[string]*result{}
	var busy sync.WaitGroup
	look := func(name string, c faulted, fault misbehaviour) {
		one := &result{}
		all[c.name+"/"+name] = one
		busy.Go(func() { one.bare = bare(t, c, fault) })
		busy.Go(func() { one.recorded, one.again, one.report = recorded(t, c, fault) })
	}
	for _, c := range allFaulted {
		for _, fault := range misbehaviours {
			if !fault.impatient || !strings.HasPrefix(c.name, "anthropic") {
				look(fault.name, c, fault)
			}
		}
		look("a deadline before the head", c.until(false), misbehaviour{says: func(s *saying, _ answer) { s.late() }})
		look("a deadline behind the head", c.until(true), misbehaviour{says: func(s *saying, a answer) { s.part(a, 0); s.late() }})
	}
	busy.Wait()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			one := all[name]
			t.Logf("%s", one.bare)
			assert.Equal(t, one.bare, one.recorded, "recorded")
			assert.Equal(t, one.bare, one.again, "played again")
			assert.Nil(t, one.report.Divergence, "%s", one.report)
		})
	}
}

// cells returns the cells of a client.
func cells(t *testing.T, c faulted, broken map[spot]seen) []cell {
	faults := explorable(c.usual)
	for at, one := range broken {
		if strings.HasPrefix(at.kind.String(), "chat-") { // the explorer chooses the bytes of these faults
			faults[at] = misbehaviour{says: func(s *saying, a answer) { s.all(a.with(one.body)) }}
		}
		assert.Contains(t, slices.Collect(maps.Keys(faults)), at, "%s: the explorer makes %s, which no server here does", c.name, at)
	}
	all := make([]cell, 0, len(faults))
	for at := range faults {
		if _, made := broken[at]; made || !at.eachTime { // there is no second time if the fault was not made
			all = append(all, cell{at: at, broken: broken[at].outcome})
		}
	}
	slices.SortFunc(all, func(a, b cell) int { return strings.Compare(a.at.String(), b.at.String()) })
	var busy sync.WaitGroup
	for i := range all {
		one := &all[i]
		busy.Go(func() { one.bare = bare(t, c, faults[one.at]) })
		busy.Go(func() { one.recorded, one.again, one.report = recorded(t, c, faults[one.at]) })
	}
	busy.Wait()
	return all
}
