package chat_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
)

// whole returns options for answers that are not streamed.
func whole() chat.Options { return chat.Options{Stream: new(false), AutoAck: new(true)} }

// streaming returns options for streamed answers.
func streaming() chat.Options { return chat.Options{AutoAck: new(true)} }

// ANS-1, ANS-2: a plain answer gives one complete report and one message, which is the agent's.
func TestPlainAnswer(t *testing.T) {
	p := play(t, scene{options: whole(), replies: []reply{saying("Hello.")}, records: []adk.Record{asking(t, "Hi.")}}).acked(t)
	assert.Equal(t, []string{"said Hello."}, p.texts())
	require.Len(t, p.reports, 1)
	assert.Contains(t, p.reports[0], `"Hello." complete`)
	said := p.storage.Messages()[1]
	assert.Equal(t, "assistant", said.Identity().Identifier())
}

// ANS-1, ANS-5: an answer without a choice stores nothing, and the dispatch ends as after any other
// answer. One log warns of it.
func TestNoAnswer(t *testing.T) {
	for name, c := range map[string]scene{
		"no choices":            {options: whole(), replies: []reply{plain(`{"choices":[]}`)}},
		"no message":            {options: whole(), replies: []reply{plain(`{"choices":[{"index":0}]}`)}},
		"an empty message":      {options: whole(), replies: []reply{plain(`{"choices":[{"message":{"content":""}}]}`)}},
		"another choice":        {options: whole(), replies: []reply{plain(`{"choices":[{"index":1,"message":{"content":"no"}}]}`)}},
		"an empty stream":       {options: streaming(), replies: []reply{{kind: "text/event-stream"}}},
		"a stream of its end":   {options: streaming(), replies: []reply{events()}},
		"a stream of no words":  {options: streaming(), replies: []reply{events(`{"choices":[{"delta":{"content":null,"reasoning":""}}]}`)}},
		"a stream of its usage": {options: streaming(), replies: []reply{events(`{"choices":[],"usage":{"total_tokens":1}}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			p := play(t, c).acked(t)
			assert.Empty(t, p.texts())
			assert.Empty(t, p.reports)
			assert.Len(t, p.bodies, 1)
			warning := p.log(t, "empty-answer")
			assert.Equal(t, adk.LevelWarn, warning.Level)
			assert.Equal(t, object{"finishReason": ""}, warning.Payload)
		})
	}
	for name, answer := range map[string]reply{"words": saying("A"), "reasoning": events(`{"choices":[{"delta":{"reasoning":"Hm."}}]}`)} {
		p := play(t, scene{options: streaming(), replies: []reply{answer}}).acked(t)
		assert.NotContains(t, p.kinds(), "empty-answer", name)
	}
}

// ANS-2, ANS-3, SSE-7: a stream is reported piece by piece and stored at its end. Message and thought
// have the same id, which is not the provider's, and are stored in this order.
func TestStreamedAnswer(t *testing.T) {
	p := play(t, scene{options: streaming(), replies: []reply{events(
		`{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`,
		`{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"reasoning_content":"Hm."}}]}`,
		`{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"It is "}}]}`,
		`{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"cold."},"finish_reason":"stop"}]}`,
		`{"id":"chatcmpl-1","choices":[],"usage":{"total_tokens":7}}`)}}).acked(t)
	id := p.storage.Messages()[0].ID()
	assert.NotContains(t, id, "chatcmpl")
	assert.Equal(t, []string{"said It is cold.", "thought " + id + " Hm."}, p.texts())
	assert.Equal(t, []string{
		`thought ` + id + ` "Hm."`, `message ` + id + ` "It is "`, `message ` + id + ` "cold."`,
		`message ` + id + ` "" complete`, `thought ` + id + ` "" complete`,
	}, p.reports)
	// PRO-5: the thought comes after the message on the timeline.
	assert.True(t, p.storage.Thoughts()[0].CreatedAt().After(p.storage.Messages()[0].CreatedAt()))
}

// ANS-3: two answers with the same id of the provider do not replace each other.
func TestProvidersIDsRepeat(t *testing.T) {
	p := play(t, scene{options: chat.Options{Stream: new(false)}, replies: []reply{saying("One."), saying("Two.")}}).acked(t)
	assert.Equal(t, []string{"said One.", "said Two."}, p.texts())
	assert.Equal(t, "resp-1", p.logs[1].Payload.(map[string]any)["responseId"])
}

// ANS-4: which field of an answer is the reasoning, what happens to other fields with reasoning, and
// which reasoning is not kept.
func TestReasoning(t *testing.T) {
	for name, c := range map[string]struct {
		options func() chat.Options
		fields  []string
		replies reply
		want    []string // ID stands for the answer's id
	}{
		"one field":             {whole, nil, plain(`{"choices":[{"message":{"content":"A","reasoning_content":"why"}}]}`), []string{"ID why"}},
		"the other field":       {whole, nil, plain(`{"choices":[{"message":{"content":"A","reasoning":"why"}}]}`), []string{"ID why"}},
		"the same twice":        {whole, nil, plain(`{"choices":[{"message":{"content":"A","reasoning":"why","reasoning_content":"why"}}]}`), []string{"ID why"}},
		"two":                   {whole, nil, plain(`{"choices":[{"message":{"content":"A","reasoning":"one","reasoning_content":"two"}}]}`), []string{"ID one", "ID:reasoning_content two"}},
		"two the other way":     {whole, []string{"reasoning_content", "reasoning"}, plain(`{"choices":[{"message":{"content":"A","reasoning":"one","reasoning_content":"two"}}]}`), []string{"ID two", "ID:reasoning one"}},
		"one of them":           {whole, []string{"reasoning_content"}, plain(`{"choices":[{"message":{"content":"A","reasoning":"one","reasoning_content":"two"}}]}`), []string{"ID two"}},
		"blanks before another": {whole, nil, plain(`{"choices":[{"message":{"content":"A","reasoning":" \n","reasoning_content":"two"}}]}`), []string{"ID two"}},
		"blanks":                {whole, nil, plain(`{"choices":[{"message":{"content":"A","reasoning":" \n"}}]}`), nil},
		"streamed":              {streaming, nil, events(`{"choices":[{"delta":{"content":"A","reasoning":"w"}}]}`, `{"choices":[{"delta":{"reasoning":"hy"}}]}`), []string{"ID why"}},
		"streamed twice": {streaming, nil, events(`{"choices":[{"delta":{"content":"A","reasoning":"w","reasoning_content":"w"}}]}`,
			`{"choices":[{"delta":{"reasoning":"hy","reasoning_content":"hy"}}]}`), []string{"ID why"}},
		"streamed, two": {streaming, nil, events(`{"choices":[{"delta":{"content":"A","reasoning_content":"two"}}]}`,
			`{"choices":[{"delta":{"reasoning":"one"}}]}`), []string{"ID two", "ID:reasoning one"}},
		"streamed blanks": {streaming, nil, events(`{"choices":[{"delta":{"content":"A","reasoning":" "}}]}`), nil},
		"details":         {whole, nil, plain(`{"choices":[{"message":{"content":"A","reasoning_details":[{"text":"raw"}]}}]}`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			options := c.options()
			options.ReasoningFieldPrecedence = c.fields
			p := play(t, scene{options: options, replies: []reply{c.replies}}).acked(t)
			want := []string{"said A"}
			id := p.storage.Messages()[0].ID()
			for _, text := range c.want {
				want = append(want, "thought "+id+text[len("ID"):])
			}
			assert.Equal(t, want, p.texts())
			// HLP-1: every report that was begun is completed.
			open := map[string]bool{}
			for _, report := range p.reports {
				words := strings.Fields(report)
				open[words[0]+" "+words[1]] = !strings.HasSuffix(report, "complete")
			}
			for what, left := range open {
				assert.False(t, left, what)
			}
		})
	}
}

// ANS-5, OPT-2: only an answer without tool calls acks, and only if AutoAck is set.
func TestWhoAcks(t *testing.T) {
	for name, c := range map[string]struct {
		autoAck *bool
		replies []reply
		status  string
		asked   int
	}{
		"unset":          {nil, []reply{saying("A")}, adk.StatusNack, 1},
		"off":            {new(false), []reply{saying("A")}, adk.StatusNack, 1},
		"on":             {new(true), []reply{saying("A")}, adk.StatusAck, 1},
		"on, with calls": {new(true), []reply{calling("c", "weather", `{"city":"Oslo"}`), saying("A")}, adk.StatusAck, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := play(t, scene{options: chat.Options{Stream: new(false), AutoAck: c.autoAck}, replies: c.replies, tools: []*adk.Tool{weather(t)},
				change: func(config *adk.Config) {
					config.DispatchOutput = []adk.DispatchMiddleware{nackAt(c.asked)}
				}})
			assert.Equal(t, c.status, p.end.Status)
			assert.Len(t, p.bodies, c.asked)
			assert.Contains(t, p.texts(), "said A")
		})
	}
}

// nackAt nacks the dispatch after its nth answer, unless it has ended.
func nackAt(n int) adk.DispatchMiddleware {
	return adk.DispatchMiddleware{Name: "end", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		if dc.Iteration() >= n-1 && !dc.IsSignalled() {
			return dc.Nack(nil)
		}
		next(ctx)
		return nil
	}}
}

// ANS-5: a dispatch that was already signalled is not acked again.
func TestSomebodyElseAcks(t *testing.T) {
	var current *adk.DispatchContext
	options := whole()
	options.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
		assert.NoError(t, current.Ack())
		return (&server{replies: []reply{saying("A")}}).RoundTrip(req)
	})
	p := play(t, scene{options: options, alone: true, change: func(config *adk.Config) {
		run := config.Executor.Run
		config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			current = dc
			return run(ctx, dc, h)
		}
	}}).acked(t)
	assert.Equal(t, []string{"said A"}, p.texts())
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// ANS-6: a log says how an answer ended and what it cost, in the provider's words.
func TestFinish(t *testing.T) {
	for name, c := range map[string]struct {
		options func() chat.Options
		reply   reply
		level   adk.Level
		want    map[string]any
	}{
		"plain": {whole, plain(`{"id":"r","model":"gpt","choices":[{"message":{"content":"A"},"finish_reason":"stop"}],"usage":{"total_tokens":7,"x":[1]}}`),
			adk.LevelDebug, map[string]any{"responseId": "r", "model": "gpt", "finishReason": "stop", "usage": map[string]any{"total_tokens": 7.0, "x": []any{1.0}}}},
		"cut": {whole, plain(`{"choices":[{"message":{"content":"A"},"finish_reason":"length"}]}`),
			adk.LevelWarn, map[string]any{"responseId": "", "model": "", "finishReason": "length", "usage": nil}},
		"filtered": {whole, plain(`{"choices":[{"message":{"content":"A"},"finish_reason":"content_filter"}]}`),
			adk.LevelWarn, map[string]any{"responseId": "", "model": "", "finishReason": "content_filter", "usage": nil}},
		"usage on its own chunk": {streaming, events(`{"choices":[{"delta":{"content":"A"},"finish_reason":"stop"}],"usage":null}`, `{"choices":[],"usage":{"t":2}}`),
			adk.LevelDebug, map[string]any{"responseId": "", "model": "", "finishReason": "stop", "usage": map[string]any{"t": 2.0}}},
		"usage on the last chunk": {streaming, events(`{"choices":[{"delta":{"content":"A"}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"t":2}}`),
			adk.LevelDebug, map[string]any{"responseId": "", "model": "", "finishReason": "stop", "usage": map[string]any{"t": 2.0}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := play(t, scene{options: c.options(), replies: []reply{c.reply}}).acked(t)
			finish := p.log(t, "finish")
			assert.Equal(t, c.level, finish.Level)
			assert.Equal(t, c.want, finish.Payload)
		})
	}
}

// ANS-7: an answer in a response format is kept as text, also when it is cut off.
func TestResponseFormat(t *testing.T) {
	options := whole()
	options.ResponseFormat = map[string]any{"type": "json_object"}
	p := play(t, scene{options: options, replies: []reply{saying(`{"cut": `)}}).acked(t)
	assert.Equal(t, []string{`said {"cut": `}, p.texts())
	assert.Contains(t, p.bodies[0], `"response_format":{"type":"json_object"}`)
}

// RTY-7: when the storage fails, the executor fails.
func TestStorageFails(t *testing.T) {
	broken := errors.New("disk full")
	for name, c := range map[string]scene{
		"of a message": {options: whole(), replies: []reply{saying("A")}},
		"of a thought": {options: whole(), replies: []reply{plain(`{"choices":[{"message":{"reasoning":"A"}}]}`)}},
		"of a call":    {options: whole(), replies: []reply{calling("c", "weather", `{"city":"Oslo"}`)}, tools: []*adk.Tool{weather(t)}},
	} {
		t.Run(name, func(t *testing.T) {
			c.storage = fakes.NewStorage()
			c.storage.Fail(fakes.Fault{Op: "store", Err: broken})
			err := play(t, c).failure(t)
			assert.ErrorIs(t, err, adk.E_LLM_EXECUTION_EXECUTOR_ERROR)
			assert.ErrorContains(t, err, "disk full")
		})
	}
}
