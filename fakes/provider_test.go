package fakes_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adkreplay/adkreplay/fakes"
)

// ask posts a body to a provider and returns the answer.
func ask(t *testing.T, p *fakes.Provider, body string) (status int, contentType, answer string) {
	t.Helper()
	response, err := http.Post(p.URL()+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header.Get("Content-Type"), string(data)
}

func TestProviderServesInOrder(t *testing.T) {
	p := fakes.NewProvider(fakes.Converse(
		fakes.Reply{ContentType: "application/json", Body: `{"one":1}`},
		fakes.Reply{Status: 429, ContentType: "application/json", Body: `{"error":"slow down"}`},
	))
	defer p.Close()
	if status, kind, body := ask(t, p, "a"); status != 200 || kind != "application/json" || body != `{"one":1}` {
		t.Errorf("got %d %s %s", status, kind, body)
	}
	if status, _, body := ask(t, p, "b"); status != 429 || body != `{"error":"slow down"}` {
		t.Errorf("got %d %s", status, body)
	}
	if status, _, body := ask(t, p, "c"); status != 500 || !strings.Contains(body, "has 2 interactions and this is request 3") {
		t.Errorf("got %d %s, want a 500 that says why", status, body)
	}
	requests := p.Requests()
	if len(requests) != 3 || requests[1].Method != "POST" || requests[1].URL != "/v1/chat/completions" || requests[1].Body != "b" {
		t.Errorf("remembers %+v", requests)
	}
}

// A streamed reply can be put together again, fragment by fragment.
func TestProviderStreams(t *testing.T) {
	p := fakes.NewProvider(fakes.Converse(
		fakes.StreamReply("It ", "rains."),
		fakes.StreamToolCall("call_1", "weather", `{"ci`, `ty":"Oslo"}`),
		fakes.StreamToolCalls("I will look.", fakes.StreamedCall{ID: "call_1", Name: "weather", ArgumentFragments: []string{`{"ci`, `ty":"Oslo"}`}},
			fakes.StreamedCall{ID: "call_2", Name: "time", ArgumentFragments: []string{`{}`}}),
	))
	defer p.Close()
	_, kind, body := ask(t, p, "")
	if text, _, finish := collect(t, body); kind != "text/event-stream" || text != "It rains." || finish != "stop" {
		t.Errorf("%s: got %q, %s", kind, text, finish)
	}
	_, _, body = ask(t, p, "")
	if _, call, finish := collect(t, body); call != `0: call_1 weather {"city":"Oslo"}` || finish != "tool_calls" {
		t.Errorf("got %s, %s", call, finish)
	}
	_, _, body = ask(t, p, "")
	text, call, finish := collect(t, body)
	if text != "I will look." || call != `0: call_1 weather {"city":"Oslo"}1: call_2 time {}` || finish != "tool_calls" {
		t.Errorf("got %s, %s, %s", text, call, finish)
	}
}

// collect puts a streamed reply together.
func collect(t *testing.T, body string) (text, call, finish string) {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(body))
	done := false
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if done = data == "[DONE]"; done || !ok {
			continue
		}
		var c struct {
			Choices []struct {
				Delta struct {
					Content   string
					ToolCalls []struct {
						Index    int
						ID       string
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
				FinishReason string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatal(err)
		}
		for _, choice := range c.Choices {
			text += choice.Delta.Content
			finish += choice.FinishReason
			for _, d := range choice.Delta.ToolCalls {
				if d.ID != "" {
					call += fmt.Sprintf("%d: %s %s ", d.Index, d.ID, d.Function.Name)
				}
				call += d.Function.Arguments
			}
		}
	}
	if !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Error("the stream does not end with [DONE]")
	}
	return text, call, finish
}

// Recorded conversations are served byte for byte.
func TestProviderServesRecordings(t *testing.T) {
	files, _ := filepath.Glob("../../shared/cassettes/*.json")
	if len(files) == 0 {
		t.Skip("no recorded conversations at ../../shared/cassettes")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			recorded, err := fakes.ReadConversation(f)
			if err != nil {
				t.Fatal(err)
			}
			p := fakes.NewProvider(recorded)
			defer p.Close()
			for i, x := range recorded.Interactions {
				status, kind, body := ask(t, p, x.Request.Body)
				if status != x.Response.Status || kind != x.Response.ContentType || body != x.Response.Body {
					t.Errorf("interaction %d: got %d %s and %d bytes, want %d %s and %d bytes", i,
						status, kind, len(body), x.Response.Status, x.Response.ContentType, len(x.Response.Body))
				}
			}
		})
	}
}

func TestReadConversationRefuses(t *testing.T) {
	for _, text := range []string{"", "[]", `{"source":"x"}`} {
		if _, err := fakes.ReadConversation(strings.NewReader(text)); err == nil {
			t.Errorf("%q is read as a conversation", text)
		}
	}
}

// A closed provider refuses connections at once, also when it was closed right after it began.
func TestClosedProviderRefuses(t *testing.T) {
	for range 50 {
		p := fakes.NewProvider(fakes.Converse(fakes.StreamReply("Hello.")))
		p.Close()
		connection, err := net.Dial("tcp", strings.TrimPrefix(p.URL(), "http://"))
		if err == nil {
			connection.Close()
			t.Fatal("a closed provider took a connection")
		}
	}
}

// A scripted model answers in the form of the API that it is asked through. A reply that a test has changed is
// sent unchanged, and so is every reply to an unknown API.
func TestScriptedRepliesTakeTheFormAsked(t *testing.T) {
	changed := fakes.StreamReply("Hello.")
	changed.Body += ": the end\n\n"
	call := fakes.StreamToolCall("call_1", "weather", `{"city":`)
	for _, c := range []struct {
		reply            fakes.Reply
		path, body, want string
		status           int
	}{
		{fakes.StreamReply("Hello."), "/v1/messages", `{}`, `"content":[{"type":"text","text":"Hello."}]`, 200},
		{fakes.StreamReply("Hello."), "/v1/messages", `{"stream":true}`, `"delta":{"type":"text_delta","text":"Hello."}`, 200},
		{fakes.StreamReply("Hello."), "/ask", `{}`, `"delta":{"content":"Hello."}`, 200},
		{changed, "/v1/messages", `{}`, ": the end", 200},
		{call, "/v1/responses", `{}`, `"arguments":"{\"city\":"`, 200},
		{call, "/v1/messages", `{}`, "fakes: interaction 1 cannot be said to request 1, POST /v1/messages: the arguments of the call call_1 of weather are no JSON object", 500},
	} {
		p := fakes.NewProvider(fakes.Converse(c.reply))
		response, err := http.Post(p.URL()+c.path, "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != c.status || !strings.Contains(string(said), c.want) {
			t.Errorf("%s %s: %d, %v:\n%s\nwant %s", c.path, c.body, response.StatusCode, err, said, c.want)
		}
		response.Body.Close()
		p.Close()
	}
}
