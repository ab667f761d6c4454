package explore_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// completion is an answer of Chat Completions without streaming.
const completion = `{"choices":[{"index":0,"message":{"role":"assistant","content":"sun"},"finish_reason":"stop"}]}`

// askingAll returns a subject that asks in every way and logs the answers.
func askingAll() turn.Subject {
	return turn.Subject{Name: "asks", Scripted: true, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		client := &http.Client{Transport: adkhttp.NewTransport(fakes.NewTransport(fakes.Converse(
			fakes.StreamToolCall("call_1", "weather", `{"ci`, `ty":"Oslo"}`), fakes.Reply{ContentType: "application/json", Body: completion})))}
		run := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			began := dc.Now()
			log := func(who string, said any, err error) {
				h.Log(adk.LevelInfo, who, fmt.Sprintf("%s: %v, %v, %s", who, said, err, dc.Now().Sub(began)), nil)
			}
			for range 2 {
				said, err := post(ctx, client)
				log("http", said, err)
			}
			for range 2 {
				degrees, err := adk.Ask(ctx, "service", "Oslo", func(context.Context, string) (int, error) { return 4, nil })
				log("ask", degrees, err)
			}
			var words []string
			var last error
			for word, err := range adk.AskStream(ctx, "words", "Oslo", func(_ context.Context, _ string, hand func(string) error) error {
				for _, word := range []string{"it", "rains"} {
					if err := hand(word); err != nil {
						return err
					}
				}
				return nil
			}) {
				if last = err; err == nil {
					words = append(words, word)
				}
			}
			log("stream", words, last)
			return dc.Ack()
		}
		return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Help."}
	}}
}

// post asks a model over HTTP and returns the status and the body.
func post(ctx context.Context, client *http.Client) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example/v1/chat/completions", bytes.NewReader([]byte(`{"messages":[],"stream":true}`)))
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return fmt.Sprint(resp.StatusCode, " ", string(body)), err
}

// saying returns a check that fails with the first line of the log that differs from the log without a
// fault.
func saying() func(turn.Run) error {
	var usual []string
	return func(r turn.Run) error {
		var all, odd []string
		for x := range r.Crossings {
			if x.Kind == adk.KindReportLog {
				all = append(all, x.Text)
			}
		}
		if usual == nil {
			usual = all
		}
		for i, said := range all {
			if said != usual[i] {
				odd = append(odd, said)
			}
		}
		if odd == nil {
			return nil
		}
		return errors.New(strings.Join(odd, "\n"))
	}
}

// Each fault of the world reaches user code where it asks, as the real fault would: as an error of the same
// type, as a status, or as bytes.
func TestFaultsOfTheWorldArrive(t *testing.T) {
	subject := checked(askingAll(), saying())
	explored(t, subject, explore.Options{Faults: []turn.FaultKind{}})
	half := completion[:len(completion)/2]
	for kind, want := range map[turn.FaultKind][]string{
		turn.AskRefused:      {"http: , Post \"https://model.example/v1/chat/completions\": dial tcp 192.0.2.1:443: connect: connection refused", "ask: 0, dial tcp 192.0.2.1:443: connect: connection refused", "stream: [], dial tcp 192.0.2.1:443"},
		turn.AskTimeout:      {"chat/completions\": dial tcp 192.0.2.1:443: i/o timeout", "ask: 0, dial tcp 192.0.2.1:443: i/o timeout"},
		turn.AskStalled:      {"read tcp 192.0.2.1:443: i/o timeout", "stream: [it], read tcp 192.0.2.1:443: i/o timeout", "stream: [], read tcp 192.0.2.1:443: i/o timeout"},
		turn.AskBusy:         {`http: 429 {"error":{"code":429,"message":"Too Many Requests"}}, <nil>`},
		turn.AskFailed:       {"http: 500 {"},
		turn.AskUnavailable:  {"http: 503 {"},
		turn.AskUnauthorized: {"http: 401 {"},
		turn.AskCut:          {"chat/completions\": EOF", "http: 200 , unexpected EOF", "}\n\n, unexpected EOF", "stream: [it], unexpected EOF"},
		turn.AskCutWithin:    {"http: 200 " + half + ", unexpected EOF"},
		turn.AskTwice:        {"stream: [it it rains], <nil>", "stream: [it rains rains], <nil>", "http: 200 data: "},
		turn.AskEmpty:        {"http: 200 , <nil>", "ask: 0, <nil>", "stream: [], <nil>"},
		turn.AskShort:        {"http: 200 " + half + ", <nil>", "\n\n, <nil>"},
		turn.AskOther:        {"http: 200 " + completion + ", <nil>, 0s"},
		turn.AskSlow:         {"ask: 4, <nil>, 1h0m0s", "stream: [it rains], <nil>, 1h0m0s", "<nil>, 1h0m0s"},
		turn.ChatArguments:   {`{\"city\": `},
		turn.ChatTool:        {"weather_that_there_is_not"},
		turn.ChatTwins:       {`"id":"call_1","index":1`},
		turn.ChatLength:      {`"finish_reason":"length"`, `"arguments":"ty\":\""`, `"content":"s"`},
		turn.ChatSeveral:     {`call_1_again`},
		turn.AskDown:         {"dial tcp 192.0.2.1:443: connect: connection refused", "ask: 0, dial tcp 192.0.2.1:443: connect: connection refused"},
		turn.ChatRefusal:     {`"refusal":"I cannot help with that."`},
		turn.AskBare:         {"http: 200 {}, <nil>"},
		turn.AskAgain:        {"call_1_again1"},
	} {
		t.Run(kind.String(), func(t *testing.T) {
			result := explored(t, subject, explore.Options{Faults: []turn.FaultKind{kind}})
			var said strings.Builder
			for _, v := range append(result.Violations, result.Hints...) {
				said.WriteString(v.Text + "\n")
				require.NotEmpty(t, v.Where, "%s: %s", v.Invariant, v.Text)
				assert.Contains(t, v.Where[0], kind.String())
			}
			for _, one := range want {
				assert.Contains(t, said.String(), one)
			}
		})
	}
}

// strange returns a subject that asks a model over HTTP. The answers are valid but unusual: JSON with white
// space, events without a space after "data:", and a Content-Length. The client stops reading at the last
// event.
func strange() turn.Subject {
	spaced := strings.NewReplacer("{", "{ ", ":", ": ", ",", ",\n  ").Replace(completion) + "\n"
	event := `data:{"choices":[{"index":0,"delta":{"content":"sun"},"finish_reason":"stop"}]}`
	return executing("asks", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		client := &http.Client{Transport: adkhttp.NewTransport(fakes.NewTransport(fakes.Converse(
			fakes.Reply{ContentType: "application/json", Headers: http.Header{"Content-Length": {fmt.Sprint(len(spaced))}}, Body: spaced},
			fakes.Reply{ContentType: "text/event-stream", Body: event + "\n\ndata: [DONE]\n\n"})))}
		for range 2 {
			said := ""
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example", strings.NewReader(`{"messages":[]}`))
			resp, err := client.Do(req)
			if err == nil {
				said = fmt.Sprint(resp.ContentLength, " ")
				for lines := bufio.NewScanner(resp.Body); lines.Scan() && lines.Text() != "data: [DONE]"; {
					said += lines.Text()
				}
				_ = resp.Body.Close()
			}
			h.Log(adk.LevelInfo, "said", fmt.Sprint(said, " ", err), nil)
		}
		return dc.Ack()
	})
}

// A tool that asks over HTTP with its own context is not accused if the explorer hides the end of that context
// from it: in reality its HTTP client would have noticed.
func TestDeafToolThatAsksOverHTTP(t *testing.T) {
	s := subject("asks over HTTP", func(c *adk.Config) adk.RawTurn {
		client := &http.Client{Transport: adkhttp.NewTransport(fakes.NewTransport(fakes.Converse(fakes.Reply{ContentType: "application/json", Body: `{"state":"sent"}`})))}
		c.Tools = []*adk.Tool{fakes.NewTool("order", "Finds an order.").Tool().WithHandler(func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://shop.example/orders/A1", nil)
			require.NoError(t, err)
			resp, err := client.Do(req)
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			return adk.Text(string(body)), err
		})}
		c.Executor = fakes.Script{{fakes.Call("order", `{}`)}, {fakes.Say("It was sent."), fakes.Ack()}}.Executor("model")
		return adk.RawTurn{SystemPrompt: "Help."}
	})
	result := explored(t, s, explore.Options{Faults: []turn.FaultKind{turn.LateTool}})
	assert.Empty(t, result.Violations, result)
	assert.True(t, slices.ContainsFunc(result.Table.Rows, func(r explore.TableRow) bool { return r.Cells[0].Tried > 0 }), "the tool was made deaf")
}

// Asks over HTTP get the faults of HTTP, whatever their path, the white space in their JSON and the
// form of their events are, even if the client stops reading once it has everything. A Content-Length
// header gives the length of the changed body.
func TestFaultsOfStrangeAnswers(t *testing.T) {
	subject := checked(strange(), saying())
	subject.Scripted = true
	explored(t, subject, explore.Options{Faults: []turn.FaultKind{}})
	for kind, want := range map[turn.FaultKind][]string{
		turn.AskUnauthorized: {`{"error":{"code":401`},
		turn.AskEmpty:        {"0  <nil>", "-1  <nil>"},
		turn.AskShort:        {`56 { "choices": `, `"role": "assi <nil>`, `-1 data:{"choices":[{"index":0,"delta":{"cont <nil>`},
		turn.ChatLength:      {`"content":"s"`, `data:{"choices":[{"delta":{"content":"s"},"finish_reason":"length"`},
		turn.ChatRefusal:     {`I cannot help with that.`},
	} {
		t.Run(kind.String(), func(t *testing.T) {
			result := explored(t, subject, explore.Options{Faults: []turn.FaultKind{kind}})
			var said strings.Builder
			for _, v := range append(result.Violations, result.Hints...) {
				said.WriteString(v.Text + "\n")
			}
			for _, one := range want {
				assert.Contains(t, said.String(), one)
			}
			assert.NotContains(t, said.String(), "unexpected EOF")
		})
	}
}

// A request takes effect although its answer is lost, but not if the fault means that nobody took it. A config
// that answers in place of the world prevents that the world is asked.
func TestWhatIsDoneAlthoughItsAnswerIsLost(t *testing.T) {
	for kind, want := range map[turn.FaultKind]int{turn.AskLost: 2, turn.AskRefused: 1, turn.AskTimeout: 1, turn.AskSlow: 1, turn.AskDown: 0} {
		for _, recorded := range []bool{false, true} {
			var mu sync.Mutex
			paid := map[int]bool{}
			s := turn.Subject{Name: "pays", Open: func(context.CancelCauseFunc) turn.Instance {
				done := 0
				pay := func(ctx context.Context) error {
					_, err := adk.Ask(ctx, "bank", "5", func(context.Context, string) (string, error) { done++; return "paid", nil })
					return err
				}
				config := adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
					if pay(ctx) != nil {
						_ = pay(ctx)
					}
					return dc.Ack()
				}}}
				if recorded {
					config.Outside = func(context.Context, adk.Question) *adk.Answer { return &adk.Answer{Value: json.RawMessage(`"paid"`)} }
				}
				return turn.Instance{Config: config, Raw: adk.RawTurn{SystemPrompt: "Help."}, Check: func(r turn.Run) error {
					if len(r.Schedule.Faults) > 0 && r.Schedule.Faults[0].Times == 0 {
						mu.Lock()
						defer mu.Unlock()
						paid[done] = true
					}
					return nil
				}}
			}}
			explored(t, s, explore.Options{Faults: []turn.FaultKind{kind}})
			if recorded {
				want = 0
			}
			assert.Equal(t, map[int]bool{want: true}, paid, "%s, recorded: %v", kind, recorded)
		}
	}
}

// If the world gave an answer that looks right but is wrong, what a check says of the run is only a hint: an
// agent cannot know, unless it doubts every answer.
func TestAnswersThatLookRight(t *testing.T) {
	s := executing("asks", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		for _, city := range []string{"Oslo", "Rome"} {
			text, err := adk.Ask(ctx, "weather", city, func(_ context.Context, city string) (string, error) { return "of " + city, nil })
			if err != nil {
				return err
			}
			h.Log(adk.LevelInfo, city, text, nil)
		}
		return dc.Ack()
	})
	s.Check = func(r turn.Run) error {
		for x := range r.Crossings {
			if x.Kind == adk.KindReportLog && x.Text != "of "+x.Name {
				return fmt.Errorf("the weather %s is told for that of %s", x.Text, x.Name)
			}
		}
		return nil
	}
	for _, kind := range []turn.FaultKind{turn.AskOther, turn.AskEmpty} {
		result := explored(t, s, explore.Options{Faults: []turn.FaultKind{kind}})
		assert.Empty(t, result.Violations, result)
		require.NotEmpty(t, result.Hints, kind)
		assert.Contains(t, result.Hints[0].Text, "is told for that of Oslo")
		assert.NotEmpty(t, result.Hints[0].Where, "a hint is shown too")
	}
	s.Check = func(r turn.Run) error {
		if len(r.Schedule.Faults) > 0 {
			return errors.New("something is wrong")
		}
		return nil
	}
	result := explored(t, s, explore.Options{Faults: []turn.FaultKind{turn.AskOther, turn.AskLost}})
	assert.Len(t, result.Violations, 1, result)
	assert.Empty(t, result.Hints, "what is a violation is not said again")
}

// If two faults strike one answer, both take effect: the later one breaks what the earlier one left
// over.
func TestTwoFaultsOfOneAnswer(t *testing.T) {
	var came []string
	s := executing("asks", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		text := ""
		for piece, err := range adk.AskStream(ctx, "model", "?", func(_ context.Context, _ string, yield func(string) error) error {
			return errors.Join(yield("it "), yield("rains"))
		}) {
			if err != nil {
				h.Log(adk.LevelWarn, "model", err.Error(), nil)
				return dc.Ack()
			}
			text += piece
		}
		h.Log(adk.LevelInfo, "model", text, nil)
		return dc.Ack()
	})
	s.Check = func(r turn.Run) error {
		for x := range r.Crossings {
			if x.Kind == adk.KindReportLog && len(r.Schedule.Faults) == 2 {
				came = append(came, x.Text)
			}
		}
		return nil
	}
	result := explored(t, s, explore.Options{Bound: 2, Workers: 1, Faults: []turn.FaultKind{turn.AskSlow, turn.AskCut}})
	assert.Empty(t, result.Violations, result)
	assert.Contains(t, came, "unexpected EOF")
}

// Each answer may be lost, so that an agent that retries ends without one although its request took effect. An
// ask that a lasting fault keeps failing is not given another answer by a second fault.
func TestAnswersThatAreLostEachTime(t *testing.T) {
	s := executing("pays", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		for range 3 {
			if _, err := adk.Ask(ctx, "bank", "5", func(context.Context, string) (string, error) { return "paid", nil }); err == nil {
				return dc.Ack()
			}
		}
		h.Log(adk.LevelWarn, "bank", "nobody answers", nil)
		return dc.Ack()
	})
	s.Check = func(r turn.Run) error {
		done, heard := 0, false
		for x := range r.Crossings {
			switch {
			case x.Kind == adk.KindAsk && x.Phase == adk.Done && x.Err == nil:
				heard = true
			case x.Kind == adk.KindAsk && x.Phase == adk.Done:
				done++
			}
		}
		if done == 3 && !heard {
			return errors.New("paid three times, and told as not at all")
		}
		return nil
	}
	lost := explored(t, s, explore.Options{Faults: []turn.FaultKind{turn.AskLost}})
	require.Len(t, lost.Violations, 1, lost)
	assert.Regexp(t, `^ask-lost@\d+\*all$`, lost.Violations[0].Schedule.String())

	var pairs []string
	s.Check = func(r turn.Run) error {
		if f := r.Schedule.Faults; len(f) == 2 && f[0].Kind == turn.AskDown {
			pairs = append(pairs, r.Schedule.String())
		}
		return nil
	}
	explored(t, s, explore.Options{Bound: 2, Workers: 1, Faults: []turn.FaultKind{turn.AskDown, turn.AskSlow}})
	assert.Empty(t, pairs, "nobody takes the call, and it takes an hour")
}
