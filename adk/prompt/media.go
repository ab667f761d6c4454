package prompt

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/envelope"
)

// UnsupportedMedia describes a media without a native block that the policy refuses: the cause of
// E_UNSUPPORTED_MEDIA_MODALITY (MED-4).
type UnsupportedMedia struct {
	Kind     adk.MediaKind
	MIMEType string
	Filename string
}

// Error names the media.
func (u *UnsupportedMedia) Error() string {
	return fmt.Sprintf("%s %q of type %s has no native block", u.Kind, u.Filename, u.MIMEType)
}

// attachment returns the blocks of a message's attachment. An artifact among the attachments is
// shown as untrusted text.
func (with Setting) attachment(ctx context.Context, media *adk.Media, messageID string) ([]Block, error) {
	if isPlainMedia(media) {
		return with.media(ctx, media, messageID, "")
	}
	text, err := with.Body(ctx, media)
	if err != nil {
		return nil, err
	}
	text, err = with.Untrusted(ctx, text, envelope.Content{Nonce: messageID, Kind: envelope.KindToolResult})
	return appendText(nil, text), err
}

// media returns the blocks of one media: a label and the native block, or what the policy shows
// instead. The tool that returned the media does not affect its tier.
func (with Setting) media(ctx context.Context, media *adk.Media, nonce, tool string) ([]Block, error) {
	at := envelope.Content{Nonce: nonce, Tool: tool}
	if media.ModalityHazard() == adk.HazardInert {
		at.Kind = envelope.KindMediaInert
		return with.description(ctx, media, at)
	}
	format, native := nativeFormat(media)
	if !native {
		at.Kind = envelope.KindMediaFallback
		return with.instead(ctx, media, at)
	}
	data, err := with.Bytes(ctx, media)
	if err != nil {
		return nil, err
	}
	label, err := with.label(ctx, media, at, sizeText(int64(len(data)), true))
	if err != nil {
		return nil, err
	}
	block := &Native{Kind: media.Kind(), MIMEType: cleanMIMEType(media.MIMEType()), Filename: cleanFilename(media.Filename()), Format: format, Data: data}
	return append(appendText(nil, label), Block{Native: block}), nil
}

// nativeFormat reports whether a model decodes a media itself, and the format of a sound.
func nativeFormat(media *adk.Media) (format string, native bool) {
	switch media.Kind() {
	case adk.MediaImage, adk.MediaDocument:
		return "", true
	case adk.MediaAudio:
		kind := strings.ToLower(media.MIMEType())
		if strings.Contains(kind, "wav") {
			return "wav", true
		}
		if strings.Contains(kind, "mpeg") || strings.Contains(kind, "mp3") {
			return "mp3", true
		}
	}
	return "", false
}

// label describes the native block that follows it. Its tier says how far the media may be trusted,
// by its origin, and its kind what decoding it may find.
func (with Setting) label(ctx context.Context, media *adk.Media, at envelope.Content, size string) (string, error) {
	extractable := media.ModalityHazard() == adk.HazardExtractableInstructions
	first := media.TrustTier() == adk.TrustFirstParty
	switch {
	case first && extractable:
		at.Kind, at.Modality = envelope.KindMedia, "document"
	case first:
		at.Kind, at.Modality = envelope.KindMedia, "perceptual"
	case extractable:
		at.Kind = envelope.KindMediaExtractable
	default:
		at.Kind = envelope.KindMediaOpaque
	}
	return with.tier(media.TrustTier())(ctx, mediaText(media, size), at)
}

// tier returns the renderer of a tier.
func (with Setting) tier(tier adk.TrustTier) ContentRenderer {
	if tier == adk.TrustFirstParty {
		return with.Trusted
	}
	return with.Untrusted
}

// modalities are the names of hazards if there is no native block.
var modalities = map[adk.ModalityHazard]string{
	adk.HazardInert:                   "inert",
	adk.HazardExtractableInstructions: "extractable",
	adk.HazardOpaquePerceptual:        "opaque",
}

// description describes in words a media that is not decoded (MED-6).
func (with Setting) description(ctx context.Context, media *adk.Media, at envelope.Content) ([]Block, error) {
	at.Modality = modalities[media.ModalityHazard()]
	text, err := with.tier(media.TrustTier())(ctx, mediaText(media, sizeText(media.Size())), at)
	return appendText(nil, text), err
}

// instead returns what the policy shows in the place of a media without a native block.
func (with Setting) instead(ctx context.Context, media *adk.Media, at envelope.Content) ([]Block, error) {
	switch with.Media.Mode {
	case DescribeMedia:
		return with.description(ctx, media, at)
	case StashedText:
		return with.stashed(ctx, media, at)
	}
	return nil, &adk.Error{
		Code: adk.E_UNSUPPORTED_MEDIA_MODALITY, Message: "the prompt holds a media that cannot be sent, and no policy says what to show instead",
		Cause: &UnsupportedMedia{Kind: media.Kind(), MIMEType: cleanMIMEType(media.MIMEType()), Filename: cleanFilename(media.Filename())},
	}
}

// stashed shows the first text in the media's stash, in the lower tier of text and media (MED-5).
func (with Setting) stashed(ctx context.Context, media *adk.Media, at envelope.Content) ([]Block, error) {
	for _, key := range with.Media.StashKeys {
		entry, _ := media.Stashed(key)
		found, ok := stashText(entry.Value)
		if !ok {
			continue
		}
		render := with.tier(entry.TrustTier)
		if media.TrustTier() != adk.TrustFirstParty {
			render = with.Untrusted
		}
		at.Modality = modalities[media.ModalityHazard()]
		text, err := render(ctx, found, at)
		return appendText(nil, text), err
	}
	with.Warn(fmt.Sprintf("the media %q has no text in its stash: its description is shown", cleanFilename(media.Filename())))
	return with.description(ctx, media, at)
}

// stashText returns a value of a stash that is text.
func stashText(value any) (text string, ok bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case *adk.Tokenizable:
		if v != nil {
			return v.String(), true
		}
	}
	return "", false
}

// appendText adds a block of text, unless it is empty.
func appendText(blocks []Block, text string) []Block {
	if text == "" {
		return blocks
	}
	return append(blocks, Block{Text: text})
}

// mediaText names a media in words (MED-2).
func mediaText(media *adk.Media, size string) string {
	return "[media: " + cleanFilename(media.Filename()) + ", " + cleanMIMEType(media.MIMEType()) + ", " + size + "]"
}

// sizeText returns a length in words, with one decimal above 1023 bytes; ties round away from zero
// (MED-7).
func sizeText(n int64, known bool) string {
	if !known || n < 0 {
		return "unknown size"
	}
	const kilo = 1 << 10
	if n < kilo {
		return strconv.FormatInt(n, 10) + " B"
	}
	unit, name := int64(kilo), " KB"
	for _, larger := range []string{" MB", " GB"} {
		if n < unit*kilo {
			break
		}
		unit, name = unit*kilo, larger
	}
	whole, tenths := n/unit, (n%unit*20+unit)/(2*unit)
	return strconv.FormatInt(whole+tenths/10, 10) + "." + strconv.FormatInt(tenths%10, 10) + name
}

var mimeType = regexp.MustCompile(`^[A-Za-z0-9_.+-]+/[A-Za-z0-9_.+-]+$`)

// cleanMIMEType returns a type that is safe in a text and in a URI (MED-8).
func cleanMIMEType(text string) string {
	if !mimeType.MatchString(text) {
		return "application/octet-stream"
	}
	return text
}

// cleanFilename removes from a file name what could be mistaken for markup, and limits its length
// (MED-8).
func cleanFilename(name string) string {
	const most = 256
	name = strings.Map(func(c rune) rune {
		if c == '<' || c == '>' || unicode.IsControl(c) {
			return -1
		}
		return c
	}, name)
	if utf8.RuneCountInString(name) <= most {
		return name
	}
	end := 0
	for range most {
		_, size := utf8.DecodeRuneInString(name[end:])
		end += size
	}
	return name[:end] + "…"
}
