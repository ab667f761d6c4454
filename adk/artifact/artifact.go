package artifact

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/internal/forging"
)

// Opener reads a media in such a way that a trace has what was read: a turn or a dispatch context.
type Opener interface {
	OpenMedia(ctx context.Context, media *adk.Media) ([]byte, error)
}

// Config says how artifacts are opened and which tools are forged for them. The zero Config has the
// three bundled flavours and no spool.
type Config struct {
	// Flavours are the known flavours, in the order in which tools are forged; nil means
	// TextFlavour, JSONFlavour and MarkdownFlavour.
	Flavours []Flavour
	// Prefix begins the names of forged tools; empty means "artifact" (FRG-10).
	Prefix string
	// MaxResult is the greatest number of bytes of an answer that a model gets; 0 means no bound
	// (FRG-11).
	MaxResult int
	// RecordLimit is the greatest length in bytes of a body that is read through the context, so
	// that a trace has it; 0 means 1 MiB (ART-21).
	RecordLimit int64
	// Spool has the bodies of artifacts that were read from JSON and therefore have no reader of
	// their own; nil means no spool (ART-23).
	Spool Spool
	// HandlesOnly forges tools only for calls that are not inline, as Handles makes them; the model
	// has the other bodies in its prompt. Without it, a long session offers the id of every call in
	// every tool, and the list differs in each iteration, so that no provider can cache the prompt
	// (FRG-2, FRG-3).
	HandlesOnly bool
}

// defaultRecordLimit is the RecordLimit if a config has none.
const defaultRecordLimit = 1 << 20

func (c Config) recordLimit() int64 { return cmp.Or(c.RecordLimit, defaultRecordLimit) }

// Artifact is an artifact that can be asked questions. It is safe for concurrent use; each question
// reads the body at most once (ART-21). An answer has at most 8 MiB as JSON; a longer one is
// E_ARTIFACT_FORMAT, which says what to ask instead (ART-6). Text and Bytes return the body,
// whatever its length.
type Artifact struct {
	media  *adk.Media
	mark   Mark
	opener Opener
	limit  int64
	// crossed says that a crossing is already under way; a question that asks others is one
	// crossing.
	crossed bool

	mu       sync.Mutex
	document *document // for JSON questions, read once
	outline  *outline  // for Markdown questions, made once
}

// Open makes an artifact from a media with a mark; a media without one is E_NOT_A_SPOOL_READER
// (ART-12). It reads nothing.
func Open(opener Opener, media *adk.Media, config Config) (*Artifact, error) {
	mark, marked := Of(media)
	if !marked {
		return nil, &adk.Error{Code: adk.E_NOT_A_SPOOL_READER, Message: "the media is no artifact: it bears no mark"}
	}
	return &Artifact{media: Checked(media, config.Spool), mark: mark, opener: opener, limit: config.recordLimit()}, nil
}

// Checked returns the media of an artifact with a checking reader. If the body is not what the mark
// says, reading it fails with E_ARTIFACT_CHANGED at the end (ART-23). A media without a reader is
// read from the spool, if there is one. A media without a mark is returned unchanged.
func Checked(media *adk.Media, spool Spool) *adk.Media {
	mark, marked := Of(media)
	if !marked {
		return media
	}
	return media.WithReader(&bodyReader{media: media, mark: mark, spool: spool})
}

// ByteLength returns the length of the body, from its mark.
func (a *Artifact) ByteLength() int64 { return a.mark.Bytes }

// LineCount returns how many lines the body has, from its mark (ART-13).
func (a *Artifact) LineCount() int { return a.mark.Lines }

// fitsInTrace reports whether the body is read through the context, so that a trace has it.
func (a *Artifact) fitsInTrace() bool { return a.mark.Bytes <= a.limit }

// Bytes returns the body, unchanged.
func (a *Artifact) Bytes(ctx context.Context) ([]byte, error) {
	if a.fitsInTrace() {
		return a.opener.OpenMedia(ctx, a.media)
	}
	return all(ctx, storedBody{a.media, a.mark})
}

// Text returns the whole body as text, with each invalid sequence of UTF-8 as one U+FFFD.
func (a *Artifact) Text(ctx context.Context) (string, error) {
	data, err := a.Bytes(ctx)
	if a.fitsInTrace() { // the opener may share the bytes
		return validText(data), err
	}
	return ownText(data), err
}

// ask asks a question. If a trace may hold the body, the question runs on its bytes in memory; a
// larger body is read where it is stored (ART-21, ART-22). run returns plain data, an encoding, or
// none.
func (a *Artifact) ask(ctx context.Context, method string, args map[string]any, run func(ctx context.Context, b body) (any, error)) (any, error) {
	var b body
	switch {
	case a.fitsInTrace():
		data, err := a.opener.OpenMedia(ctx, a.media)
		if err != nil {
			return nil, err
		}
		b = memoryBody(data)
	case a.crossed:
		b = storedBody{a.media, a.mark}
	default:
		return a.askLarge(ctx, method, args, run)
	}
	answer, err := run(ctx, b)
	return answer, a.named(err)
}

// answer returns the answer of a method, which may be a user's own. For a large body the question
// crosses before the method reads anything; what the method asks itself does not cross again
// (WLD-3).
func (a *Artifact) answer(ctx context.Context, method Method, args map[string]any) (any, error) {
	if a.fitsInTrace() {
		return method.Run(ctx, a, args)
	}
	return a.askLarge(ctx, method.Tool, args, func(ctx context.Context, _ body) (any, error) {
		within := &Artifact{media: a.media, mark: a.mark, opener: a.opener, limit: a.limit, crossed: true}
		return method.Run(ctx, within, args)
	})
}

// request is a question to a large body, as it crosses.
type request struct {
	ID     string          `json:"id"`
	Key    string          `json:"key,omitempty"`
	SHA256 string          `json:"sha256,omitempty"`
	Method string          `json:"method"`
	Args   json.RawMessage `json:"args,omitempty"`
}

// reply is the answer to a request; without a value if there is none.
type reply struct {
	Value json.RawMessage `json:"value,omitempty"`
}

func (a *Artifact) askLarge(ctx context.Context, method string, args map[string]any, run func(ctx context.Context, b body) (any, error)) (any, error) {
	question := request{ID: a.media.ID(), Key: a.mark.Key, SHA256: a.mark.SHA256, Method: method}
	if len(args) > 0 {
		question.Args, _ = json.Marshal(args) // texts and whole numbers, which always have JSON
	}
	answer, err := crossing(ctx, question, func(ctx context.Context, _ request) (reply, error) {
		value, err := run(ctx, storedBody{a.media, a.mark})
		if _, isNone := value.(none); err != nil || isNone {
			return reply{}, a.named(err)
		}
		text, err := encode(value)
		return reply{Value: json.RawMessage(text)}, a.named(err)
	})
	whose := fmt.Sprintf("artifact %.80q: the answer to %s", a.media.ID(), method)
	if err != nil || answer.Value == nil {
		return none{whose}, err
	}
	if err := jsontree.Check(ownText(answer.Value), maxAnswerDepth); err != nil { // an answer from a trace may be anything
		return nil, misfit(none{whose}, err)
	}
	text, err := canonical(ownText(answer.Value))
	return recordedAnswer{text, whose}, a.named(err)
}

// maxAnswerDepth is the greatest nesting of an answer: a document within a list of matches.
const maxAnswerDepth = maxDocumentDepth + 10

// crossing asks a question to a large body. The trace has the question and its answer, and a replay
// answers from the trace without the body.
func crossing(ctx context.Context, question request, do func(context.Context, request) (reply, error)) (reply, error) {
	return adk.Ask(ctx, forging.Spool, question, do, adk.AskOptions{Effect: adk.EffectReads})
}

// body is the source of the bytes for a question.
type body interface {
	// stream begins at the first byte.
	stream(ctx context.Context) (io.ReadCloser, error)
	// section reads a part; ok is false if the body cannot be read in parts.
	section(ctx context.Context, from, length int64) (stream io.ReadCloser, ok bool, err error)
	// size is the length.
	size() int64
}

// memoryBody is a body in memory.
type memoryBody []byte

func (b memoryBody) size() int64 { return int64(len(b)) }

func (b memoryBody) stream(context.Context) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(b)), nil
}

func (b memoryBody) section(_ context.Context, from, length int64) (io.ReadCloser, bool, error) {
	return io.NopCloser(io.NewSectionReader(bytes.NewReader(b), from, length)), true, nil
}

// storedBody is a body that is read where it is stored.
type storedBody struct {
	media *adk.Media
	mark  Mark
}

func (b storedBody) size() int64 { return b.mark.Bytes }

func (b storedBody) stream(ctx context.Context) (io.ReadCloser, error) { return b.media.Open(ctx) }

func (b storedBody) section(ctx context.Context, from, length int64) (io.ReadCloser, bool, error) {
	return mediaReaderOf(b.media).section(ctx, from, length)
}

// mediaReaderOf returns the reader that Open gave the media.
func mediaReaderOf(media *adk.Media) *bodyReader { return media.Init().Reader.(*bodyReader) }

// all reads a whole body.
func all(ctx context.Context, b body) ([]byte, error) {
	if data, inMemory := b.(memoryBody); inMemory {
		return data, nil
	}
	stream, err := b.stream(ctx)
	if err != nil {
		return nil, err
	}
	data, err := readAll(stream, b.size())
	return data, errors.Join(err, stream.Close())
}

// firstGuess bounds the buffer that is allocated because of the length in a mark, before so much
// was read; after that the bound is nextGuess times what was read.
const (
	firstGuess = 16 << 20
	nextGuess  = 32
)

// readAll reads a stream to its end. size is the expected length, which may be wrong.
func readAll(stream io.Reader, size int64) ([]byte, error) {
	data := make([]byte, 0, min(size, firstGuess)+bytes.MinRead)
	for {
		n, err := stream.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, err
		case len(data) == cap(data):
			room := 2 * int64(len(data))
			if size > int64(len(data)) {
				room = min(size, nextGuess*int64(len(data))) // allocate once, so that the copied part is small
			}
			data = append(make([]byte, 0, room+bytes.MinRead), data...)
		}
	}
}

// bodyReader reads the body of an artifact, with the media's own reader or, if it has none, from
// the spool. The body has to be what the mark says (ART-23).
type bodyReader struct {
	media *adk.Media
	mark  Mark
	spool Spool
}

// Open reads from the first byte. Reading fails at the end if the body differs from the mark.
func (r *bodyReader) Open(ctx context.Context) (io.ReadCloser, error) {
	stream, err := r.media.Open(ctx)
	if errors.Is(err, adk.E_NOT_A_MEDIA_READER) {
		var spooled adk.MediaReader
		if spooled, err = r.spooled(ctx); err == nil {
			stream, err = open(ctx, spooled)
		}
	}
	if err != nil {
		return nil, err
	}
	return &checked{stream, newMeter(), r.mark, r.media.ID()}, nil
}

// Size returns the length of the body, from its mark.
func (r *bodyReader) Size() (n int64, known bool) { return r.mark.Bytes, true }

// spooled returns the spool's reader for the mark's key.
func (r *bodyReader) spooled(ctx context.Context) (adk.MediaReader, error) {
	missing := &adk.Error{Code: adk.E_NOT_A_SPOOL_READER, Message: fmt.Sprintf("the body of artifact %.80q is not here, and no spool has the key %.80q", r.media.ID(), r.mark.Key)}
	if r.spool == nil || r.mark.Key == "" {
		return nil, missing
	}
	reader, found, err := r.spool.Read(ctx, r.mark.Key)
	if err == nil && !found {
		return nil, missing
	}
	return reader, err
}

func (r *bodyReader) section(ctx context.Context, from, length int64) (io.ReadCloser, bool, error) {
	reader := r.media.Init().Reader
	if inner, nested := reader.(*bodyReader); nested {
		return inner.section(ctx, from, length)
	}
	if _, own := reader.(RangeReader); !own && r.spool != nil && r.mark.Key != "" {
		spooled, err := r.spooled(ctx)
		if err != nil {
			return nil, false, nil // reading the stream reports the error
		}
		reader = spooled
	}
	ranges, has := reader.(RangeReader)
	if !has {
		return nil, false, nil
	}
	if sized, ok := reader.(adk.SizedMediaReader); ok {
		if n, known := sized.Size(); known && n != r.mark.Bytes {
			if r.mark.SHA256 == "" { // without a hash the length is not compared, so it may be wrong
				return nil, false, nil
			}
			return nil, true, changed(r.media.ID())
		}
	}
	stream, err := ranges.OpenRange(ctx, from, length)
	return stream, true, err
}

// checked is a stream whose content is compared with the mark at its end.
type checked struct {
	io.ReadCloser
	meter *meter
	mark  Mark
	id    string
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.mark.SHA256 == "" {
		return n, err
	}
	_, _ = c.meter.Write(p[:n]) // never fails
	if c.meter.bytes > c.mark.Bytes {
		return n, changed(c.id)
	}
	if err == io.EOF {
		if found := c.meter.entry(""); found.Bytes != c.mark.Bytes || found.SHA256 != c.mark.SHA256 {
			return n, changed(c.id)
		}
	}
	return n, err
}

func changed(id string) error {
	return &adk.Error{Code: adk.E_ARTIFACT_CHANGED, Message: fmt.Sprintf("the body of artifact %.80q is another than the one that it was made of", id)}
}
