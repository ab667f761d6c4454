package explore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// completion is an answer of Chat Completions that is not streamed.
const completion = `{"choices":[{"index":0,"message":{"role":"assistant","content":"sun"},"finish_reason":"stop"}]}`

// askingAll asks in every way and logs what it is answered.
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

// post asks a model over HTTP, and gives the status and the body.
func post(ctx context.Context, client *http.Client) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example/v1/chat/completions", bytes.NewReader([]byte(`{"messages":[]}`)))
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

// saying is a check that finds what the log says, line by line, where that is not what it
// says without a fault: what it says first.
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

// Each fault of the world arrives where user code asks: as an error of the type that the
// world's has, as a status, or as bytes.
func TestFaultsOfTheWorldArrive(t *testing.T) {
	subject := checked(askingAll(), saying())
	explored(t, subject, explore.Options{Faults: []turn.FaultKind{}})
	half := completion[:len(completion)/2]
	for kind, want := range map[turn.FaultKind][]string{
		turn.AskRefused:      {"http: , Post \"https://model.example/v1/chat/completions\": dial tcp: connect: connection refused", "ask: 0, dial tcp: connect: connection refused", "stream: [], dial tcp"},
		turn.AskTimeout:      {"chat/completions\": dial tcp: i/o timeout", "ask: 0, dial tcp: i/o timeout"},
		turn.AskStalled:      {"read tcp: i/o timeout", "stream: [it], read tcp: i/o timeout", "stream: [], read tcp: i/o timeout"},
		turn.AskBusy:         {`http: 429 {"error":{"code":429,"message":"Too Many Requests"}}, <nil>`},
		turn.AskFailed:       {"http: 500 {"},
		turn.AskUnavailable:  {"http: 503 {"},
		turn.AskUnauthorized: {"http: 401 {"},
		turn.AskCut:          {"http: , Post", "http: 200 , unexpected EOF", "}\n\n, unexpected EOF", "stream: [it], unexpected EOF"},
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
		turn.AskDown:         {"dial tcp: connect: connection refused", "ask: 0, dial tcp: connect: connection refused"},
		turn.ChatRefusal:     {`"refusal":"I cannot help with that."`},
	} {
		t.Run(kind.String(), func(t *testing.T) {
			result := explored(t, subject, explore.Options{Faults: []turn.FaultKind{kind}})
			var said strings.Builder
			for _, v := range result.Violations {
				said.WriteString(v.Text + "\n")
				assert.Contains(t, v.Where[0], kind.String())
			}
			for _, one := range want {
				assert.Contains(t, said.String(), one)
			}
		})
	}
}
