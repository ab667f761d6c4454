package artifact

import (
	"context"
	"fmt"
	"io"
	"path"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/forging"
)

// Text makes a text artifact of text or bytes, with the body in memory (ART-7). Its
// id is sha256: and the first half of the hash, its tier the least trusted; Wrap sets
// both for a tool call. A media is given back; nil is an error. It is an
// adk.ArtifactConstructor, as JSON and Markdown are.
func Text(ctx context.Context, result adk.ToolResult) (adk.ToolResult, error) {
	return construct(ctx, TextFlavour, result)
}

// JSON makes a JSON artifact, as Text does. It does not read the body: what is no JSON
// shows when it is asked (ART-15).
func JSON(ctx context.Context, result adk.ToolResult) (adk.ToolResult, error) {
	return construct(ctx, JSONFlavour, result)
}

// Markdown makes a Markdown artifact, as Text does.
func Markdown(ctx context.Context, result adk.ToolResult) (adk.ToolResult, error) {
	return construct(ctx, MarkdownFlavour, result)
}

// Constructor is the constructor of a user's own flavour, as Text is that of text.
func (f Flavour) Constructor() adk.ArtifactConstructor {
	return func(ctx context.Context, result adk.ToolResult) (adk.ToolResult, error) {
		return construct(ctx, f, result)
	}
}

func construct(ctx context.Context, flavour Flavour, result adk.ToolResult) (adk.ToolResult, error) {
	body, textual, err := textOf(result)
	if err != nil || !textual {
		return result, err
	}
	reader := MemoryReader(body)
	meter := newMeter()
	_, _ = meter.Write(body) // a hash takes all
	known := meter.entry("")
	return asResult(newArtifact(ctx, Init{
		ID: "sha256:" + known.SHA256[:32], Flavour: flavour, Filename: "result." + flavour.Ext, Reader: reader,
		TrustTier: adk.TrustThirdPartyPublic, Known: &known,
	}))
}

// asResult is a media as a result: a nil *adk.Media is no nil interface.
func asResult(media *adk.Media, err error) (adk.ToolResult, error) {
	if err != nil {
		return nil, err
	}
	return media, nil
}

// textOf gives the bytes of a textual result, and whether it is one.
func textOf(result adk.ToolResult) (body []byte, textual bool, err error) {
	switch r := result.(type) {
	case *adk.Tokenizable:
		if r != nil {
			return []byte(r.String()), true, nil
		}
	case adk.Bytes:
		return r, true, nil
	case *adk.Media:
		if r != nil {
			return nil, false, nil
		}
	case adk.MediaList:
		if len(r) > 0 {
			return nil, false, nil
		}
	}
	return nil, false, fmt.Errorf("an artifact of %T: want text, bytes or media", result)
}

// Wrap makes of what a tool gave what its call is to hold (ART-8): media stay as they
// are, text and bytes become what the tool's constructor makes of them, or a text
// artifact, under the id of the call; and the words of an artifact tool stay words.
// fromArtifactTool is for the field of that name of the tool call (FRG-12). The error
// is E_ARTIFACT_CONSTRUCTOR. Executors call it between Execute and NewToolCall.
func Wrap(ctx context.Context, tool *adk.Tool, callID string, result adk.ToolResult) (wrapped adk.ToolResult, fromArtifactTool bool, err error) {
	body, textual, err := textOf(result)
	switch {
	case err != nil:
		return nil, false, err
	case IsTool(tool) && textual:
		return adk.Text(validText(body)), true, nil
	case !textual:
		return result, IsTool(tool), nil
	}
	constructor := tool.ArtifactConstructor()
	if constructor == nil {
		constructor = Text
	}
	made, err := constructor(ctx, result)
	if err == nil {
		made, err = owned(ctx, tool, callID, made)
	}
	if err != nil {
		return nil, false, &adk.Error{Code: adk.E_ARTIFACT_CONSTRUCTOR, Message: fmt.Sprintf("call %.80q of tool %.80q", callID, tool.Name()), Cause: err}
	}
	return made, false, nil
}

// owned is what a constructor gave, with the id, the name and the tier of its call if
// it is an artifact (ART-8, ART-9). In a replay of a redacted trace its mark is what the
// trace has: the body may be another there (ART-25).
func owned(ctx context.Context, tool *adk.Tool, callID string, made adk.ToolResult) (adk.ToolResult, error) {
	if _, textual, err := textOf(made); err != nil {
		return nil, err
	} else if _, isBytes := made.(adk.Bytes); textual && isBytes {
		return nil, fmt.Errorf("the constructor gave bytes, want text or media")
	}
	media, isMedia := made.(*adk.Media)
	mark, marked := Of(media)
	if !isMedia || !marked {
		return made, nil
	}
	init := media.Init()
	init.ID, init.Filename, init.TrustTier = callID, tool.Name()+path.Ext(media.Filename()), adk.TrustThirdPartyPublic
	if tool.Trusted() {
		init.TrustTier = adk.TrustFirstParty
	}
	if size, redacted := forging.SizeOf(ctx, callID); redacted {
		mark.SHA256, mark.Bytes, mark.Lines = "", int64(size.Bytes), size.Lines
		init.Reader = recordedSize{media, mark.Bytes}
	}
	mark.put(&init)
	return asResult(adk.NewMedia(init))
}

// recordedSize reads a body that may have been redacted, and says how long it was.
type recordedSize struct {
	body  *adk.Media
	bytes int64
}

func (r recordedSize) Open(ctx context.Context) (io.ReadCloser, error) { return r.body.Open(ctx) }

func (r recordedSize) Size() (n int64, known bool) { return r.bytes, true }
