package artifact

import (
	"context"
	"fmt"
	"io"
	"path"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/forging"
)

// Text makes a text artifact from text or bytes, with the body in memory (ART-7). Its id is
// "sha256:" and the first half of the hash, and its tier the least trusted; Wrap sets both for a
// tool call. A media is returned unchanged; nil is an error. Text is an adk.ArtifactConstructor, as
// JSON and Markdown are.
func Text(ctx context.Context, result adk.ToolResult) (adk.ToolResult, error) {
	return construct(ctx, TextFlavour, result)
}

// JSON makes a JSON artifact, as Text does. It does not check the body: if it is no JSON, the first
// question fails (ART-15).
func JSON(ctx context.Context, result adk.ToolResult) (adk.ToolResult, error) {
	return construct(ctx, JSONFlavour, result)
}

// Markdown makes a Markdown artifact, as Text does.
func Markdown(ctx context.Context, result adk.ToolResult) (adk.ToolResult, error) {
	return construct(ctx, MarkdownFlavour, result)
}

// Constructor returns the constructor of a flavour, which is to f as Text is to TextFlavour.
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
	_, _ = meter.Write(body) // never fails
	known := meter.entry("")
	return asResult(newArtifact(ctx, Init{
		ID: "sha256:" + known.SHA256[:32], Flavour: flavour, Filename: "result." + flavour.Ext, Reader: reader,
		TrustTier: adk.TrustThirdPartyPublic, Known: &known,
	}))
}

// asResult returns a media as a result; on an error it returns a nil interface, not a nil
// *adk.Media.
func asResult(media *adk.Media, err error) (adk.ToolResult, error) {
	if err != nil {
		return nil, err
	}
	return media, nil
}

// textOf returns the bytes of a textual result, and whether it is one.
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

// Wrap turns the result of a tool into what its call has to hold (ART-8). Media stay as they are.
// Text and bytes go through the tool's constructor, or become a text artifact, under the id of the
// call. The answers of an artifact tool stay text; fromArtifactTool is for the field of that name
// of the tool call (FRG-12). The error is E_ARTIFACT_CONSTRUCTOR. Executors call Wrap between
// Execute and NewToolCall.
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

// owned checks what a constructor returned. If that is an artifact, owned gives it the id, the name
// and the tier of its call (ART-8, ART-9). In a replay of a redacted trace the mark has the
// recorded size, because the body may differ there (ART-25).
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

// recordedSize reads a body that may have been redacted, and returns its recorded length.
type recordedSize struct {
	body  *adk.Media
	bytes int64
}

func (r recordedSize) Open(ctx context.Context) (io.ReadCloser, error) { return r.body.Open(ctx) }

func (r recordedSize) Size() (n int64, known bool) { return r.bytes, true }
