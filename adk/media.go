package adk

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/adkreplay/adkreplay/adk/internal/fields"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/reread"
)

// MediaKind says how a model perceives a media.
type MediaKind string

// The kinds of media.
const (
	MediaImage    MediaKind = "image"
	MediaAudio    MediaKind = "audio"
	MediaVideo    MediaKind = "video"
	MediaDocument MediaKind = "document"
)

// ModalityHazard says what a model may find in the bytes by decoding them. That is independent of
// where the bytes came from (TrustTier).
type ModalityHazard string

// The hazards.
const (
	// HazardInert is for bytes that no model decodes.
	HazardInert ModalityHazard = "inert"
	// HazardExtractableInstructions is for media that contain text, visible or hidden.
	HazardExtractableInstructions ModalityHazard = "extractable-instructions"
	// HazardOpaquePerceptual is for images, sound and video: what a model perceives in them exists
	// nowhere as text beforehand.
	HazardOpaquePerceptual ModalityHazard = "opaque-perceptual"
)

// MediaStashEntry is something that was found out about a media, such as a caption, with a trust
// tier of its own.
type MediaStashEntry struct {
	// Value is the finding: plain data.
	Value any
	// TrustTier says where the finding came from; required. Text extracted from hostile bytes
	// deserves no more trust than the bytes.
	TrustTier TrustTier
	// DerivedFrom is the id of the media it was derived from; optional.
	DerivedFrom string
}

// MediaInit is what a media is made from.
type MediaInit struct {
	// ID is the caller's id of the media; required.
	ID string
	// Kind says how a model perceives the media; required.
	Kind MediaKind
	// MIMEType is the type of the bytes, such as image/png; required.
	MIMEType string
	// Filename is the name to show; required.
	Filename string
	// Reader opens the bytes; required.
	Reader MediaReader
	// TrustTier says where the bytes came from; required, without default.
	TrustTier TrustTier
	// ModalityHazard says what a model may find in them; required, without default.
	ModalityHazard ModalityHazard
	// Source is where the media was found, such as a URL; optional.
	Source string
	// Size is the length of the bytes, for a reader that does not know it; optional. The length
	// that a SizedMediaReader reports takes precedence.
	Size *int64
	// Stash is what is known of the media, by non-empty keys.
	Stash map[string]MediaStashEntry
}

// Media is a handle to an image, a sound, a video or a document (PRM-8). The bytes are read only
// when asked for. A media is immutable, including its stash: to add a finding, make another media
// with Init and NewMedia, which shares the reader.
type Media struct {
	init MediaInit // with its own copy of the stash
	digestOnce
}

// NewMedia makes a media. E_INVALID_INITIAL_MEDIA_VALUE names every field that is wrong; if one of
// them is the reader, its cause is E_NOT_A_MEDIA_READER.
func NewMedia(init MediaInit) (*Media, error) {
	var c fieldCheck
	c.Required("id", init.ID, "the id that the caller gives the media")
	fields.OneOf(&c.Check, "kind", init.Kind, MediaImage, MediaAudio, MediaVideo, MediaDocument)
	c.MIMEType("mimeType", init.MIMEType)
	c.Required("filename", init.Filename, "the name to show")
	readerless := fields.IsNil(reflect.ValueOf(init.Reader))
	c.Want(!readerless, "reader", "is missing, want one that can be opened")
	c.trustTier("trustTier", init.TrustTier)
	fields.OneOf(&c.Check, "modalityHazard", init.ModalityHazard, HazardInert, HazardExtractableInstructions, HazardOpaquePerceptual)
	c.Optional("source", init.Source)
	if init.Size != nil && *init.Size < 0 {
		c.Fault("size", "is %d, want the length of the bytes, or nil where nobody knows it", *init.Size)
	}
	c.mediaStash("stash", init.Stash)
	if err, bad := c.err(E_INVALID_INITIAL_MEDIA_VALUE).(*Error); bad {
		if readerless {
			err.Cause = E_NOT_A_MEDIA_READER
		}
		return nil, err
	}
	init.Size, init.Stash = toldSize(init), copyMediaStash(init.Stash)
	return &Media{init: init}, nil
}

// toldSize returns the size that the reader of a media knows, or else the size given in init.
func toldSize(init MediaInit) *int64 {
	if sized, ok := init.Reader.(SizedMediaReader); ok {
		if n, known := sized.Size(); known && n >= 0 {
			return &n
		}
	}
	return copyOf(init.Size)
}

func (c *fieldCheck) mediaStash(field string, stash map[string]MediaStashEntry) {
	for _, key := range slices.Sorted(maps.Keys(stash)) {
		at, entry := fmt.Sprintf("%s[%.64q]", field, key), stash[key]
		c.Required(at, key, "a key that is not empty")
		c.Plain(at+".value", entry.Value)
		c.trustTier(at+".trustTier", entry.TrustTier)
		c.Optional(at+".derivedFrom", entry.DerivedFrom)
	}
}

func copyMediaStash(stash map[string]MediaStashEntry) map[string]MediaStashEntry {
	copied := make(map[string]MediaStashEntry, len(stash))
	for key, entry := range stash {
		entry.Value = plain.Copy(entry.Value)
		copied[key] = entry
	}
	return copied
}

// NewUserAttachment makes a media from a user's attachment: third-party-private. Like the other
// three factories it sets both labels, which must be empty in init. It sets the hazard to
// extractable-instructions for a document and to opaque-perceptual for everything else. Use
// NewMedia for any other pair.
func NewUserAttachment(init MediaInit) (*Media, error) {
	return newLabelledMedia(init, TrustThirdPartyPrivate)
}

// NewToolGenerated makes a media that one of the application's own tools made: first-party.
func NewToolGenerated(init MediaInit) (*Media, error) {
	return newLabelledMedia(init, TrustFirstParty)
}

// NewRetrievedPublic makes a media found in a public place: third-party-public.
func NewRetrievedPublic(init MediaInit) (*Media, error) {
	return newLabelledMedia(init, TrustThirdPartyPublic)
}

// NewRetrievedPrivate makes a media from a source under contract:
// third-party-private.
func NewRetrievedPrivate(init MediaInit) (*Media, error) {
	return newLabelledMedia(init, TrustThirdPartyPrivate)
}

func newLabelledMedia(init MediaInit, tier TrustTier) (*Media, error) {
	var c fieldCheck
	if init.TrustTier != "" {
		c.Fault("trustTier", "is given, want it empty: this constructor sets it to %s", tier)
	}
	c.Want(init.ModalityHazard == "", "modalityHazard", "is given, want it empty: this constructor sets it by the kind")
	if err := c.err(E_INVALID_INITIAL_MEDIA_VALUE); err != nil {
		return nil, err
	}
	init.TrustTier, init.ModalityHazard = tier, HazardOpaquePerceptual
	if init.Kind == MediaDocument {
		init.ModalityHazard = HazardExtractableInstructions
	}
	return NewMedia(init)
}

// ID is the caller's id of the media.
func (m *Media) ID() string { return m.init.ID }

// Kind says how a model perceives the media.
func (m *Media) Kind() MediaKind { return m.init.Kind }

// MIMEType is the type of the bytes.
func (m *Media) MIMEType() string { return m.init.MIMEType }

// Filename is the name to show.
func (m *Media) Filename() string { return m.init.Filename }

// TrustTier says where the bytes came from.
func (m *Media) TrustTier() TrustTier { return m.init.TrustTier }

// ModalityHazard says what a model may find in the bytes.
func (m *Media) ModalityHazard() ModalityHazard { return m.init.ModalityHazard }

// Source is where the media was found, or "" if that was not given.
func (m *Media) Source() string { return m.init.Source }

// Stash is a copy of what is known of the media; never nil.
func (m *Media) Stash() map[string]MediaStashEntry { return copyMediaStash(m.init.Stash) }

// Stashed returns a copy of what is known of the media under key, and whether there is anything.
func (m *Media) Stashed(key string) (entry MediaStashEntry, found bool) {
	entry, found = m.init.Stash[key]
	entry.Value = plain.Copy(entry.Value)
	return entry, found
}

// Init returns what a media like this one is made from, with the same reader. Change what should
// differ and pass it to NewMedia.
func (m *Media) Init() MediaInit {
	init := m.init
	init.Size, init.Stash = nil, m.Stash()
	if n, known := m.Size(); known {
		init.Size = &n
	}
	return init
}

// WithReader returns the same media with another reader, for fakes and replays. The metadata, and
// so the digest, stay the same. Opening a media whose reader is nil returns E_NOT_A_MEDIA_READER.
func (m *Media) WithReader(reader MediaReader) *Media {
	init := m.init
	init.Reader = reader
	if fields.IsNil(reflect.ValueOf(reader)) {
		init.Reader = unreadMedia(init.ID)
	}
	return &Media{init: init}
}

// Open starts reading the bytes; every call starts at the first byte. The caller has to close the
// result. What is read this way is not in a trace: in a turn, use Handle.OpenMedia to read bytes
// that a replay should give back. A media read from JSON has no bytes (E_NOT_A_MEDIA_READER).
func (m *Media) Open(ctx context.Context) (io.ReadCloser, error) {
	if ctx == nil {
		return nil, errNilContext(KindOpenMedia)
	}
	if !made(m) {
		return nil, &Error{Code: E_NOT_A_MEDIA_READER, Message: "the media is nil or zero, want one that NewMedia made"}
	}
	stream, err := m.init.Reader.Open(ctx)
	if err == nil && stream == nil {
		err = &Error{Code: E_NOT_A_MEDIA_READER, Message: "the reader of the media opened nothing, want a stream or an error"}
	}
	if err != nil {
		return nil, err
	}
	return reread.Opened(ctx, stream)
}

// Size returns the length of the bytes as it was known when the media was made: from a reader that
// knows it without reading (SizedMediaReader), or from MediaInit. It is part of the media's
// metadata, and in the trace with it.
func (m *Media) Size() (n int64, known bool) {
	if !made(m) || m.init.Size == nil {
		return 0, false
	}
	return *m.init.Size, true
}

// Bytes reads all the bytes, anew at each call.
func (m *Media) Bytes(ctx context.Context) ([]byte, error) {
	stream, err := m.Open(ctx)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(stream)
	if err := errors.Join(err, stream.Close()); err != nil {
		return nil, err
	}
	return data, nil
}

// Base64 reads all the bytes, anew at each call, and returns them in standard base64 with padding.
func (m *Media) Base64(ctx context.Context) (string, error) {
	data, err := m.Bytes(ctx)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(data), nil
}

// RecordKind is RecordMedia.
func (m *Media) RecordKind() RecordKind { return RecordMedia }

// PlainTag is the tag that marks a media inside plain data.
func (m *Media) PlainTag() string { return string(RecordMedia) }

// Key is the id.
func (m *Media) Key() string { return m.init.ID }

// Digest is the digest of the media's JSON, and so not of its bytes. It is computed once.
func (m *Media) Digest() Digest { return m.of(m) }

// MarshalJSON returns the media's metadata. It does not touch the reader, and the bytes are not in
// it.
func (m *Media) MarshalJSON() ([]byte, error) { return recordJSONOf(m) }

// AppendJSON appends what MarshalJSON returns.
func (m *Media) AppendJSON(dst []byte) []byte {
	j := openRecord(dst)
	j.Text("id", m.init.ID)
	j.Text("kind", string(m.init.Kind))
	j.Text("mimeType", m.init.MIMEType)
	j.Text("filename", m.init.Filename)
	j.Text("trustTier", string(m.init.TrustTier))
	j.Text("modalityHazard", string(m.init.ModalityHazard))
	j.SomeText("source", m.init.Source)
	if n, known := m.Size(); known {
		j.Field("size")
		j.Out = strconv.AppendInt(j.Out, n, 10)
	}
	if len(m.init.Stash) > 0 {
		j.Field("stash")
		j.Out = m.appendStash(j.Out)
	}
	return j.Close()
}

func (m *Media) appendStash(dst []byte) []byte {
	j := openRecord(dst)
	for _, key := range slices.Sorted(maps.Keys(m.init.Stash)) {
		entry := m.init.Stash[key]
		j.Field(key)
		one := openRecord(j.Out)
		one.Field("value")
		one.Out = plain.AppendJSON(one.Out, entry.Value)
		one.Text("trustTier", string(entry.TrustTier))
		one.SomeText("derivedFrom", entry.DerivedFrom)
		j.Out = one.Close()
	}
	return j.Close()
}
