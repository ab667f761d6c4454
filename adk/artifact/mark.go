package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/forging"
	"github.com/adkreplay/adkreplay/internal/reread"
)

// StashKey is the entry of a media's stash that makes it an artifact (ART-1).
const StashKey = forging.StashKey

// Mark describes the body of a media (ART-1).
type Mark struct {
	// Flavour is the name of the body's flavour: text, json, markdown, or a user's.
	Flavour string
	// Key is the body's key in a spool; empty until it is in one.
	Key string
	// Bytes is the length of the body.
	Bytes int64
	// Lines is the number of lines (ART-13).
	Lines int
	// SHA256 is the hash of the body in lowercase hexadecimal. It is empty if it must not be known,
	// as after redaction; then it is not compared (ART-23).
	SHA256 string
	// Format is a hint for the JSON flavour: json, json5, jsonl or ndjson; empty means none
	// (ART-15).
	Format string
}

var (
	hexHash = regexp.MustCompile(`^(?:[0-9a-f]{64})?$`)
	formats = []string{"", FormatJSON, FormatJSON5, FormatJSONL, FormatNDJSON}
)

// Of returns the mark of a media, and whether it has one. A malformed mark does not count.
func Of(media *adk.Media) (mark Mark, marked bool) {
	mark, marked = anyMark(media)
	if !marked || media.Kind() != adk.MediaDocument || mark.Flavour == FlavourMedia {
		return Mark{}, false
	}
	return mark, true
}

// anyMark returns the mark of a media, including that of a media which is kept but is no artifact.
func anyMark(media *adk.Media) (mark Mark, marked bool) {
	if media == nil {
		return Mark{}, false
	}
	entry, found := media.Stashed(StashKey)
	object, isObject := entry.Value.(map[string]any)
	if !found || !isObject || entry.TrustTier != media.TrustTier() {
		return Mark{}, false
	}
	text := func(key string) string { s, ok := object[key].(string); marked = marked && ok; return s }
	whole := func(key string) int { n, ok := object[key].(int); marked = marked && ok && n >= 0; return n }
	marked = true
	mark = Mark{Flavour: text("flavour"), Key: text("key"), Bytes: int64(whole("bytes")), Lines: whole("lines")}
	known := 4
	if _, has := object[forging.Hash]; has {
		mark.SHA256, known = text(forging.Hash), known+1
	}
	if _, has := object["format"]; has {
		mark.Format, known = text("format"), known+1
	}
	if !marked || len(object) != known || mark.Flavour == "" || !hexHash.MatchString(mark.SHA256) || !slices.Contains(formats, mark.Format) {
		return Mark{}, false
	}
	return mark, true
}

// value returns the mark in the form of the stash.
func (m Mark) value() map[string]any {
	object := map[string]any{"flavour": m.Flavour, "key": m.Key, "bytes": int(m.Bytes), "lines": m.Lines}
	if m.SHA256 != "" {
		object[forging.Hash] = m.SHA256
	}
	if m.Format != "" {
		object["format"] = m.Format
	}
	return object
}

// put adds the mark to a media's init, with the media's own tier.
func (m Mark) put(init *adk.MediaInit) {
	if init.Stash == nil {
		init.Stash = map[string]adk.MediaStashEntry{}
	}
	init.Stash[StashKey] = adk.MediaStashEntry{Value: m.value(), TrustTier: init.TrustTier}
}

// Init has what an artifact is made from (ART-2).
type Init struct {
	// ID is the id of the tool call to which the artifact belongs. Required.
	ID string
	// Flavour is the body's flavour; its name, MIME type and extension are used. Required.
	Flavour Flavour
	// Filename is the displayed name. Required.
	Filename string
	// Reader reads the body. Required.
	Reader adk.MediaReader
	// TrustTier says where the body comes from. Required.
	TrustTier adk.TrustTier
	// Source says where it was found, such as a URL; optional.
	Source string
	// Known is what a spool returned when the body was written to it. If it is nil, New reads the
	// body once to measure it.
	Known *Entry
	// Format is a hint for the JSON flavour, as in Mark; optional.
	Format string
}

// New makes an artifact: a document with a mark (ART-1, ART-2). Faults are one
// E_INVALID_INITIAL_ARTIFACT_VALUE that lists every field; if the reader is one of them, its cause
// is E_NOT_A_SPOOL_READER. If the reader fails while the body is measured, its error is returned.
func New(init Init) (*adk.Media, error) { return newArtifact(context.Background(), init) }

func newArtifact(ctx context.Context, init Init) (*adk.Media, error) {
	if err := init.check(); err != nil {
		return nil, err
	}
	mark := Mark{Flavour: init.Flavour.Name, Format: init.Format}
	if init.Known == nil {
		known, err := measure(ctx, init.Reader)
		if err != nil {
			return nil, fmt.Errorf("reading the body of artifact %.80q: %w", init.ID, err)
		}
		init.Known = &known
	}
	mark.Key, mark.Bytes, mark.Lines, mark.SHA256 = init.Known.Key, init.Known.Bytes, init.Known.Lines, init.Known.SHA256
	media := adk.MediaInit{
		ID: init.ID, Kind: adk.MediaDocument, MIMEType: init.Flavour.MIMEType, Filename: init.Filename, Reader: init.Reader,
		TrustTier: init.TrustTier, ModalityHazard: adk.HazardExtractableInstructions, Source: init.Source,
	}
	mark.put(&media)
	return adk.NewMedia(media)
}

// check returns every fault of the fields, including those of the media.
func (init Init) check() error {
	err := &adk.Error{Code: adk.E_INVALID_INITIAL_ARTIFACT_VALUE}
	fault := func(field, message string) {
		err.Faults = append(err.Faults, adk.Fault{Path: field, Message: message})
	}
	if init.Flavour.Name == "" || init.Flavour.MIMEType == "" {
		fault("flavour", "has no name or no MIME type, want a flavour such as TextFlavour")
		init.Flavour.MIMEType = "text/plain"
	}
	if !slices.Contains(formats, init.Format) {
		fault("format", "is unknown, want json, json5, jsonl, ndjson or none")
	}
	if k := init.Known; k != nil && (k.Bytes < 0 || k.Lines < 0 || !hexHash.MatchString(k.SHA256)) {
		fault("known", "has a negative size or a hash that is no lowercase SHA-256")
	}
	_, inner := adk.NewMedia(adk.MediaInit{
		ID: init.ID, Kind: adk.MediaDocument, MIMEType: init.Flavour.MIMEType, Filename: init.Filename, Reader: init.Reader,
		TrustTier: init.TrustTier, ModalityHazard: adk.HazardExtractableInstructions, Source: init.Source,
	})
	if media, ok := inner.(*adk.Error); ok {
		err.Faults = append(err.Faults, media.Faults...)
		if media.Cause != nil { // the reader's fault, the only one with a cause
			err.Cause = adk.E_NOT_A_SPOOL_READER
		}
	}
	if len(err.Faults) == 0 {
		return nil
	}
	texts := make([]string, len(err.Faults))
	for i, f := range err.Faults {
		texts[i] = f.Path + ": " + f.Message
	}
	err.Message = strings.Join(texts, "; ")
	return err
}

// measure reads a body to its end and returns its entry.
func measure(ctx context.Context, reader adk.MediaReader) (Entry, error) {
	stream, err := open(ctx, reader)
	if err != nil {
		return Entry{}, err
	}
	defer func() { _ = stream.Close() }() // read to its end, or failed
	meter := newMeter()
	if _, err := io.Copy(meter, stream); err != nil {
		return Entry{}, err
	}
	return meter.entry(""), nil
}

// open opens a reader, and fails if it returns no stream.
func open(ctx context.Context, reader adk.MediaReader) (io.ReadCloser, error) {
	stream, err := reader.Open(ctx)
	if err == nil && stream == nil {
		return nil, &adk.Error{Code: adk.E_NOT_A_SPOOL_READER, Message: "the reader opened nothing, want a stream or an error"}
	}
	if err != nil {
		return nil, err
	}
	return reread.Opened(ctx, stream)
}

// meter measures what is written to it.
type meter struct {
	hash  hashSum
	bytes int64
	lines int
}

// hashSum is the part of a hash that a meter needs.
type hashSum interface {
	io.Writer
	Sum([]byte) []byte
}

func newMeter() *meter { return &meter{hash: sha256.New()} }

func (m *meter) Write(p []byte) (int, error) {
	m.bytes += int64(len(p))
	m.lines += bytes.Count(p, newline)
	return m.hash.Write(p)
}

// entry returns what was measured. A body that is not empty has one line more than it has newlines
// (ART-13).
func (m *meter) entry(key string) Entry {
	lines := m.lines
	if m.bytes > 0 {
		lines++
	}
	return Entry{Key: key, Bytes: m.bytes, Lines: lines, SHA256: hex.EncodeToString(m.hash.Sum(nil))}
}

var newline = []byte{'\n'}

// validText returns a text with each invalid sequence of UTF-8 as one U+FFFD (ART-14). The valid
// beginning of a sequence that breaks off counts as one.
func validText(data []byte) string {
	if utf8.Valid(data) {
		return string(data)
	}
	size := 0
	for c := range validRunes(data) {
		size += utf8.RuneLen(c)
	}
	var out strings.Builder
	out.Grow(size)
	for c := range validRunes(data) {
		out.WriteRune(c)
	}
	return out.String()
}

func validRunes(data []byte) iter.Seq[rune] {
	return func(yield func(rune) bool) {
		for len(data) > 0 {
			c, size := utf8.DecodeRune(data)
			if c == utf8.RuneError && size == 1 {
				size = brokenSequence(data)
			}
			if !yield(c) {
				return
			}
			data = data[size:]
		}
	}
}

// brokenSequence returns the length of the invalid sequence at the beginning of data: its longest
// part that could begin a valid sequence, or one byte.
func brokenSequence(data []byte) int {
	for n := min(3, len(data)); n > 1; n-- {
		if !utf8.FullRune(data[:n]) {
			return n
		}
	}
	return 1
}
