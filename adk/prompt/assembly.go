package prompt

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
)

// Assembly is the making of one prompt. What it has read and rendered once it does not
// read or render again, so that what is counted is what is sent (PRO-8). It is not safe
// for concurrent use.
type Assembly struct {
	view    View
	options Options
	setting Setting
	results map[string]Content
	bytes   map[*adk.Media][]byte
	warned  map[string]bool
}

// New begins a prompt. Options that are wrong are
// E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS, with every fault.
func New(view View, options Options) (*Assembly, error) {
	if err := OptionsError(options.Faults()); err != nil {
		return nil, err
	}
	a := &Assembly{view: view, options: options.withDefaults()}
	a.setting = Setting{
		Self: a.options.Self, Media: a.options.Media, Untrusted: a.options.Renderers.Untrusted, Trusted: a.options.Renderers.Trusted,
		Handle: a.handle, Bytes: a.read, Body: a.body, Warn: a.warn,
	}
	return a, nil
}

// Render makes a prompt in one go: New, and what Assembly.Prompt gives.
func Render(ctx context.Context, view View, options Options) (*Prompt, error) {
	a, err := New(view, options)
	if err != nil {
		return nil, err
	}
	return a.Prompt(ctx)
}

// Results are the results of the view's tool calls as the prompt shows them, by the ids
// of the calls: E_UNSUPPORTED_MEDIA_MODALITY where the policy refuses one of their media,
// else the error of a renderer or of a reader as it is.
func (a *Assembly) Results(ctx context.Context) (map[string]Content, error) {
	err := a.render(ctx)
	return maps.Clone(a.results), err
}

// render renders the results, once.
func (a *Assembly) render(ctx context.Context) error {
	if a.results != nil {
		return nil
	}
	results := make(map[string]Content, len(a.view.ToolCalls))
	for _, call := range a.view.ToolCalls {
		content, err := a.options.Renderers.ToolResult(ctx, call, a.view.tool(call.Tool()), a.setting)
		if err != nil {
			return err
		}
		results[call.ID()] = content
	}
	a.results = results
	return nil
}

// Prompt is the whole prompt. It fails as Results does.
func (a *Assembly) Prompt(ctx context.Context) (*Prompt, error) {
	if slices.Contains(a.options.BucketOrder, Timeline) {
		if err := a.render(ctx); err != nil {
			return nil, err
		}
	}
	history := History{
		View: a.view, Order: a.options.BucketOrder, Renderers: a.options.Renderers, Setting: a.setting, Results: a.results,
		Thoughts: ThoughtFilter{a.options.Surfacing, a.options.Self, a.options.ReplayCompatibility},
	}
	return a.options.Renderers.History(ctx, history)
}

// warn tells what is wrong, each text once.
func (a *Assembly) warn(text string) {
	if a.options.Warn != nil && !a.warned[text] {
		if a.warned == nil {
			a.warned = map[string]bool{}
		}
		a.warned[text] = true
		a.options.Warn(text)
	}
}

// read gives the bytes of a media, which are read once for a prompt (MED-3).
func (a *Assembly) read(ctx context.Context, media *adk.Media) ([]byte, error) {
	if data, held := a.bytes[media]; held {
		return data, nil
	}
	if a.options.Opener == nil {
		return nil, errNoOpener
	}
	data, err := a.options.Opener.OpenMedia(ctx, artifact.Checked(media, a.options.Artifacts.Spool))
	if err == nil && a.bytes == nil {
		a.bytes = map[*adk.Media][]byte{}
	}
	if err == nil {
		a.bytes[media] = data
	}
	return data, err
}

// body gives the text of an artifact, read through the context whatever its size, as all
// of it goes into the prompt.
func (a *Assembly) body(ctx context.Context, media *adk.Media) (string, error) {
	if a.options.Opener == nil {
		return "", errNoOpener
	}
	config := a.options.Artifacts
	config.RecordLimit = math.MaxInt64
	opened, err := artifact.Open(a.options.Opener, media, config)
	if err != nil {
		return "", err
	}
	return opened.Text(ctx)
}

var errNoOpener = OptionsError([]adk.Fault{{Path: "Opener", Message: "is missing, and the prompt holds what has to be read: want the context"}})
