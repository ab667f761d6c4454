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

// Opener reads a media so that a trace holds what was read: a turn or a dispatch
// context.
type Opener interface {
	OpenMedia(ctx context.Context, media *adk.Media) ([]byte, error)
}

// Config says how artifacts are opened and what tools are forged of them. The zero
// Config has the three bundled flavours and no spool.
type Config struct {
	// Flavours are the flavours that are known, in the order in which tools are forged;
	// nil means TextFlavour, JSONFlavour and MarkdownFlavour.
	Flavours []Flavour
	// Prefix begins the names of forged tools; empty means artifact (FRG-10).
	Prefix string
	// MaxResult is how many bytes of an answer a model gets at most; 0 is no bound
	// (FRG-11).
	MaxResult int
	// RecordLimit is up to how many bytes a body is read through the context, so that a
	// trace holds it; 0 means 1 MiB (ART-21).
	RecordLimit int64
	// Spool is where the bodies of artifacts are that were read from JSON and have no
	// reader of their own; nil for nowhere (ART-23).
	Spool Spool
	// HandlesOnly has tools forged for the calls alone that are not inline, as Handles makes
	// them: a model has the bodies of the others before it. Without it a long session offers
	// the id of every call in every tool, and another list of them in each iteration, which
	// no provider's cache of prompts knows (FRG-2, FRG-3).
	HandlesOnly bool
}

// defaultRecordLimit is the RecordLimit of a config that says none.
const defaultRecordLimit = 1 << 20

func (c Config) recordLimit() int64 { return cmp.Or(c.RecordLimit, defaultRecordLimit) }

// Artifact is an artifact that can be asked. It is safe for concurrent use; each
// question reads the body at most once (ART-21). An answer has at most 8 MiB as JSON: one
// that would be longer is E_ARTIFACT_FORMAT, which says what to ask instead (ART-6). Text and
// Bytes give the body whatever its length.
type Artifact struct {
	media  *adk.Media
	mark   Mark
	opener Opener
	limit  int64
	// crossed says that the question, which may ask others, has crossed already.
	crossed bool

	mu       sync.Mutex
	document *document // what the JSON questions found out, once
	outline  *outline  // and the Markdown ones
}

// Open makes an artifact of a media that bears a mark; one without is
// E_NOT_A_SPOOL_READER (ART-12). It reads nothing.
func Open(opener Opener, media *adk.Media, config Config) (*Artifact, error) {
	mark, marked := Of(media)
	if !marked {
		return nil, &adk.Error{Code: adk.E_NOT_A_SPOOL_READER, Message: "the media is no artifact: it bears no mark"}
	}
	return &Artifact{media: Checked(media, config.Spool), mark: mark, opener: opener, limit: config.recordLimit()}, nil
}

// Checked is an artifact that fails with E_ARTIFACT_CHANGED at the end of a body that is not
// what its mark says, for who reads it as a media (ART-23); one without a reader is read
// from the spool, if there is any. A media without a mark is given back.
func Checked(media *adk.Media, spool Spool) *adk.Media {
	mark, marked := Of(media)
	if !marked {
		return media
	}
	return media.WithReader(&bodyReader{media: media, mark: mark, spool: spool})
}

// ByteLength is the length of the body, from its mark.
func (a *Artifact) ByteLength() int64 { return a.mark.Bytes }

// LineCount is how many lines the body has, from its mark (ART-13).
func (a *Artifact) LineCount() int { return a.mark.Lines }

// fitsInTrace reports whether the body is read through the context, so that a trace holds it.
func (a *Artifact) fitsInTrace() bool { return a.mark.Bytes <= a.limit }

// Bytes are those of the body, untouched.
func (a *Artifact) Bytes(ctx context.Context) ([]byte, error) {
	if a.fitsInTrace() {
		return a.opener.OpenMedia(ctx, a.media)
	}
	return all(ctx, storedBody{a.media, a.mark})
}

// Text is the whole body as text, each invalid sequence of UTF-8 as one U+FFFD.
func (a *Artifact) Text(ctx context.Context) (string, error) {
	data, err := a.Bytes(ctx)
	if a.fitsInTrace() { // who opened it may have the bytes too
		return validText(data), err
	}
	return ownText(data), err
}

// ask asks a question: of a body that a trace may hold with the bytes in memory, of a
// larger one where it lies (ART-21, ART-22). What run gives is plain data, an encoding, or
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

// answer is what a method answers, one of a user's own too: of a large body the question
// crosses before the method reads anything, and what it asks below does not (WLD-3).
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

// reply is the answer to one; without a value where there is none.
type reply struct {
	Value json.RawMessage `json:"value,omitempty"`
}

func (a *Artifact) askLarge(ctx context.Context, method string, args map[string]any, run func(ctx context.Context, b body) (any, error)) (any, error) {
	question := request{ID: a.media.ID(), Key: a.mark.Key, SHA256: a.mark.SHA256, Method: method}
	if len(args) > 0 {
		question.Args, _ = json.Marshal(args) // texts and whole numbers
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
	if err := jsontree.Check(ownText(answer.Value), maxAnswerDepth); err != nil { // a trace's may be anything
		return nil, misfit(none{whose}, err)
	}
	text, err := canonical(ownText(answer.Value))
	return recordedAnswer{text, whose}, a.named(err)
}

// maxAnswerDepth is how deep an answer is nested at most: a document in a list of
// matches.
const maxAnswerDepth = maxDocumentDepth + 10

// crossing asks a large body: the question and its answer stand in a trace, and a replay
// answers from there without the body.
func crossing(ctx context.Context, question request, do func(context.Context, request) (reply, error)) (reply, error) {
	return adk.Ask(ctx, forging.Spool, question, do, adk.AskOptions{Effect: adk.EffectReads})
}

// body is where the bytes of a question come from.
type body interface {
	// stream begins at the first byte.
	stream(ctx context.Context) (io.ReadCloser, error)
	// section reads a piece; ok is false where the body has no ranges.
	section(ctx context.Context, from, length int64) (stream io.ReadCloser, ok bool, err error)
	// size is the length.
	size() int64
}

// memoryBody is one that was read.
type memoryBody []byte

func (b memoryBody) size() int64 { return int64(len(b)) }

func (b memoryBody) stream(context.Context) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(b)), nil
}

func (b memoryBody) section(_ context.Context, from, length int64) (io.ReadCloser, bool, error) {
	return io.NopCloser(io.NewSectionReader(bytes.NewReader(b), from, length)), true, nil
}

// storedBody is one that is read where it lies.
type storedBody struct {
	media *adk.Media
	mark  Mark
}

func (b storedBody) size() int64 { return b.mark.Bytes }

func (b storedBody) stream(ctx context.Context) (io.ReadCloser, error) { return b.media.Open(ctx) }

func (b storedBody) section(ctx context.Context, from, length int64) (io.ReadCloser, bool, error) {
	return mediaReaderOf(b.media).section(ctx, from, length)
}

// mediaReaderOf is the reader that Open gave the media.
func mediaReaderOf(media *adk.Media) *bodyReader { return media.Init().Reader.(*bodyReader) }

// all reads a body whole.
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

// firstGuess is how much room a mark's word for a body's length gets before that much was
// read, and then so many times what was.
const (
	firstGuess = 16 << 20
	nextGuess  = 32
)

// readAll reads a stream to its end, which has so many bytes if it keeps its word.
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
				room = min(size, nextGuess*int64(len(data))) // at once, so that the former is a small part
			}
			data = append(make([]byte, 0, room+bytes.MinRead), data...)
		}
	}
}

// bodyReader reads the body of an artifact: with the media's own reader, or from the
// spool where it has none. What it finds has to be what the mark says (ART-23).
type bodyReader struct {
	media *adk.Media
	mark  Mark
	spool Spool
}

// Open reads from the first byte, and fails at the end where the body was another.
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

// Size is the length of the body, from its mark.
func (r *bodyReader) Size() (n int64, known bool) { return r.mark.Bytes, true }

// spooled is the reader that the spool has for the mark's key.
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
			return nil, false, nil // the stream says why, if it is asked for
		}
		reader = spooled
	}
	ranges, has := reader.(RangeReader)
	if !has {
		return nil, false, nil
	}
	if sized, ok := reader.(adk.SizedMediaReader); ok {
		if n, known := sized.Size(); known && n != r.mark.Bytes {
			if r.mark.SHA256 == "" { // which is not compared, and so cannot say where a body ends
				return nil, false, nil
			}
			return nil, true, changed(r.media.ID())
		}
	}
	stream, err := ranges.OpenRange(ctx, from, length)
	return stream, true, err
}

// checked is a stream whose end is compared with the mark.
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
	_, _ = c.meter.Write(p[:n]) // a hash takes all
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
