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

// ContentRenderer puts a text into an envelope of one tier. Empty text leaves out what
// it would have shown.
type ContentRenderer func(ctx context.Context, text string, c envelope.Content) (string, error)

// Renderers are the parts that a prompt is made of. Each can be replaced alone: one that
// needs another is given it as an argument. All run in the call that asks for the
// prompt, with its context, and fail it with their error.
type Renderers struct {
	// Untrusted and Trusted are envelope.Untrusted and envelope.Trusted.
	Untrusted, Trusted ContentRenderer
	// Instructions writes the block of standing instructions.
	Instructions func(ctx context.Context, texts []string, version string) (string, error)
	// Memories writes the block of memories.
	Memories func(ctx context.Context, items []Item[*adk.Memory]) (string, error)
	// FirstParty writes the block of first-party retrievables.
	FirstParty func(ctx context.Context, items []Item[*adk.Retrievable]) (string, error)
	// ThirdPartyPublic and ThirdPartyPrivate write those of the other tiers.
	ThirdPartyPublic, ThirdPartyPrivate TierRenderer
	// Directive says how far what was retrieved may be followed.
	Directive func(ctx context.Context) (string, error)
	// Retrievables puts directive and tiers together.
	Retrievables func(ctx context.Context, items []Item[*adk.Retrievable], with Tiers) (string, error)
	// Message writes one message of the timeline.
	Message func(ctx context.Context, message *adk.Message, with Setting) (Message, error)
	// Thought writes one thought; the payload is that of an opaque one, else nil.
	Thought func(ctx context.Context, text string, about envelope.Thought, payload any) (string, error)
	// Thoughts says which thoughts are shown, in order.
	Thoughts func(ctx context.Context, thoughts []*adk.Thought, filter ThoughtFilter) ([]*adk.Thought, error)
	// SystemMessage writes a system message: the leading one with the system prompt, the
	// trailing one without. Empty text is no message.
	SystemMessage func(ctx context.Context, of SystemMessage) (string, error)
	// ToolResult writes what a tool call gave; the tool is nil where nobody knows it.
	ToolResult func(ctx context.Context, call *adk.ToolCall, tool *adk.Tool, with Setting) (Content, error)
	// History puts all messages together.
	History func(ctx context.Context, of History) (*Prompt, error)
}

// TierRenderer writes the retrievables of one tier.
type TierRenderer func(ctx context.Context, items []Item[*adk.Retrievable], untrusted ContentRenderer) (string, error)

// Item is a record, and how it is shown.
type Item[T adk.Record] struct {
	Record T
	Shown  envelope.Item
}

// Tiers are what Renderers.Retrievables is given.
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

// Of are the thoughts that are shown, by the time they were made, then by
// id (IDN-4, IDN-5). One that cannot be sent keeps none from being the latest.
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

// plainThought is the form of thoughts that are text and nothing else.
const plainThought = "plain-text"

// sendable reports whether a provider takes a thought back.
func (f ThoughtFilter) sendable(t *adk.Thought) bool {
	form := t.ReplayCompatibility()
	if t.Payload() == nil && (form == "" || form == plainThought) {
		return true
	}
	return slices.Contains(f.ReplayCompatibility, form)
}

// Setting is what renderers of messages and of results are given beside the record.
type Setting struct {
	Self               string
	Media              MediaPolicy
	Untrusted, Trusted ContentRenderer
	// Handle writes what stands in the place of an artifact's body (ENV-33).
	Handle func(call *adk.ToolCall, media *adk.Media) (string, error)
	// Bytes are those of a media, read once for a prompt.
	Bytes func(ctx context.Context, media *adk.Media) ([]byte, error)
	// Body is the text of an artifact.
	Body func(ctx context.Context, media *adk.Media) (string, error)
	// Warn tells what is wrong and stops nothing.
	Warn func(text string)
}

// SystemMessage is what one system message is made of.
type SystemMessage struct {
	// Prompt is the system prompt, empty in a trailing message.
	Prompt string
	// Order are the buckets to show, none of them Timeline.
	Order []Bucket
	View  View
	// Renderers are those of the buckets.
	Renderers Renderers
}

// History is what the messages of a prompt are made of.
type History struct {
	View      View
	Order     []Bucket
	Thoughts  ThoughtFilter
	Renderers Renderers
	Setting   Setting
	// Results are the results of tool calls that were rendered before, by the ids of
	// the calls. What is missing is rendered.
	Results map[string]Content
}

// DefaultRenderers are the renderers that stand where nobody replaced one.
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

// Over are the renderers, and where one is nil that of others: as options of an iteration
// lie over those of an executor.
func (r Renderers) Over(others Renderers) Renderers {
	given, below := reflect.ValueOf(&r).Elem(), reflect.ValueOf(others)
	for i := range given.NumField() {
		if given.Field(i).IsNil() {
			given.Field(i).Set(below.Field(i))
		}
	}
	return r
}
