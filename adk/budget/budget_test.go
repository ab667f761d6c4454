package budget_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/budget"
	"github.com/adkreplay/adkreplay/adk/prompt"
)

var noon = time.Date(2019, 1, 1, 12, 0, 0, 0, time.UTC)

// kit makes records, and fails the test when a record cannot be made.
type kit struct{ testing.TB }

func must[T any](t testing.TB) func(made T, err error) T {
	return func(made T, err error) T {
		t.Helper()
		require.NoError(t, err)
		return made
	}
}

func (k kit) memory(id, text string, confidence, importance float64) *adk.Memory {
	return must[*adk.Memory](k)(adk.NewMemory(adk.MemoryInit{ID: id, Content: text, Confidence: &confidence, Importance: &importance, CreatedAt: noon, UpdatedAt: noon}))
}

func (k kit) retrievable(id, text string) *adk.Retrievable {
	return must[*adk.Retrievable](k)(adk.NewRetrievable(adk.RetrievableInit{ID: id, Content: text, TrustTier: adk.TrustFirstParty, CreatedAt: noon, UpdatedAt: noon}))
}

func (k kit) message(id, text string, second int) *adk.Message {
	at := noon.Add(time.Duration(second) * time.Second)
	return must[*adk.Message](k)(adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleUser, Content: text, CreatedAt: at, UpdatedAt: at}))
}

func (k kit) thought(init adk.ThoughtInit) *adk.Thought {
	init.CreatedAt, init.UpdatedAt = noon, noon
	return must[*adk.Thought](k)(adk.NewThought(init))
}

func (k kit) call(id string, result adk.ToolResult, inline bool) *adk.ToolCall {
	return must[*adk.ToolCall](k)(adk.NewToolCall(adk.ToolCallInit{ID: id, Tool: "tool", Args: map[string]any{"id": id}, Results: result, Inline: &inline, CreatedAt: noon, UpdatedAt: noon, CompletedAt: noon}))
}

// results renders the results of a view's tool calls.
func results(t testing.TB, view prompt.View) map[string]prompt.Content {
	a := must[*prompt.Assembly](t)(prompt.New(view, prompt.Options{Opener: opener{}}))
	return must[map[string]prompt.Content](t)(a.Results(t.Context()))
}

type opener struct{}

func (opener) OpenMedia(ctx context.Context, media *adk.Media) ([]byte, error) {
	return media.Bytes(ctx)
}

// full is a view that holds something of every kind.
func full(t testing.TB) prompt.View {
	k := kit{t}
	return prompt.View{
		SystemPrompt: "You help.", Instructions: []string{"Be brief.", "Be kind."},
		Memories: []*adk.Memory{k.memory("m1", "Ada likes tea.", 1, 1)}, Retrievables: []*adk.Retrievable{k.retrievable("r1", "Tea is hot."), k.retrievable("r2", "Coffee too.")},
		Messages:  []*adk.Message{k.message("u1", "What do I like?", 0), k.message("u2", "And how is it?", 1)},
		Thoughts:  []*adk.Thought{k.thought(adk.ThoughtInit{ID: "t1", Content: "Tea, perhaps."}), k.thought(adk.ThoughtInit{ID: "t2", Content: "Not shown.", Payload: 1, ReplayCompatibility: "x"}), k.thought(adk.ThoughtInit{ID: "t3", Payload: 1, ReplayCompatibility: "x"})},
		ToolCalls: []*adk.ToolCall{k.call("c1", adk.Text("The tea is hot."), true)},
	}
}

// BUD-2, BUD-3, BUD-4: Measure gives five sums of what the view holds, whether or not it is sent. A
// result counts with all of its text that the prompt shows.
func TestMeasure(t *testing.T) {
	view := full(t)
	rendered := results(t, view)
	for _, encoding := range budget.Encodings() {
		sum := func(texts ...string) (n int) {
			for _, text := range texts {
				n += adk.EstimateTokens(text, encoding)
			}
			return n
		}
		usage := budget.Measure(view, rendered, encoding, nil)
		assert.Equal(t, budget.Usage{
			Encoding: encoding, SystemPrompt: sum("You help."), StandingInstructions: sum("Be brief.", "Be kind."),
			Memories: sum("Ada likes tea."), Retrievables: sum("Tea is hot.", "Coffee too."),
			Timeline: sum("What do I like?", "And how is it?", "Tea, perhaps.", "Not shown.", rendered["c1"].Text),
			Exact:    strings.Contains("gpt2 r50k_base p50k_base p50k_edit cl100k_base o200k_base", encoding),
		}, usage)
		assert.Equal(t, usage.SystemPrompt+usage.StandingInstructions+usage.Memories+usage.Retrievables+usage.Timeline, usage.Total())
	}
	assert.Contains(t, rendered["c1"].Text, "<untrusted_content_", "a result counts with its envelope")

	k := kit{t}
	picture := must[*adk.Media](t)(adk.NewMedia(adk.MediaInit{ID: "p", Kind: adk.MediaImage, MIMEType: "image/png", Filename: "p.png", Reader: adk.MediaBytes(make([]byte, 1<<16)), TrustTier: adk.TrustFirstParty, ModalityHazard: adk.HazardOpaquePerceptual}))
	view = prompt.View{ToolCalls: []*adk.ToolCall{k.call("c", adk.MediaList{picture, picture}, true)}}
	rendered = results(t, view)
	blocks := rendered["c"].Blocks
	assert.Equal(t, adk.EstimateTokens(blocks[0].Text+"\n"+blocks[2].Text, "claude"), budget.Measure(view, rendered, "claude", nil).Timeline, "native media count nothing")
}

// BUD-9: a handle counts, and the body that it stands for does not.
func TestHandlesCount(t *testing.T) {
	k := kit{t}
	body := must[*adk.Media](t)(artifact.New(artifact.Init{ID: "a", Flavour: artifact.TextFlavour, Filename: "a.txt", Reader: adk.MediaBytes([]byte(strings.Repeat("long ", 20000))), TrustTier: adk.TrustFirstParty}))
	total := func(calls ...*adk.ToolCall) int {
		view := prompt.View{ToolCalls: calls}
		return budget.Measure(view, results(t, view), adk.EncodingO200kBase, nil).Total()
	}
	one := total(k.call("c", body, false))
	assert.Less(t, one, 800, "the body counts nothing")
	assert.Greater(t, total(k.call("c", body, true)), 20000)
	var many []*adk.ToolCall
	for i := range 50 {
		many = append(many, k.call(fmt.Sprint("c", i), body, false))
	}
	assert.Greater(t, total(many...), 40*one)
}

// TOK-3: a counter is asked first and once for each text; a text that it does not know is counted without it.
func TestCounter(t *testing.T) {
	k := kit{t}
	asked := map[string]int{}
	counter := func(text string, encoding adk.Encoding) (int, bool, bool) {
		asked[text]++
		assert.Equal(t, "gemini", encoding)
		return len(text), text != "rough", text != "unknown text" && text != "negative"
	}
	measure := func(texts ...string) budget.Usage {
		clear(asked)
		return budget.Measure(prompt.View{SystemPrompt: texts[0], Instructions: texts[1:], Messages: []*adk.Message{k.message("u", texts[0], 0)}}, nil, "gemini", counter)
	}
	usage := measure("exact", "exact", "both")
	assert.Equal(t, []any{5, 9, 5, true}, []any{usage.SystemPrompt, usage.StandingInstructions, usage.Timeline, usage.Exact})
	assert.Equal(t, map[string]int{"exact": 1, "both": 1}, asked)
	assert.False(t, measure("exact", "rough").Exact)
	usage = measure("unknown text")
	assert.Equal(t, []any{3, false}, []any{usage.SystemPrompt, usage.Exact})
	assert.Zero(t, budget.Measure(prompt.View{}, nil, "gemini", counter).Total(), "nobody is asked for no text")
	usage = budget.Measure(prompt.View{SystemPrompt: "negative"}, nil, "o200k_base", func(string, adk.Encoding) (int, bool, bool) { return -1, true, true })
	assert.Equal(t, []any{adk.EstimateTokens("negative", "o200k_base"), true}, []any{usage.SystemPrompt, usage.Exact})
}

// TOK-1, TOK-2, TOK-4: there are nine encodings. Two of them, and all unknown names, count by length. None fails.
func TestEncodings(t *testing.T) {
	assert.Len(t, budget.Encodings(), 9)
	for _, encoding := range []adk.Encoding{budget.EncodingGemini, budget.EncodingLlama2, "mine"} {
		usage := budget.Measure(prompt.View{SystemPrompt: "12345"}, nil, encoding, nil)
		assert.Equal(t, []any{2, false}, []any{usage.SystemPrompt, usage.Exact}, encoding)
	}
	for _, encoding := range budget.Encodings() {
		for _, text := range []string{"<|endoftext|>", "\xff", strings.Repeat("a", 1000)} {
			assert.Positive(t, budget.Measure(prompt.View{SystemPrompt: text}, nil, encoding, nil).Total(), "%s %q", encoding, text)
		}
		assert.Zero(t, budget.Measure(prompt.View{}, nil, encoding, nil).Total())
	}
}

// logs keeps the events that were logged.
type logs struct{ all []adk.LogEvent }

func (l *logs) Log(level adk.Level, kind, message string, payload any) {
	l.all = append(l.all, adk.LogEvent{Level: level, Kind: kind, Message: message, Payload: payload})
}

// BUD-1, BUD-8, TOK-4: which limits bound a prompt, which do not, and which are an error, whatever
// was measured in the iteration before.
func TestLimits(t *testing.T) {
	huge := prompt.View{SystemPrompt: strings.Repeat("long ", 10000)}
	counter := func(string, adk.Encoding) (int, bool, bool) { return 1, true, true }
	for name, c := range map[string]struct {
		limits budget.Limits
		want   adk.Code
		path   string
	}{
		"none":                    {budget.Limits{}, "", ""},
		"a window alone":          {budget.Limits{Window: 10}, "", ""},
		"an encoding alone":       {budget.Limits{Encoding: "o200k_base"}, adk.E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS, "contextWindow"},
		"a window of less":        {budget.Limits{Encoding: "o200k_base", Window: -1}, adk.E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS, "contextWindow"},
		"another encoding":        {budget.Limits{Encoding: "mine", Window: 10}, adk.E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS, "tokenEncoding"},
		"another with a counter":  {budget.Limits{Encoding: "mine", Window: 10, Counter: counter}, "", ""},
		"too little":              {budget.Limits{Encoding: "o200k_base", Window: 10}, adk.E_OPENAI_CHAT_COMPLETIONS_CONTEXT_OVERFLOW, ""},
		"too little, by a length": {budget.Limits{Encoding: "llama2", Window: 10}, adk.E_OPENAI_CHAT_COMPLETIONS_CONTEXT_OVERFLOW, ""},
		"enough":                  {budget.Limits{Encoding: "o200k_base", Window: 100_000}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var logged logs
			err := c.limits.Enforce(&logged, huge, nil)
			assert.Equal(t, c.limits.Enforced() && c.path == "", len(logged.all) == 1, "what is enforced is logged")
			if c.want == "" {
				assert.NoError(t, err)
				return
			}
			var failure *adk.Error
			require.ErrorAs(t, err, &failure)
			assert.Equal(t, c.want, failure.Code)
			assert.True(t, failure.Fatal())
			if c.path != "" {
				require.Len(t, failure.Faults, 1)
				assert.Equal(t, c.path, failure.Faults[0].Path)
			}
			assert.NotContains(t, err.Error(), "long long")
		})
	}
}

// BUD-5, BUD-6: a prompt that exactly fills its window passes, and one more token does not. Both
// cases are logged.
func TestWindowIsTheBound(t *testing.T) {
	view := full(t)
	rendered := results(t, view)
	total := budget.Measure(view, rendered, "o200k_base", nil).Total()
	var logged logs
	assert.NoError(t, budget.Limits{Encoding: "o200k_base", Window: total}.Enforce(&logged, view, rendered))
	assert.ErrorIs(t, budget.Limits{Encoding: "o200k_base", Window: total - 1}.Enforce(&logged, view, rendered), adk.E_OPENAI_CHAT_COMPLETIONS_CONTEXT_OVERFLOW)
	assert.Error(t, budget.Limits{Encoding: "o200k_base", Window: total - 1}.Enforce(nil, view, rendered))
	require.Len(t, logged.all, 2)
	event := logged.all[1]
	assert.Equal(t, []any{adk.LevelDebug, "context-window-usage"}, []any{event.Level, event.Kind})
	payload := event.Payload.(map[string]any)
	assert.Equal(t, []any{total, total - 1, "o200k_base", true}, []any{payload["total"], payload["limit"], payload["encoding"], payload["exact"]})
	assert.Len(t, payload["perBucket"], 5)
}

// BUD-7: OverflowOf finds the figures in the error's fields, or in its text where only the text is left.
func TestOverflowOf(t *testing.T) {
	err := budget.Limits{Encoding: "o200k_base", Window: 10}.Enforce(nil, full(t), results(t, full(t)))
	overflow, found := budget.OverflowOf(fmt.Errorf("outer: %w", &adk.Error{Code: adk.E_LLM_EXECUTION_EXECUTOR_ERROR, Cause: err}))
	require.True(t, found)
	assert.Equal(t, 10, overflow.Window)
	assert.Greater(t, overflow.Total(), 10)
	var direct *budget.Overflow
	require.ErrorAs(t, err, &direct)
	assert.Same(t, direct, overflow)
	assert.True(t, json.Valid([]byte(overflow.Error())))

	for _, text := range []string{err.Error(), "{a} " + err.Error() + " and {more}", "E_LLM_EXECUTION_EXECUTOR_ERROR: " + err.Error()} {
		read, found := budget.OverflowOf(errors.New(text))
		require.True(t, found, text)
		assert.Equal(t, overflow, read)
	}
	for _, other := range []error{
		nil, errors.New("boom"), adk.E_OPENAI_CHAT_COMPLETIONS_CONTEXT_OVERFLOW, errors.New(overflow.Error()),
		errors.New(strings.ReplaceAll(err.Error(), `"window":10`, `"window":"10"`)), errors.New(strings.ReplaceAll(err.Error(), `"total":`, `"total":9`)),
		errors.New(strings.TrimSuffix(err.Error(), "}")),
	} {
		_, found := budget.OverflowOf(other)
		assert.False(t, found, "%v", other)
	}
}
