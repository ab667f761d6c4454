package prompt_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/envelope"
	"github.com/adkreplay/adkreplay/adk/prompt"
)

// PRO-1, PRO-2, PRO-3: buckets are placed as BucketOrder says.
func TestBucketOrder(t *testing.T) {
	k := kit{t}
	view := prompt.View{
		SystemPrompt: "P", Instructions: []string{"I"}, Memories: []*adk.Memory{k.memory("m", "M", 0)},
		Retrievables: []*adk.Retrievable{k.retrievable(adk.RetrievableInit{ID: "r", Content: "R", TrustTier: adk.TrustFirstParty}, 0)},
		Messages:     []*adk.Message{k.user("u", "U", 0)},
	}
	instructions, memories, retrieved := "<system_instructions", "<memories>", prompt.Directive
	user := "<message_u"
	const I, M, R, T = prompt.StandingInstructions, prompt.Memories, prompt.Retrievables, prompt.Timeline
	for name, c := range map[string]struct {
		order []prompt.Bucket
		want  [][]string // the beginnings of the blocks of each message
	}{
		"default":            {nil, [][]string{{"P", instructions, memories, retrieved}, {user}}},
		"all":                {[]prompt.Bucket{I, M, R, T}, [][]string{{"P", instructions, memories, retrieved}, {user}}},
		"turned round":       {[]prompt.Bucket{R, M, I, T}, [][]string{{"P", retrieved, memories, instructions}, {user}}},
		"trailing":           {[]prompt.Bucket{M, T, I}, [][]string{{"P", memories}, {user}, {instructions}}},
		"all behind":         {[]prompt.Bucket{T, R, I, M}, [][]string{{"P"}, {user}, {retrieved, instructions, memories}}},
		"timeline alone":     {[]prompt.Bucket{T}, [][]string{{"P"}, {user}}},
		"without a timeline": {[]prompt.Bucket{I, M}, [][]string{{"P", instructions, memories}}},
		"none":               {[]prompt.Bucket{}, [][]string{{"P"}}},
		"retrievables alone": {[]prompt.Bucket{R}, [][]string{{"P", retrieved}}},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := render(t, view, prompt.Options{BucketOrder: c.order})
			require.Len(t, p.Messages, len(c.want))
			for i, parts := range c.want {
				at, text := 0, p.Messages[i].Content.Text
				for j, part := range parts {
					found := strings.Index(text[at:], part)
					require.GreaterOrEqual(t, found, 0, "%s in %s", part, text)
					if j == 0 {
						assert.Zero(t, found)
					} else {
						assert.Equal(t, "\n\n", text[at+found-2:at+found], "blocks are divided by a blank line")
					}
					at += found
				}
				for _, other := range []string{instructions, memories, retrieved} {
					assert.Equal(t, contains(parts, other), strings.Contains(text, other), "%s in %s", other, text)
				}
			}
		})
	}
}

func contains(all []string, one string) bool {
	for _, a := range all {
		if a == one {
			return true
		}
	}
	return false
}

// PRO-2, PRO-3: an empty system message is left out.
func TestNothingToSay(t *testing.T) {
	k := kit{t}
	p, _ := render(t, prompt.View{Messages: []*adk.Message{k.user("u", "Hello.", 0)}}, prompt.Options{BucketOrder: []prompt.Bucket{prompt.Memories, prompt.Timeline, prompt.Retrievables}})
	assert.Equal(t, []string{`user: <message_u from="user" role="user" createdAt="2026-01-01T12:00:00.000Z">`}, lines(p))
	p, _ = render(t, prompt.View{}, prompt.Options{})
	assert.Empty(t, p.Messages)
}

// PRO-4, PRO-9: the timeline is in the order of creation, to the nanosecond. Records with the same
// time come in the order messages, thoughts, tool calls, and each kind in the order of its set.
// Equal records occur as often as they are held.
func TestTimeline(t *testing.T) {
	k := kit{t}
	view := prompt.View{
		Messages: []*adk.Message{
			k.message(adk.RoleAssistant, "m2", "m2", 5, adk.Identity{}), k.message(adk.RoleAssistant, "m1", "m1", 5, adk.Identity{}),
			k.message(adk.RoleAssistant, "m0", "m0", 1.000000002, adk.Identity{}), k.message(adk.RoleAssistant, "m9", "m0", 9, adk.Identity{}),
		},
		Thoughts:  []*adk.Thought{k.thought(adk.ThoughtInit{ID: "t2", Content: "x"}, 5), k.thought(adk.ThoughtInit{ID: "t1", Content: "x"}, 1.000000001)},
		ToolCalls: []*adk.ToolCall{k.call("c2", "tool", adk.Text("x"), 5), k.call("c1", "tool", adk.Text("x"), 5), k.call("c3", "tool", adk.Text("x"), 6)},
		Tools:     k.tools(map[string]bool{"tool": false}),
	}
	p, _ := render(t, view, prompt.Options{})
	var order []string
	for _, line := range lines(p) {
		order = append(order, strings.Fields(strings.NewReplacer("<thought_", "", "assistant: ", "", "tool: ", "").Replace(line))[0])
	}
	untrusted := "<untrusted_content_"
	for i, one := range order {
		if strings.HasPrefix(one, untrusted) {
			order[i] = "result"
		}
	}
	assert.Equal(t, []string{"t1", "m0", "m2", "m1", "t2", "call", "result", "call", "result", "call", "result", "m0"}, order)
	assert.Equal(t, []string{"c2", "c2", "c1", "c1", "c3", "c3"}, pairs(p), "each call is a pair of its own")
}

// pairs returns the ids of calls, in requests and in answers.
func pairs(p *prompt.Prompt) (ids []string) {
	for _, m := range p.Messages {
		if m.Call != nil {
			ids = append(ids, m.Call.ID)
		}
		if m.CallID != "" {
			ids = append(ids, m.CallID)
		}
	}
	return ids
}

// PRO-6: a call is sent without a text, with canonical arguments, and is answered under
// the same id.
func TestToolCallPair(t *testing.T) {
	k := kit{t}
	call := k.call("c1", "weather", adk.Text("Rain."), 0)
	p, _ := render(t, prompt.View{ToolCalls: []*adk.ToolCall{call}, Tools: k.tools(map[string]bool{"weather": false})}, prompt.Options{})
	assert.Equal(t, []prompt.Message{
		{Role: prompt.RoleAssistant, Call: &prompt.Call{ID: "c1", Tool: "weather", Args: `{"city":"Oslo","id":"c1","z":1}`}},
		{Role: prompt.RoleTool, CallID: "c1", Content: prompt.Content{Text: "<untrusted_content_" + call.Checksum() + ` nonce="` + call.Checksum() + "\" kind=\"tool-result\" tool=\"weather\">\nRain.\n</untrusted_content_" + call.Checksum() + ">"}},
	}, p.Messages)
}

// PRO-1: invalid options give one error with every fault.
func TestOptions(t *testing.T) {
	_, err := prompt.New(prompt.View{}, prompt.Options{
		BucketOrder: []prompt.Bucket{"memories", "rag", "memories"}, Surfacing: "some", ReplayCompatibility: []string{"a", ""},
		Media: prompt.MediaPolicy{Mode: "guess", StashKeys: []string{""}},
	})
	var failure *adk.Error
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, adk.E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS, failure.Code)
	var paths []string
	for _, f := range failure.Faults {
		paths = append(paths, f.Path)
		assert.ErrorContains(t, err, f.Path+" "+f.Message)
	}
	assert.Equal(t, []string{"bucketOrder", "bucketOrder", "thoughtSurfacing", "replayCompatibility", "unsupportedMediaPolicy", "unsupportedMediaPolicy.stashKeys"}, paths)
	assert.Empty(t, prompt.Options{}.Faults())
}

// PRO-8: a result is rendered once, and what Results returned for counting is what is sent.
func TestResultsAreRenderedOnce(t *testing.T) {
	k := kit{t}
	rendered := 0
	options := prompt.Options{Renderers: prompt.Renderers{ToolResult: func(ctx context.Context, call *adk.ToolCall, tool *adk.Tool, with prompt.Setting) (prompt.Content, error) {
		rendered++
		return prompt.Content{Text: call.ID() + strings.Repeat("!", rendered)}, nil
	}}}
	a, err := prompt.New(prompt.View{ToolCalls: []*adk.ToolCall{k.call("c1", "x", adk.Text("x"), 0), k.call("c2", "x", adk.Text("x"), 1)}}, options)
	require.NoError(t, err)
	results, err := a.Results(t.Context())
	require.NoError(t, err)
	assert.Equal(t, map[string]prompt.Content{"c1": {Text: "c1!"}, "c2": {Text: "c2!!"}}, results)
	for range 2 {
		p, err := a.Prompt(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"", "c1!", "", "c2!!"}, texts(p))
	}
	assert.Equal(t, 2, rendered)

	options.BucketOrder = []prompt.Bucket{prompt.Memories}
	a, err = prompt.New(prompt.View{ToolCalls: []*adk.ToolCall{k.call("c1", "x", adk.Text("x"), 0)}}, options)
	require.NoError(t, err)
	_, err = a.Prompt(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2, rendered, "what is not sent is not rendered")
}

// ENV-23, PRO-2: each renderer can be replaced alone and gets what it needs. When it fails, the
// prompt fails with its error.
func TestRenderersAreReplaced(t *testing.T) {
	view := everything(t)
	options := prompt.Options{Surfacing: prompt.AllThoughts, ReplayCompatibility: []string{"claude/1"}, Opener: &opener{}}
	usual, _ := render(t, view, options)
	errBoom := errors.New("boom")
	text := func(called *int, err error) (string, error) { *called++; return "replaced", err }
	for name, replace := range map[string]func(r *prompt.Renderers, called *int, err error){
		"Untrusted": func(r *prompt.Renderers, called *int, err error) {
			r.Untrusted = func(context.Context, string, envelope.Content) (string, error) { return text(called, err) }
		},
		"Trusted": func(r *prompt.Renderers, called *int, err error) {
			r.Trusted = func(context.Context, string, envelope.Content) (string, error) { return text(called, err) }
		},
		"Instructions": func(r *prompt.Renderers, called *int, err error) {
			r.Instructions = func(context.Context, []string, string) (string, error) { return text(called, err) }
		},
		"Memories": func(r *prompt.Renderers, called *int, err error) {
			r.Memories = func(context.Context, []prompt.Item[*adk.Memory]) (string, error) { return text(called, err) }
		},
		"FirstParty": func(r *prompt.Renderers, called *int, err error) {
			r.FirstParty = func(context.Context, []prompt.Item[*adk.Retrievable]) (string, error) { return text(called, err) }
		},
		"ThirdPartyPublic": func(r *prompt.Renderers, called *int, err error) {
			r.ThirdPartyPublic = func(context.Context, []prompt.Item[*adk.Retrievable], prompt.ContentRenderer) (string, error) {
				return text(called, err)
			}
		},
		"ThirdPartyPrivate": func(r *prompt.Renderers, called *int, err error) {
			r.ThirdPartyPrivate = func(context.Context, []prompt.Item[*adk.Retrievable], prompt.ContentRenderer) (string, error) {
				return text(called, err)
			}
		},
		"Directive": func(r *prompt.Renderers, called *int, err error) {
			r.Directive = func(context.Context) (string, error) { return text(called, err) }
		},
		"Retrievables": func(r *prompt.Renderers, called *int, err error) {
			r.Retrievables = func(context.Context, []prompt.Item[*adk.Retrievable], prompt.Tiers) (string, error) {
				return text(called, err)
			}
		},
		"Message": func(r *prompt.Renderers, called *int, err error) {
			r.Message = func(context.Context, *adk.Message, prompt.Setting) (prompt.Message, error) {
				content, err := text(called, err)
				return prompt.Message{Content: prompt.Content{Text: content}}, err
			}
		},
		"Thought": func(r *prompt.Renderers, called *int, err error) {
			r.Thought = func(context.Context, string, envelope.Thought, any) (string, error) { return text(called, err) }
		},
		"Thoughts": func(r *prompt.Renderers, called *int, err error) {
			r.Thoughts = func(context.Context, []*adk.Thought, prompt.ThoughtFilter) ([]*adk.Thought, error) {
				_, err = text(called, err)
				return nil, err
			}
		},
		"SystemMessage": func(r *prompt.Renderers, called *int, err error) {
			r.SystemMessage = func(context.Context, prompt.SystemMessage) (string, error) { return text(called, err) }
		},
		"ToolResult": func(r *prompt.Renderers, called *int, err error) {
			r.ToolResult = func(context.Context, *adk.ToolCall, *adk.Tool, prompt.Setting) (prompt.Content, error) {
				content, err := text(called, err)
				return prompt.Content{Text: content}, err
			}
		},
		"History": func(r *prompt.Renderers, called *int, err error) {
			r.History = func(context.Context, prompt.History) (*prompt.Prompt, error) {
				content, err := text(called, err)
				return &prompt.Prompt{Messages: []prompt.Message{{Content: prompt.Content{Text: content}}}}, err
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			called := 0
			options := options
			options.Renderers = prompt.Renderers{}
			replace(&options.Renderers, &called, nil)
			p, err := prompt.Render(t.Context(), view, options)
			require.NoError(t, err)
			assert.Positive(t, called)
			assert.NotEqual(t, written(usual), written(p))
			replace(&options.Renderers, &called, errBoom)
			_, err = prompt.Render(t.Context(), view, options)
			assert.ErrorIs(t, err, errBoom)
		})
	}
	options.Renderers = prompt.Renderers{}.Over(prompt.DefaultRenderers())
	p, err := prompt.Render(t.Context(), view, options)
	require.NoError(t, err)
	assert.Equal(t, usual, p, "the default ones are what stands where none is replaced")
}

// ENV-1: equal views and options make equal prompts.
func TestPromptsAreEqual(t *testing.T) {
	options := prompt.Options{Surfacing: prompt.AllThoughts, ReplayCompatibility: []string{"claude/1"}}
	first, _ := render(t, everything(t), options)
	second, _ := render(t, everything(t), options)
	assert.Equal(t, first, second)
}

// PRO-5: After returns a time that is later than every record, by one nanosecond if the clock has not
// moved.
func TestAfter(t *testing.T) {
	k := kit{t}
	view := prompt.View{
		Messages:  []*adk.Message{k.user("u", "x", 1)},
		Thoughts:  []*adk.Thought{k.thought(adk.ThoughtInit{ID: "t", Content: "x"}, 3)},
		ToolCalls: []*adk.ToolCall{k.call("c", "x", adk.Text("x"), 2)},
	}
	assert.Equal(t, after(3).Add(1), view.After(after(0)))
	assert.Equal(t, after(3).Add(1), view.After(after(3)))
	assert.Equal(t, after(3).Add(2), view.After(after(3).Add(2)))
	assert.Equal(t, after(2).Add(1), prompt.View{ToolCalls: view.ToolCalls}.After(after(2)))
	assert.Equal(t, after(1).Add(1), prompt.View{Messages: view.Messages}.After(after(1)))
	assert.Equal(t, noon, prompt.View{}.After(noon))
}

// Over takes each renderer from the upper set where that has one.
func TestRenderersOver(t *testing.T) {
	says := func(text string) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return text, nil }
	}
	said := func(r prompt.Renderers) string {
		text, err := r.Directive(t.Context())
		require.NoError(t, err)
		return text
	}
	upper, lower := prompt.Renderers{Directive: says("upper")}, prompt.Renderers{Directive: says("lower"), Memories: prompt.DefaultRenderers().Memories}
	assert.Equal(t, "upper", said(upper.Over(lower)))
	assert.NotNil(t, upper.Over(lower).Memories)
	assert.Nil(t, upper.Memories, "what lies over another is left alone")
	assert.Equal(t, "lower", said(prompt.Renderers{}.Over(lower)))
}
