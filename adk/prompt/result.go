package prompt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/envelope"
)

// renderToolResult shows the result of a tool call: text in the tool's tier, an artifact as its
// body or as a handle, media as blocks (ENV-30 to ENV-34). If the call failed, only its text says
// so (ENV-32).
func renderToolResult(ctx context.Context, call *adk.ToolCall, tool *adk.Tool, with Setting) (Content, error) {
	if tool == nil {
		with.Warn(fmt.Sprintf("the tool %.80q is not in the registry: what it answered is shown as untrusted", call.Tool()))
	}
	trusted := tool != nil && tool.Trusted()
	switch results := call.Results().(type) {
	case *adk.Tokenizable:
		if !call.Inline() {
			with.Warn(fmt.Sprintf("the result of call %.80q is text and no artifact: it is written out, as nothing could ask it", call.ID()))
		}
		return with.toolText(ctx, call, results.String(), trusted)
	case *adk.Media:
		if _, marked := artifact.Of(results); marked {
			return with.artifact(ctx, call, results, trusted)
		}
		return with.mediaList(ctx, call, adk.MediaList{results}, trusted)
	case adk.MediaList:
		if !slices.ContainsFunc(results, isPlainMedia) {
			return with.artifacts(ctx, call, results, trusted)
		}
		return with.mediaList(ctx, call, results, trusted)
	}
	return Content{}, nil // cannot happen: a tool call holds nothing else
}

func isPlainMedia(media *adk.Media) bool { _, marked := artifact.Of(media); return !marked }

// toolText puts a tool's text into the envelope of its tier.
func (with Setting) toolText(ctx context.Context, call *adk.ToolCall, text string, trusted bool) (Content, error) {
	render, kind := with.Untrusted, envelope.KindToolResult
	if trusted {
		render, kind = with.Trusted, envelope.KindTrustedToolResult
	}
	text, err := render(ctx, text, envelope.Content{Nonce: call.Checksum(), Kind: kind, Tool: call.Tool()})
	return Content{Text: text}, err
}

// artifact shows one artifact: its body or its handle. Only the call's inline flag decides which
// (ENV-34).
func (with Setting) artifact(ctx context.Context, call *adk.ToolCall, media *adk.Media, trusted bool) (Content, error) {
	if call.Inline() {
		return with.artifacts(ctx, call, adk.MediaList{media}, trusted)
	}
	text, err := with.Handle(call, media)
	if err != nil {
		return Content{}, err
	}
	text, err = with.Untrusted(ctx, text, envelope.Content{Nonce: call.Checksum(), Kind: envelope.KindArtifactHandle, Tool: call.Tool()})
	return Content{Text: text}, err
}

// artifacts shows the whole texts of artifacts. They are trusted if the tool is and all of them are
// first-party.
func (with Setting) artifacts(ctx context.Context, call *adk.ToolCall, list adk.MediaList, trusted bool) (Content, error) {
	texts := make([]string, len(list))
	for i, media := range list {
		var err error
		if texts[i], err = with.Body(ctx, media); err != nil {
			return Content{}, err
		}
		trusted = trusted && media.TrustTier() == adk.TrustFirstParty
	}
	return with.toolText(ctx, call, strings.Join(texts, blankLine), trusted)
}

// mediaList shows the media of a result; artifacts among them are shown as text.
func (with Setting) mediaList(ctx context.Context, call *adk.ToolCall, list adk.MediaList, trusted bool) (Content, error) {
	var blocks []Block
	for _, media := range list {
		if !isPlainMedia(media) {
			content, err := with.artifacts(ctx, call, adk.MediaList{media}, trusted)
			if err != nil {
				return Content{}, err
			}
			blocks = appendText(blocks, content.Text)
			continue
		}
		more, err := with.media(ctx, media, call.Checksum(), call.Tool())
		if err != nil {
			return Content{}, err
		}
		blocks = append(blocks, more...)
	}
	return Content{Blocks: blocks}, nil
}

// handle returns the text that replaces an artifact's body: what the artifact is, and how to query
// it (ENV-33). It reads nothing.
func (a *Assembly) handle(call *adk.ToolCall, media *adk.Media) (string, error) {
	mark, _ := artifact.Of(media)
	title, offers, err := a.options.Artifacts.Offers(mark.Flavour)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "This result is kept as an artifact and is not written out here.\n\nAbout the artifact:\n- callId: %s\n- kind: %s\n- byteLength: %d\n- lineCount: %d\n\nQuery it with one of these tools, with callId=%s:\n",
		call.ID(), title, mark.Bytes, mark.Lines, call.ID())
	for _, offer := range offers {
		fmt.Fprintf(&text, "- %s — %s\n", offer.Name, offer.Description)
	}
	text.WriteString("\nIt stays available for the whole turn and may be queried as often as needed. Its text stands nowhere else.")
	return text.String(), nil
}
