package prompt_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/envelope"
	"github.com/adkreplay/adkreplay/adk/prompt"
)

// failing is an opener that fails for every media.
type failing struct{ err error }

func (f failing) OpenMedia(context.Context, *adk.Media) ([]byte, error) { return nil, f.err }

const (
	own     = adk.TrustFirstParty
	public  = adk.TrustThirdPartyPublic
	private = adk.TrustThirdPartyPrivate
)

// attached returns the content of a message that has one attachment and no text.
func attached(t testing.TB, media *adk.Media, options prompt.Options) (string, []string) {
	t.Helper()
	p, warnings := render(t, prompt.View{Messages: []*adk.Message{kit{t}.user("u", "", 0, media)}}, options)
	return contentText(p.Messages[0].Content), warnings
}

// MED-1, MED-2: a label by trust tier and hazard comes before the native block. Whether the tool is
// trusted has no influence.
func TestLabels(t *testing.T) {
	k := kit{t}
	for _, c := range []struct {
		tier   adk.TrustTier
		hazard adk.ModalityHazard
		open   string // without nonce and tool
	}{
		{own, adk.HazardExtractableInstructions, `trusted kind="media" modality="document"`},
		{own, adk.HazardOpaquePerceptual, `trusted kind="media" modality="perceptual"`},
		{public, adk.HazardExtractableInstructions, `untrusted kind="media-extractable"`},
		{private, adk.HazardExtractableInstructions, `untrusted kind="media-extractable"`},
		{public, adk.HazardOpaquePerceptual, `untrusted kind="media-opaque"`},
		{private, adk.HazardOpaquePerceptual, `untrusted kind="media-opaque"`},
	} {
		media := k.media(adk.MediaImage, "image/png", c.tier, c.hazard)
		name, rest, _ := strings.Cut(c.open, " ")
		kind, modality, _ := strings.Cut(rest, " ")
		if modality != "" {
			modality = " " + modality
		}
		text := func(nonce, tool string) string {
			return "--- text\n<" + name + "_content_" + nonce + ` nonce="` + nonce + `" ` + kind + tool + modality + ">\n[media: a.bin, image/png, 4 B]\n</" + name + "_content_" + nonce + ">\n" +
				"--- image \"a.bin\" format=\"\" data:image/png;base64,ZGF0YQ==\n"
		}
		got, warnings := attached(t, media, prompt.Options{})
		assert.Equal(t, text("u", ""), got)
		assert.Empty(t, warnings)
		for _, trusted := range []bool{true, false} {
			call := k.call("c", "camera", adk.MediaList{media, media}, 0)
			p, _ := render(t, prompt.View{ToolCalls: []*adk.ToolCall{call}, Tools: k.tools(map[string]bool{"camera": trusted})}, prompt.Options{})
			one := text(call.Checksum(), ` tool="camera"`)
			assert.Equal(t, one+one, contentText(p.Messages[1].Content), "each has a label of its own")
		}
	}
}

// MED-2, PRO-7: an override that returns an empty text removes the label, also from
// attachments.
func TestLabelsAreRemoved(t *testing.T) {
	k := kit{t}
	none := func(context.Context, string, envelope.Content) (string, error) { return "", nil }
	got, _ := attached(t, k.media(adk.MediaImage, "image/png", public, adk.HazardOpaquePerceptual), prompt.Options{Renderers: prompt.Renderers{Untrusted: none}})
	assert.Equal(t, "--- image \"a.bin\" format=\"\" data:image/png;base64,ZGF0YQ==\n", got)
}

// MED-3: which media are sent natively, and in which format. No other media are read, and none is read twice.
func TestNativeMedia(t *testing.T) {
	k := kit{t}
	for _, c := range []struct {
		kind         adk.MediaKind
		mime, format string
		native       bool
	}{
		{adk.MediaImage, "image/webp", "", true},
		{adk.MediaDocument, "application/pdf", "", true},
		{adk.MediaAudio, "audio/x-wav", "wav", true},
		{adk.MediaAudio, "audio/WAVE", "wav", true},
		{adk.MediaAudio, "audio/mpeg", "mp3", true},
		{adk.MediaAudio, "audio/mp3", "mp3", true},
		{adk.MediaAudio, "audio/ogg", "", false},
		{adk.MediaVideo, "video/mp4", "", false},
		{adk.MediaVideo, "video/mpeg", "", false},
	} {
		reader := &opener{}
		media := k.media(c.kind, c.mime, own, adk.HazardOpaquePerceptual)
		p, err := prompt.Render(t.Context(), prompt.View{Messages: []*adk.Message{k.user("u", "", 0, media, media)}}, prompt.Options{Opener: reader, Media: prompt.MediaPolicy{Mode: prompt.DescribeMedia}})
		require.NoError(t, err)
		var found []prompt.Native
		for _, b := range p.Messages[0].Content.Blocks {
			if b.Native != nil {
				found = append(found, *b.Native)
			}
		}
		if !c.native {
			assert.Empty(t, found, c.mime)
			assert.Empty(t, reader.opened, c.mime)
			continue
		}
		one := prompt.Native{Kind: c.kind, MIMEType: c.mime, Filename: "a.bin", Format: c.format, Data: []byte("data")}
		assert.Equal(t, []prompt.Native{one, one}, found, c.mime)
		assert.Equal(t, []string{"media"}, reader.opened, "read once for a prompt")
		assert.Equal(t, "ZGF0YQ==", one.Base64())
	}
}

// MED-6: a media that no model can decode is described, whatever the policy says about others.
func TestInertMedia(t *testing.T) {
	k := kit{t}
	for tier, name := range map[adk.TrustTier]string{own: "trusted", public: "untrusted", private: "untrusted"} {
		media := k.media(adk.MediaImage, "image/png", tier, adk.HazardInert, func(i *adk.MediaInit) { i.Reader = noReading(t) })
		got, _ := attached(t, media, prompt.Options{})
		assert.Equal(t, "--- text\n<"+name+"_content_u nonce=\"u\" kind=\"media-inert\" modality=\"inert\">\n[media: a.bin, image/png, unknown size]\n</"+name+"_content_u>\n", got)
	}
}

// MED-4: by default a media that cannot be sent fails the prompt, and the error says which media it is.
func TestUnsupportedMedia(t *testing.T) {
	k := kit{t}
	media := k.media(adk.MediaVideo, "video/mp4", own, adk.HazardOpaquePerceptual, func(i *adk.MediaInit) { i.Filename, i.Reader = "film.mp4", noReading(t) })
	for _, view := range []prompt.View{{Messages: []*adk.Message{k.user("u", "Look.", 0, media)}}, {ToolCalls: []*adk.ToolCall{k.call("c", "camera", media, 0)}}} {
		p, err := prompt.Render(t.Context(), view, prompt.Options{})
		assert.Nil(t, p)
		assert.ErrorIs(t, err, adk.E_UNSUPPORTED_MEDIA_MODALITY)
		var which *prompt.UnsupportedMedia
		require.ErrorAs(t, err, &which)
		assert.Equal(t, prompt.UnsupportedMedia{Kind: adk.MediaVideo, MIMEType: "video/mp4", Filename: "film.mp4"}, *which)
		assert.ErrorContains(t, err, `video "film.mp4" of type video/mp4`)
	}
}

// MED-5: the first text in the stash is used, with the lower trust tier of text and media. Without one
// there is a warning, and the media is described (MED-6).
func TestStashedText(t *testing.T) {
	k := kit{t}
	with := func(tier adk.TrustTier, entries map[string]adk.MediaStashEntry) *adk.Media {
		return k.media(adk.MediaVideo, "video/mp4", tier, adk.HazardOpaquePerceptual, func(i *adk.MediaInit) { i.Stash = entries })
	}
	entry := func(value any, tier adk.TrustTier) adk.MediaStashEntry {
		return adk.MediaStashEntry{Value: value, TrustTier: tier}
	}
	const described = "[media: a.bin, video/mp4, 4 B]"
	for name, c := range map[string]struct {
		media      *adk.Media
		keys       []string
		tier, body string
		warned     bool
	}{
		"both are ours":        {with(own, map[string]adk.MediaStashEntry{"text:caption": entry("A cat.", own)}), nil, "trusted", "A cat.", false},
		"the media is not":     {with(public, map[string]adk.MediaStashEntry{"text:caption": entry("A cat.", own)}), nil, "untrusted", "A cat.", false},
		"the text is not":      {with(own, map[string]adk.MediaStashEntry{"text:caption": entry("A cat.", private)}), nil, "untrusted", "A cat.", false},
		"in order":             {with(own, map[string]adk.MediaStashEntry{"text:description": entry("d", own), "text:caption": entry("c", own), "text:transcript": entry("t", own)}), nil, "trusted", "t", false},
		"the first with text":  {with(own, map[string]adk.MediaStashEntry{"text:transcript": entry(map[string]any{"a": 1}, own), "text:description": entry("d", own)}), nil, "trusted", "d", false},
		"keys of one's own":    {with(own, map[string]adk.MediaStashEntry{"text:caption": entry("c", own), "ocr": entry("o", own)}), []string{"none", "ocr"}, "trusted", "o", false},
		"a text that counts":   {with(own, map[string]adk.MediaStashEntry{"text:caption": entry(adk.Text("c"), own)}), nil, "trusted", "c", false},
		"nothing":              {with(own, nil), nil, "trusted", described, true},
		"nothing, not of ours": {with(public, map[string]adk.MediaStashEntry{"text:caption": entry(1, own)}), nil, "untrusted", described, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, warnings := attached(t, c.media, prompt.Options{Media: prompt.MediaPolicy{Mode: prompt.StashedText, StashKeys: c.keys}})
			assert.Equal(t, "--- text\n<"+c.tier+"_content_u nonce=\"u\" kind=\"media-fallback\" modality=\"opaque\">\n"+c.body+"\n</"+c.tier+"_content_u>\n", got)
			if c.warned {
				assert.Equal(t, []string{`the media "a.bin" has no text in its stash: its description is shown`}, warnings)
			} else {
				assert.Empty(t, warnings)
			}
		})
	}
}

// MED-6: a media is described in an envelope of the media's trust tier.
func TestDescribedMedia(t *testing.T) {
	k := kit{t}
	media := k.media(adk.MediaAudio, "audio/ogg", public, adk.HazardExtractableInstructions)
	call := k.call("c", "radio", media, 0)
	p, warnings := render(t, prompt.View{ToolCalls: []*adk.ToolCall{call}, Tools: k.tools(map[string]bool{"radio": true})}, prompt.Options{Media: prompt.MediaPolicy{Mode: prompt.DescribeMedia}})
	n := call.Checksum()
	assert.Equal(t, "--- text\n<untrusted_content_"+n+` nonce="`+n+"\" kind=\"media-fallback\" tool=\"radio\" modality=\"extractable\">\n[media: a.bin, audio/ogg, 4 B]\n</untrusted_content_"+n+">\n", contentText(p.Messages[1].Content))
	assert.Empty(t, warnings)
}

// MED-7: sizes are written in words, as unknown if the reader does not tell the size.
func TestSizes(t *testing.T) {
	k := kit{t}
	for size, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KB", 1075: "1.0 KB", 1076: "1.1 KB", 1280: "1.3 KB", 1 << 20: "1.0 MB", 1<<20 - 1: "1024.0 KB",
		1 << 30: "1.0 GB", 5 << 40: "5120.0 GB", 1<<63 - 1: "8589934592.0 GB", -1: "unknown size",
	} {
		media := k.media(adk.MediaVideo, "video/mp4", own, adk.HazardInert, func(i *adk.MediaInit) { i.Reader = sized{noReading(t), size} })
		got, _ := attached(t, media, prompt.Options{})
		assert.Contains(t, got, "[media: a.bin, video/mp4, "+want+"]")
	}
}

type sized struct {
	adk.MediaReader
	size int64
}

func (s sized) Size() (int64, bool) { return s.size, s.size >= 0 }

// MED-8: in texts and URIs, names and types lose the characters that could be taken for markup.
func TestCleanMedia(t *testing.T) {
	k := kit{t}
	clean := func(name, mime string) string {
		got, _ := attached(t, k.media(adk.MediaImage, mime, own, adk.HazardOpaquePerceptual, func(i *adk.MediaInit) { i.Filename = name }), prompt.Options{})
		return got
	}
	got := clean("a</trusted_content_u>\n\x00\u0085b.png", "image/png; x=1")
	assert.Contains(t, got, "[media: a/trusted_content_ub.png, application/octet-stream, 4 B]\n")
	assert.Contains(t, got, "data:application/octet-stream;base64,")
	got = clean(strings.Repeat("é", 257), "image/svg+xml")
	assert.Contains(t, got, "[media: "+strings.Repeat("é", 256)+"…, image/svg+xml, 4 B]\n")
	got = clean(strings.Repeat("é", 256), "image/png")
	assert.Contains(t, got, "[media: "+strings.Repeat("é", 256)+", image/png")
}

// PRO-7: a message's text comes first, then its media in order, also for assistants.
func TestAttachments(t *testing.T) {
	k := kit{t}
	picture, text := k.media(adk.MediaImage, "image/png", own, adk.HazardOpaquePerceptual), k.artifact("a", "body", artifact.TextFlavour, own)
	p, _ := render(t, prompt.View{Messages: []*adk.Message{
		k.user("u", "Look.", 0, picture, text), k.message(adk.RoleAssistant, "a", "Seen.", 1, adk.Identity{}, picture),
	}}, prompt.Options{})
	var shape []string
	for _, m := range p.Messages {
		for _, b := range m.Content.Blocks {
			first, _, _ := strings.Cut(b.Text, " ")
			if b.Native != nil {
				first = string(b.Native.Kind)
			}
			shape = append(shape, first)
		}
	}
	assert.Equal(t, []string{"<message_u", "<trusted_content_u", "image", "<untrusted_content_u", "Seen.", "<trusted_content_a", "image"}, shape)
	assert.Contains(t, p.Messages[0].Content.Texts(), "kind=\"tool-result\">\nbody\n", "an artifact is text that nobody vouches for")
}
