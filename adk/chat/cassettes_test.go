package chat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/thorough"
)

// cassettes is the directory of recorded conversations of other agents, which lies beside the project
// on some machines.
const cassettes = "../../../shared/cassettes"

// recordings returns the recorded conversations by the names of their files.
func recordings(t *testing.T) map[string]fakes.Conversation {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(cassettes, "*.json"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("there are no recorded conversations in " + cassettes)
	}
	all := map[string]fakes.Conversation{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all[filepath.Base(file)], err = fakes.ReadConversation(bytes.NewReader(text))
		require.NoError(t, err)
	}
	return all
}

// recorded is the content of one recorded answer, read in the simplest way.
type recorded struct {
	text  string
	calls []string // name and arguments
}

func readRecorded(t *testing.T, body string) (all recorded) {
	t.Helper()
	var names, arguments []string
	if strings.HasPrefix(strings.TrimSpace(body), "{") { // not a stream
		body = compacted(body)
	}
	for line := range strings.SplitSeq(body, "\n") {
		line = strings.TrimPrefix(strings.TrimSuffix(line, "\r"), "data: ")
		if !strings.HasPrefix(line, "{") {
			continue
		}
		type message struct {
			Content   string
			ToolCalls []struct {
				Index    int
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		var c struct {
			Choices []struct{ Delta, Message message }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &c))
		for _, choice := range c.Choices {
			all.text += choice.Delta.Content + choice.Message.Content
			for _, call := range append(choice.Delta.ToolCalls, choice.Message.ToolCalls...) {
				for len(names) <= call.Index {
					names, arguments = append(names, ""), append(arguments, "")
				}
				names[call.Index] += call.Function.Name
				arguments[call.Index] += call.Function.Arguments
			}
		}
	}
	for i, name := range names {
		all.calls = append(all.calls, name+arguments[i])
	}
	return all
}

// SSE-1 to SSE-9, ANS-1, ANS-5: what real servers answered is kept completely, streamed or not. An
// answer that wants no tool ends the dispatch.
func TestRecordings(t *testing.T) {
	for name, conversation := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			for _, one := range conversation.Interactions {
				want := readRecorded(t, one.Response.Body)
				options := whole()
				options.Stream = new(strings.Contains(one.Request.Body, `"stream":true`))
				from := reply{status: one.Response.Status, kind: one.Response.ContentType, body: one.Response.Body}
				p := play(t, scene{options: options, replies: []reply{from}})
				if one.Response.Status >= 300 {
					var answered *chat.HTTPFailure
					require.ErrorAs(t, p.failure(t), &answered)
					assert.Equal(t, one.Response.Status, answered.Status)
					continue
				}
				p.acked(t)
				var text string
				for _, m := range p.storage.Messages() {
					text += m.Content().String()
				}
				assert.Equal(t, want.text, text)
				var calls []string
				for _, c := range p.storage.ToolCalls() {
					args, err := json.Marshal(c.Args())
					require.NoError(t, err)
					calls = append(calls, c.Tool()+string(args))
				}
				assert.Equal(t, len(want.calls), len(calls))
				for i, call := range calls {
					assert.Equal(t, compacted(want.calls[i]), call)
				}
			}
		})
	}
}

// recordedRequest holds the parts of a recorded request that the tests read.
type recordedRequest struct {
	Stream   bool
	Messages []struct {
		Role       string
		Content    any
		ToolCallID string `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	Tools []struct {
		Function struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
}

// toolsOf returns the tools of a recorded conversation, which give the recorded results.
func toolsOf(t *testing.T, first recordedRequest, results map[string]string) (all []*adk.Tool) {
	for _, described := range first.Tools {
		f := described.Function
		if len(f.Parameters) == 0 {
			f.Parameters = json.RawMessage(`{"type":"object"}`)
		}
		all = append(all, tool(t, f.Name, func(map[string]any) (adk.ToolResult, error) { return adk.Text(results[f.Name]), nil }, func(init *adk.ToolInit) {
			init.InputSchema = f.Parameters
			if f.Description != "" {
				init.Description = f.Description
			}
		}))
	}
	return all
}

// CAL-1, REQ-10, PRO-6: whole turns of other agents, with their tools and results. The next request to
// the model holds the same calls and results as the recorded request did, with the
// same ids.
func TestRecordedTurns(t *testing.T) {
	turns := 0
	for name, conversation := range recordings(t) {
		var asked []recordedRequest
		var replies []reply
		for _, one := range conversation.Interactions {
			var request recordedRequest
			require.NoError(t, json.Unmarshal([]byte(one.Request.Body), &request))
			asked = append(asked, request)
			replies = append(replies, reply{status: one.Response.Status, kind: one.Response.ContentType, body: one.Response.Body})
		}
		last := asked[len(asked)-1]
		if at := len(last.Messages); len(asked) < 2 || last.Messages[at-1].Role != "tool" {
			continue // a turn without a tool
		}
		turns++
		t.Run(name, func(t *testing.T) {
			results, wanted := map[string]string{}, []string{}
			names := map[string]string{}
			for _, m := range last.Messages {
				for _, call := range m.ToolCalls {
					names[call.ID] = call.Function.Name
					wanted = append(wanted, call.ID)
				}
				if text, isText := m.Content.(string); isText && m.Role == "tool" {
					results[names[m.ToolCallID]] = text
				}
			}
			options := whole()
			options.Stream = &asked[0].Stream
			p := play(t, scene{options: options, replies: replies, tools: toolsOf(t, asked[0], results)}).acked(t)
			require.Len(t, p.bodies, len(asked))
			var sent recordedRequest
			require.NoError(t, json.Unmarshal([]byte(p.bodies[len(asked)-1]), &sent))
			var made, calls, arguments []string
			for _, m := range sent.Messages {
				for _, call := range m.ToolCalls {
					made, calls = append(made, call.ID), append(calls, call.Function.Name+call.Function.Arguments)
				}
				if m.Role == "tool" {
					assert.Contains(t, m.Content, results[names[m.ToolCallID]])
				}
			}
			for _, answer := range replies[:len(replies)-1] {
				for _, call := range readRecorded(t, answer.body).calls {
					arguments = append(arguments, compacted(call))
				}
			}
			assert.Equal(t, wanted, made)
			assert.Equal(t, arguments, calls)
			assert.Equal(t, readRecorded(t, replies[len(replies)-1].body).text, said(p))
			for _, call := range p.storage.ToolCalls() {
				assert.False(t, call.IsError(), "%s", resultText(t, call.Results()))
			}
		})
	}
	assert.GreaterOrEqual(t, turns, 3)
}

// compacted returns a tool's name and its arguments as canonical JSON.
func compacted(call string) string {
	at := strings.IndexByte(call, '{')
	var args any
	if at < 0 || json.Unmarshal([]byte(call[at:]), &args) != nil {
		return call
	}
	text, _ := json.Marshal(args)
	return call[:at] + string(text)
}

// streams returns the streams to break: one of our own that holds everything, and recorded ones.
func streams(t *testing.T) map[string]string {
	all := map[string]string{"our own": events(
		`{"id":"r","choices":[{"delta":{"role":"assistant","content":"Ærlig "}}]}`,
		`{"choices":[{"delta":{"reasoning":"hm","content":"talt"}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"weather","arguments":"{\"city\":"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Oslo\"}"}}]},"finish_reason":"tool_calls"}]}`,
		`{"choices":[],"usage":{"total_tokens":1}}`).body}
	if !thorough.All() {
		return all
	}
	files, _ := filepath.Glob(filepath.Join(cassettes, "cagent-*_ToolCall.json"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		conversation, err := fakes.ReadConversation(bytes.NewReader(text))
		require.NoError(t, err)
		all[filepath.Base(file)] = conversation.Interactions[0].Response.Body
	}
	return all
}

// SSE-9, SSE-10, RTY-5, RTY-1: a stream that ends, breaks, stalls or is aborted at any of its bytes
// never hangs, panics or is stored in part, and an abort stays an abort.
func TestStreamsBrokenAtEachByte(t *testing.T) {
	reset := errors.New("connection reset")
	for name, body := range streams(t) {
		t.Run(name, func(t *testing.T) {
			whole := readRecorded(t, body)
			done := strings.Index(body, "[DONE]") + len("[DONE]")
			step := 1 + len(body)/4000
			for at := 0; at <= len(body); at += step {
				isDone := at > done+1 // the event of [DONE] is complete
				p := broken(t, body[:at], nil, nil)
				assert.Empty(t, p.failures, "ended at %d", at)
				assert.Equal(t, adk.StatusAck, p.end.Status)
				assert.True(t, strings.HasPrefix(whole.text, said(p)), "ended at %d: %q", at, said(p))

				p = broken(t, body[:at], iotest.ErrReader(reset), nil)
				if isDone {
					assert.Empty(t, p.failures, "broken at %d", at)
				} else {
					assert.ErrorIs(t, p.failure(t), reset, "broken at %d", at)
					assert.ErrorIs(t, p.failure(t), adk.E_OPENAI_CHAT_COMPLETIONS_STREAM_ERROR)
					assert.Empty(t, p.storage.Messages(), "broken at %d", at)
					assert.Empty(t, p.storage.Thoughts(), "broken at %d", at)
					assert.Empty(t, p.storage.ToolCalls(), "broken at %d", at)
				}

				p = broken(t, body[:at], nil, func(dc *adk.DispatchContext) { assert.NoError(t, dc.Abort(nil)) })
				assert.Empty(t, p.failures, "aborted at %d", at)
				assert.Empty(t, p.storage.Messages(), "aborted at %d", at)
				assert.Empty(t, p.storage.ToolCalls(), "aborted at %d", at)
				assert.Equal(t, adk.StatusAborted, p.end.Status, "aborted at %d", at)

				p = stalled(t, body[:at], body[at:])
				if isDone {
					assert.Empty(t, p.failures, "silent from %d on", at)
				} else {
					assert.ErrorIs(t, p.failure(t), adk.E_OPENAI_CHAT_COMPLETIONS_STREAM_STALLED, "silent from %d on", at)
					assert.Empty(t, p.storage.Messages(), "silent from %d on", at)
					assert.Empty(t, p.storage.ToolCalls(), "silent from %d on", at)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// broken plays a stream that goes on with another reader, or is aborted where its text ends.
func broken(t *testing.T, text string, then io.Reader, abort func(*adk.DispatchContext)) *played {
	t.Helper()
	var p played
	from := io.Reader(strings.NewReader(text))
	switch {
	case then != nil:
		from = io.MultiReader(from, then)
	case abort != nil:
		from = &aborting{strings.NewReader(text), func() { abort(p.current) }}
	}
	sc := scene{options: streaming(), replies: []reply{{kind: "text/event-stream", from: from}}, bare: true}
	playOn(t, &p, sc)
	return &p
}

// stalled plays a stream that is silent for longer than it may, on the turn's clock, between two parts
// of it.
func stalled(t *testing.T, said, unsaid string) *played {
	t.Helper()
	var p played
	options := streaming()
	options.StreamIdleTimeout = new(time.Second)
	piece := func(text string) json.RawMessage { return httpform.PieceOf(httpform.Whole, []byte(text)).JSON() }
	playOn(t, &p, scene{options: options, bare: true, change: func(config *adk.Config) {
		*config = fakes.Deterministic(*config)
		config.Outside = func(context.Context, adk.Question) *adk.Answer {
			return pieces(streamHead, 0, adk.Piece{Value: piece(said)}, adk.Piece{Value: piece(unsaid), After: 2 * time.Second})
		}
	}})
	return &p
}

// aborting aborts when the last bytes of a stream are read.
type aborting struct {
	from  *strings.Reader
	abort func()
}

func (a *aborting) Read(p []byte) (int, error) {
	n, err := a.from.Read(p)
	if a.from.Len() == 0 && a.abort != nil {
		a.abort()
		a.abort = nil
	}
	return n, err
}

// said returns the texts of the messages in the storage.
func said(p *played) (text string) {
	for _, m := range p.storage.Messages() {
		text += m.Content().String()
	}
	return text
}
