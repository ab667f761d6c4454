package prompt

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/envelope"
)

// ContentRenderer puts a text into an envelope of one tier. If it returns an empty text, the
// content is left out.
type ContentRenderer func(ctx context.Context, text string, c envelope.Content) (string, error)

// Renderers are the parts from which a prompt is made. Each can be replaced separately; one that
// needs another gets it as an argument. All run in the call that asks for the prompt, with its
// context; their error fails it.
type Renderers struct {
	// Untrusted and Trusted are envelope.Untrusted and envelope.Trusted by default.
	Untrusted, Trusted ContentRenderer
	// Instructions writes the block of standing instructions.
	Instructions func(ctx context.Context, texts []string, version string) (string, error)
	// Memories writes the block of memories.
	Memories func(ctx context.Context, items []Item[*adk.Memory]) (string, error)
	// FirstParty writes the block of first-party retrievables.
	FirstParty func(ctx context.Context, items []Item[*adk.Retrievable]) (string, error)
	// ThirdPartyPublic and ThirdPartyPrivate write the retrievables of those tiers.
	ThirdPartyPublic, ThirdPartyPrivate TierRenderer
	// Directive returns the text that says how far retrieved content may be followed.
	Directive func(ctx context.Context) (string, error)
	// Retrievables joins directive and tiers.
	Retrievables func(ctx context.Context, items []Item[*adk.Retrievable], with Tiers) (string, error)
	// Message writes one message of the timeline.
	Message func(ctx context.Context, message *adk.Message, with Setting) (Message, error)
	// Thought writes one thought; payload is nil unless the thought is opaque.
	Thought func(ctx context.Context, text string, about envelope.Thought, payload any) (string, error)
	// Thoughts returns the thoughts that are shown, in order.
	Thoughts func(ctx context.Context, thoughts []*adk.Thought, filter ThoughtFilter) ([]*adk.Thought, error)
	// SystemMessage writes a system message; only the leading one has the system prompt. If the
	// text is empty, there is no message.
	SystemMessage func(ctx context.Context, of SystemMessage) (string, error)
	// ToolResult writes the result of a tool call; tool is nil if it is unknown.
	ToolResult func(ctx context.Context, call *adk.ToolCall, tool *adk.Tool, with Setting) (Content, error)
	// History makes all messages.
	History func(ctx context.Context, of History) (*Prompt, error)
}

// TierRenderer writes the retrievables of one tier.
type TierRenderer func(ctx context.Context, items []Item[*adk.Retrievable], untrusted ContentRenderer) (string, error)

// Item is a record, and how it is shown.
type Item[T adk.Record] struct {
	Record T
	Shown  envelope.Item
}

// Tiers are the renderers that Renderers.Retrievables needs.
type Tiers struct {
	Directive                           func(ctx context.Context) (string, error)
	FirstParty                          func(ctx context.Context, items []Item[*adk.Retrievable]) (string, error)
	ThirdPartyPublic, ThirdPartyPrivate TierRenderer
	Untrusted                           ContentRenderer
}

// ThoughtFilter says which thoughts are shown.
type ThoughtFilter struct {
	Surfacing           Surfacing
	Self                string
	ReplayCompatibility []string
}

// Of returns the thoughts that are shown, by creation time, then by id (IDN-4, IDN-5). For
// LatestOwnThought, only thoughts that can be sent count.
func (f ThoughtFilter) Of(thoughts []*adk.Thought) []*adk.Thought {
	var chosen []*adk.Thought
	for _, t := range thoughts {
		if (f.Surfacing == AllThoughts || identifierOf(t.Identity()) == f.Self) && f.sendable(t) {
			chosen = append(chosen, t)
		}
	}
	slices.SortStableFunc(chosen, func(a, b *adk.Thought) int {
		return cmp.Or(a.CreatedAt().Compare(b.CreatedAt()), strings.Compare(a.ID(), b.ID()))
	})
	if f.Surfacing == LatestOwnThought && len(chosen) > 1 {
		chosen = chosen[len(chosen)-1:]
	}
	return chosen
}

// plainThought is the form of thoughts that consist of text only.
const plainThought = "plain-text"

// sendable reports whether the provider accepts a thought.
func (f ThoughtFilter) sendable(t *adk.Thought) bool {
	form := t.ReplayCompatibility()
	if t.Payload() == nil && (form == "" || form == plainThought) {
		return true
	}
	return slices.Contains(f.ReplayCompatibility, form)
}

// Setting is what renderers of messages and results get in addition to the record.
type Setting struct {
	Self               string
	Media              MediaPolicy
	Untrusted, Trusted ContentRenderer
	// Handle writes the text that replaces an artifact's body (ENV-33).
	Handle func(call *adk.ToolCall, media *adk.Media) (string, error)
	// Bytes returns the bytes of a media, read once for a prompt.
	Bytes func(ctx context.Context, media *adk.Media) ([]byte, error)
	// Body returns the text of an artifact.
	Body func(ctx context.Context, media *adk.Media) (string, error)
	// Warn reports a problem that does not stop the prompt.
	Warn func(text string)
}

// SystemMessage is the input of one system message.
type SystemMessage struct {
	// Prompt is the system prompt; empty in a trailing message.
	Prompt string
	// Order lists the buckets to show, without Timeline.
	Order []Bucket
	View  View
	// Renderers has the renderers of the buckets.
	Renderers Renderers
}

// History is the input of all messages of a prompt.
type History struct {
	View      View
	Order     []Bucket
	Thoughts  ThoughtFilter
	Renderers Renderers
	Setting   Setting
	// Results are the results of tool calls that were rendered before, by call id. Missing ones are
	// rendered.
	Results map[string]Content
}

// DefaultRenderers returns the renderers that are used if none are given.
func DefaultRenderers() Renderers {
	return Renderers{
		Untrusted: func(_ context.Context, text string, c envelope.Content) (string, error) {
			return envelope.Untrusted(text, c)
		},
		Trusted: func(_ context.Context, text string, c envelope.Content) (string, error) {
			return envelope.Trusted(text, c)
		},
		Instructions: func(_ context.Context, texts []string, version string) (string, error) {
			return envelope.Instructions(texts, version), nil
		},
		Memories: func(_ context.Context, items []Item[*adk.Memory]) (string, error) {
			return envelope.Memories(shown(items))
		},
		FirstParty: func(_ context.Context, items []Item[*adk.Retrievable]) (string, error) {
			return envelope.Corpus(shown(items))
		},
		ThirdPartyPublic:  thirdParty(envelope.KindPublicRecord),
		ThirdPartyPrivate: thirdParty(envelope.KindPrivateRecord),
		Directive:         func(context.Context) (string, error) { return Directive, nil },
		Retrievables:      renderRetrievables,
		Message:           renderMessage,
		Thought: func(_ context.Context, text string, about envelope.Thought, _ any) (string, error) {
			return envelope.Reasoning(text, about)
		},
		Thoughts: func(_ context.Context, thoughts []*adk.Thought, filter ThoughtFilter) ([]*adk.Thought, error) {
			return filter.Of(thoughts), nil
		},
		SystemMessage: renderSystemMessage,
		ToolResult:    renderToolResult,
		History:       renderHistory,
	}
}

// Over returns the renderers r, with those of others where r has nil. So options of an iteration go
// over those of an executor.
func (r Renderers) Over(others Renderers) Renderers {
	given, below := reflect.ValueOf(&r).Elem(), reflect.ValueOf(others)
	for i := range given.NumField() {
		if given.Field(i).IsNil() {
			given.Field(i).Set(below.Field(i))
		}
	}
	return r
}
