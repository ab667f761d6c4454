package prompt

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
)

// Assembly makes one prompt. It reads and renders each thing only once, so that what is counted is
// what is sent (PRO-8). It is not safe for concurrent use.
type Assembly struct {
	view    View
	options Options
	setting Setting
	results map[string]Content
	bytes   map[*adk.Media][]byte
	warned  map[string]bool
}

// New begins a prompt. Wrong options are E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS, with every
// fault.
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

// Render makes a prompt in one call: New, then Assembly.Prompt.
func Render(ctx context.Context, view View, options Options) (*Prompt, error) {
	a, err := New(view, options)
	if err != nil {
		return nil, err
	}
	return a.Prompt(ctx)
}

// Results returns the results of the view's tool calls as the prompt shows them, by call id. The
// error is E_UNSUPPORTED_MEDIA_MODALITY if the policy refuses one of their media, otherwise the
// unchanged error of a renderer or a reader.
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

// Prompt returns the whole prompt. Its errors are those of Results.
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

// warn passes a warning on, each text once.
func (a *Assembly) warn(text string) {
	if a.options.Warn != nil && !a.warned[text] {
		if a.warned == nil {
			a.warned = map[string]bool{}
		}
		a.warned[text] = true
		a.options.Warn(text)
	}
}

// read returns the bytes of a media, which are read once for a prompt (MED-3).
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

// body returns the text of an artifact, read through the context. The limit of a record does not
// apply, because the prompt needs the whole text.
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
