package artifact_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/fakes"
)

// made builds an artifact of a text with a constructor.
func made(t testing.TB, construct adk.ArtifactConstructor, body string) *adk.Media {
	t.Helper()
	result, err := construct(context.Background(), adk.Bytes(body))
	require.NoError(t, err)
	return result.(*adk.Media)
}

// ART-1, ART-2, ART-3: an artifact is a document with a mark, which describes the body.
func TestNew(t *testing.T) {
	media, err := artifact.New(artifact.Init{ID: "call-1", Flavour: artifact.MarkdownFlavour, Filename: "x.md", Reader: adk.MediaBytes([]byte("a\nb\n")), TrustTier: adk.TrustFirstParty, Source: "there"})
	require.NoError(t, err)
	assert.Equal(t, []any{adk.MediaDocument, "text/markdown; charset=utf-8", adk.HazardExtractableInstructions, "there"}, []any{media.Kind(), media.MIMEType(), media.ModalityHazard(), media.Source()})
	mark, marked := artifact.Of(media)
	require.True(t, marked)
	assert.Equal(t, []any{"markdown", 3}, []any{mark.Flavour, mark.Lines})
	assert.Equal(t, int64(4), mark.Bytes)
	assert.Len(t, mark.SHA256, 64)
	entry, _ := media.Stashed(artifact.StashKey)
	assert.Equal(t, adk.TrustFirstParty, entry.TrustTier)
	assert.Equal(t, map[string]any{"flavour": "markdown", "key": "", "bytes": 4, "lines": 3, "sha256": mark.SHA256}, entry.Value)

	known := artifact.Entry{Key: "k", Bytes: 9, Lines: 1}
	unread := adk.MediaFunc(func(context.Context) (io.ReadCloser, error) { return nil, errors.New("read") })
	media, err = artifact.New(artifact.Init{ID: "x", Flavour: artifact.JSONFlavour, Filename: "x", Reader: unread, TrustTier: adk.TrustFirstParty, Known: &known, Format: artifact.FormatNDJSON})
	require.NoError(t, err, "nothing is read where all is known")
	mark, _ = artifact.Of(media)
	assert.Equal(t, artifact.Mark{Flavour: "json", Key: "k", Bytes: 9, Lines: 1, Format: "ndjson"}, mark)
	_, err = artifact.New(artifact.Init{ID: "x", Flavour: artifact.TextFlavour, Filename: "x", Reader: unread, TrustTier: adk.TrustFirstParty})
	assert.ErrorContains(t, err, "read")

	_, err = artifact.New(artifact.Init{Format: "yaml", Known: &artifact.Entry{Bytes: -1}})
	assert.ErrorIs(t, err, adk.E_INVALID_INITIAL_ARTIFACT_VALUE)
	assert.ErrorIs(t, err, adk.E_NOT_A_SPOOL_READER)
	for _, field := range []string{"flavour", "format", "known", "id", "filename", "reader", "trustTier"} {
		assert.ErrorContains(t, err, field+":")
	}
}

// ART-1: a mark of a wrong shape is no mark. Neither is one of another trust tier, or on a picture.
func TestOf(t *testing.T) {
	good := map[string]any{"flavour": "text", "key": "", "bytes": 1, "lines": 1, "sha256": ""}
	with := func(changes map[string]any, tier adk.TrustTier, kind adk.MediaKind) bool {
		value := map[string]any{}
		for k, v := range good {
			value[k] = v
		}
		for k, v := range changes {
			if value[k] = v; v == nil {
				delete(value, k)
			}
		}
		media, err := adk.NewMedia(adk.MediaInit{ID: "x", Kind: kind, MIMEType: "text/plain", Filename: "x", Reader: adk.MediaBytes(nil), TrustTier: adk.TrustFirstParty,
			ModalityHazard: adk.HazardInert, Stash: map[string]adk.MediaStashEntry{artifact.StashKey: {Value: value, TrustTier: tier}}})
		require.NoError(t, err)
		_, marked := artifact.Of(media)
		return marked
	}
	assert.True(t, with(nil, adk.TrustFirstParty, adk.MediaDocument))
	assert.True(t, with(map[string]any{"sha256": nil, "format": "json5"}, adk.TrustFirstParty, adk.MediaDocument))
	assert.False(t, with(nil, adk.TrustThirdPartyPublic, adk.MediaDocument))
	assert.False(t, with(nil, adk.TrustFirstParty, adk.MediaImage))
	for _, change := range []map[string]any{{"flavour": ""}, {"flavour": 1}, {"key": nil}, {"bytes": -1}, {"bytes": "1"}, {"lines": 1.5}, {"sha256": "ABC"}, {"format": "xml"}, {"more": 1}} {
		assert.False(t, with(change, adk.TrustFirstParty, adk.MediaDocument), "%v", change)
	}
	_, marked := artifact.Of(nil)
	assert.False(t, marked)
}

// ART-7: constructors make equal artifacts of equal results, and return media unchanged.
func TestConstructors(t *testing.T) {
	for flavour, construct := range map[string]adk.ArtifactConstructor{"text": artifact.Text, "json": artifact.JSON, "markdown": artifact.Markdown, "log": artifact.Flavour{Name: "log", Title: "Log", MIMEType: "text/plain", Ext: "log"}.Constructor()} {
		first, err := construct(t.Context(), adk.Text("body"))
		require.NoError(t, err)
		second, err := construct(t.Context(), adk.Bytes("body"))
		require.NoError(t, err)
		assert.Equal(t, first.(*adk.Media).Digest(), second.(*adk.Media).Digest())
		mark, marked := artifact.Of(first.(*adk.Media))
		assert.True(t, marked)
		assert.Equal(t, flavour, mark.Flavour)
		assert.Equal(t, "sha256:"+mark.SHA256[:32], first.(*adk.Media).ID())
		again, err := construct(t.Context(), first)
		require.NoError(t, err)
		assert.Same(t, first, again)
		for _, nothing := range []adk.ToolResult{nil, (*adk.Tokenizable)(nil), (*adk.Media)(nil), adk.MediaList{}} {
			_, err = construct(t.Context(), nothing)
			assert.Error(t, err)
		}
	}
}

func tool(t *testing.T, init adk.ToolInit) *adk.Tool {
	t.Helper()
	init.Name, init.Description, init.InputSchema = "fetch", "Fetches.", []byte(`{"type":"object"}`)
	init.Handler = func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
		return adk.Text("x"), nil
	}
	made, err := adk.NewTool(init)
	require.NoError(t, err)
	return made
}

// ART-4, ART-6, ART-8, ART-9: the tool that made a result decides what Wrap makes of it.
func TestWrap(t *testing.T) {
	plain, trusted := tool(t, adk.ToolInit{}), tool(t, adk.ToolInit{Trusted: true, ArtifactConstructor: artifact.JSON})
	wrapped, from, err := artifact.Wrap(t.Context(), plain, "call-1", adk.Text("a\r\nb\n"))
	require.NoError(t, err)
	media := wrapped.(*adk.Media)
	assert.Equal(t, []any{"call-1", "fetch.txt", adk.TrustThirdPartyPublic, false}, []any{media.ID(), media.Filename(), media.TrustTier(), from})
	data, err := media.Bytes(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "a\r\nb\n", string(data), "byte for byte")
	wrapped, _, err = artifact.Wrap(t.Context(), trusted, "call-2", adk.Bytes(`{}`))
	require.NoError(t, err)
	mark, marked := artifact.Of(wrapped.(*adk.Media))
	assert.True(t, marked)
	assert.Equal(t, []any{"json", "fetch.json", adk.TrustFirstParty}, []any{mark.Flavour, wrapped.(*adk.Media).Filename(), wrapped.(*adk.Media).TrustTier()})

	picture, err := adk.NewToolGenerated(adk.MediaInit{ID: "p", Kind: adk.MediaImage, MIMEType: "image/png", Filename: "p.png", Reader: adk.MediaBytes(nil)})
	require.NoError(t, err)
	for _, result := range []adk.ToolResult{picture, adk.MediaList{picture}} {
		wrapped, from, err = artifact.Wrap(t.Context(), tool(t, adk.ToolInit{ArtifactConstructor: func(context.Context, adk.ToolResult) (adk.ToolResult, error) { panic("called") }}), "x", result)
		require.NoError(t, err)
		assert.Equal(t, result, wrapped)
		assert.False(t, from)
	}
	words, err := artifact.NewTool(adk.ToolInit{Name: "ask", Description: "Asks.", InputSchema: []byte(`{"type":"object"}`), Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
		return picture, nil
	}})
	require.NoError(t, err)
	wrapped, from, err = artifact.Wrap(t.Context(), words, "x", adk.Bytes("a\xffb\xe2\x82c"))
	require.NoError(t, err)
	assert.True(t, from)
	assert.Equal(t, "a\uFFFDb\uFFFDc", wrapped.(*adk.Tokenizable).String())
	for name, construct := range map[string]adk.ArtifactConstructor{
		"fails": func(context.Context, adk.ToolResult) (adk.ToolResult, error) { return nil, errors.New("boom") },
		"nil":   func(context.Context, adk.ToolResult) (adk.ToolResult, error) { return nil, nil },
		"bytes": func(context.Context, adk.ToolResult) (adk.ToolResult, error) { return adk.Bytes("x"), nil },
	} {
		_, _, err = artifact.Wrap(t.Context(), tool(t, adk.ToolInit{ArtifactConstructor: construct}), "x", adk.Text("x"))
		assert.ErrorIs(t, err, adk.E_ARTIFACT_CONSTRUCTOR, name)
	}

	// ART-10: an artifact tool that returns media fails.
	inTurn(t, fakes.NewStorage().Storage(), func(ctx context.Context, dc *adk.DispatchContext) {
		_, err := dc.Execute(ctx, words, "{}")
		assert.ErrorIs(t, err, adk.E_TOOL_DOWNSTREAM_ERROR)
	})
}

// ART-5: the title of a flavour tells a prompt what a handle stands for.
func TestTitles(t *testing.T) {
	for title, flavour := range map[string]artifact.Flavour{"Text artifact": artifact.TextFlavour, "JSON artifact": artifact.JSONFlavour, "Markdown artifact": artifact.MarkdownFlavour} {
		assert.Equal(t, title, flavour.Title)
	}
	shown, hidden := call(t, "a", made(t, artifact.Text, "x")), call(t, "b", made(t, artifact.Text, "x")).Init()
	hidden.Inline = new(false)
	kept, err := adk.NewToolCall(hidden)
	require.NoError(t, err)
	assert.Equal(t, []bool{true, false}, []bool{shown.Inline(), kept.Inline()})
}

// ART-10: an artifact tool is recognized by its meta, also in a trace, and has no constructor.
func TestNewTool(t *testing.T) {
	init := adk.ToolInit{Name: "ask", Description: "Asks.", InputSchema: []byte(`{"type":"object"}`), Meta: map[string]any{"own": 1},
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("x"), nil
		}}
	made, err := artifact.NewTool(init)
	require.NoError(t, err)
	assert.True(t, artifact.IsTool(made))
	assert.Equal(t, map[string]any{"own": 1, "artifact": map[string]any{"tool": true}}, made.Meta())
	assert.Equal(t, map[string]any{"own": 1}, init.Meta, "the caller's is untouched")
	text, err := made.MarshalJSON()
	require.NoError(t, err)
	read, err := adk.ParseRecord(adk.RecordTool, text)
	require.NoError(t, err)
	assert.True(t, artifact.IsTool(read.(*adk.Tool)))
	assert.False(t, artifact.IsTool(tool(t, adk.ToolInit{})))
	assert.False(t, artifact.IsTool(nil))
	_, err = artifact.NewTool(adk.ToolInit{ArtifactConstructor: artifact.Text})
	assert.ErrorIs(t, err, adk.E_INVALID_INITIAL_TOOL_VALUE)
	for _, field := range []string{"Name", "Description", "InputSchema", "Handler", "ArtifactConstructor"} {
		assert.ErrorContains(t, err, field)
	}
}

// ART-2, ART-8: a body may be empty. Nil bytes and empty bytes make the same artifact.
func TestEmptyBodies(t *testing.T) {
	for name, nothing := range map[string][]byte{"nil": nil, "empty": {}} {
		wrapped, _, err := artifact.Wrap(t.Context(), tool(t, adk.ToolInit{}), "call", adk.Bytes(nothing))
		require.NoError(t, err, name)
		made, err := artifact.New(artifact.Init{ID: "call", Flavour: artifact.TextFlavour, Filename: "x.txt", TrustTier: adk.TrustFirstParty, Reader: artifact.MemoryReader(nothing)})
		require.NoError(t, err, name)
		for _, media := range []*adk.Media{wrapped.(*adk.Media), made} {
			mark, marked := artifact.Of(media)
			assert.True(t, marked, name)
			assert.Zero(t, mark.Bytes, name)
			data, err := media.Bytes(t.Context())
			require.NoError(t, err, name)
			assert.Empty(t, data, name)
		}
	}
}
