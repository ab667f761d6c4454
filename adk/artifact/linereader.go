package artifact

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"sync/atomic"

	"github.com/adkreplay/adkreplay/adk"
)

// Reader returns the lines of a body one by one, for a program that goes through them. Lines are as
// in ART-13, their text as in ART-14.
type Reader interface {
	// Line returns the line at an index from 0; ok is false if there is none.
	Line(ctx context.Context, i int) (line string, ok bool, err error)
	// ByteLength returns the length of the body.
	ByteLength(ctx context.Context) (int64, error)
	// LineCount returns the number of lines.
	LineCount(ctx context.Context) (int, error)
	// ReadAll returns the body, unchanged.
	ReadAll(ctx context.Context) ([]byte, error)
}

// DefaultThreshold is a threshold for NewLineReader that suits most uses: 10 MiB.
const DefaultThreshold = 10 << 20

// indexStep is the number of lines from one place in the index to the next.
const indexStep = 256

// NewLineReader makes a Reader from a media reader (SPL-6). A body below the threshold is kept in
// memory after its first use. For a longer one, a first pass makes an index of its lines, and a
// line is read from the nearest indexed place before it: by ranges if the reader has them,
// otherwise from the beginning. A threshold of 0 keeps no body in memory, math.MaxInt64 every body;
// a negative one is E_INVALID_ARTIFACT_CONFIG. Nothing is read before the first question, and a
// pass that failed is repeated. The Reader is safe for concurrent use.
func NewLineReader(reader adk.MediaReader, threshold int64) (Reader, error) {
	if threshold < 0 {
		return nil, &adk.Error{Code: adk.E_INVALID_ARTIFACT_CONFIG, Message: "threshold: is negative, want 0 or more"}
	}
	return &lineReader{reader: reader, threshold: threshold, passing: make(chan struct{}, 1)}, nil
}

// lineReader has no index before its first pass.
type lineReader struct {
	reader    adk.MediaReader
	threshold int64

	passing chan struct{} // full while a goroutine makes the pass
	known   atomic.Pointer[lineIndex]
}

// lineIndex is the result of a pass.
type lineIndex struct {
	body    []byte // nil if it is not kept
	kept    bool
	offsets []int64 // of the beginning of every indexStep-th line
	bytes   int64
	lines   int
}

// index makes the pass, once. A goroutine that waits for another's pass stops waiting when its own
// context is done.
func (r *lineReader) index(ctx context.Context) (*lineIndex, error) {
	if known := r.known.Load(); known != nil {
		return known, nil
	}
	select {
	case r.passing <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-r.passing }()
	if known := r.known.Load(); known != nil {
		return known, nil
	}
	stream, err := open(ctx, r.reader)
	if err != nil {
		return nil, err
	}
	pass := &indexing{lineIndex: lineIndex{offsets: []int64{0}, kept: r.threshold > 0}, threshold: r.threshold}
	_, err = io.CopyBuffer(pass, struct{ io.Reader }{stream}, make([]byte, chunk))
	if err := errors.Join(err, stream.Close()); err != nil {
		return nil, err
	}
	if pass.bytes > 0 {
		pass.lines++
	}
	r.known.Store(&pass.lineIndex)
	return &pass.lineIndex, nil
}

// indexing is a pass; the body is written to it.
type indexing struct {
	lineIndex
	threshold int64
}

func (x *indexing) Write(p []byte) (int, error) {
	if x.kept && x.bytes+int64(len(p)) >= x.threshold {
		x.kept, x.body = false, nil
	}
	if x.kept {
		x.body = append(x.body, p...)
	}
	for at := 0; ; {
		next := bytes.IndexByte(p[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
		if x.lines++; x.lines%indexStep == 0 {
			x.offsets = append(x.offsets, x.bytes+int64(at))
		}
	}
	x.bytes += int64(len(p))
	return len(p), nil
}

func (r *lineReader) ByteLength(ctx context.Context) (int64, error) {
	known, err := r.index(ctx)
	if err != nil {
		return 0, err
	}
	return known.bytes, nil
}

func (r *lineReader) LineCount(ctx context.Context) (int, error) {
	known, err := r.index(ctx)
	if err != nil {
		return 0, err
	}
	return known.lines, nil
}

func (r *lineReader) ReadAll(ctx context.Context) ([]byte, error) {
	known, err := r.index(ctx)
	if err != nil {
		return nil, err
	}
	if known.kept {
		return bytes.Clone(known.body), nil
	}
	stream, err := open(ctx, r.reader)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(stream)
	return data, errors.Join(err, stream.Close())
}

func (r *lineReader) Line(ctx context.Context, i int) (line string, ok bool, err error) {
	known, err := r.index(ctx)
	if err != nil || i < 0 || i >= known.lines {
		return "", false, err
	}
	stream, size, skip, err := r.near(ctx, known, i)
	if err != nil {
		return "", false, err
	}
	for next, err := range lines(ctx, stream, size, skip, math.MaxInt) {
		return validText(next.text), err == nil, err
	}
	if skip > 0 {
		return "", false, &adk.Error{Code: adk.E_ARTIFACT_CHANGED, Message: "the body has fewer lines than it had"}
	}
	return "", true, nil // the line after the last newline, which is empty
}

// near opens the body at the nearest known place before a line. It returns how many bytes are
// needed, and how many lines to skip.
func (r *lineReader) near(ctx context.Context, known *lineIndex, i int) (stream io.ReadCloser, size int64, skip int, err error) {
	place := i / indexStep
	from, end := known.offsets[place], known.bytes
	if place+1 < len(known.offsets) {
		end = known.offsets[place+1]
	}
	if known.kept {
		return io.NopCloser(bytes.NewReader(known.body[from:end])), end - from, i % indexStep, nil
	}
	if ranges, has := r.reader.(RangeReader); has {
		stream, err = ranges.OpenRange(ctx, from, end-from)
		return stream, end - from, i % indexStep, err
	}
	stream, err = open(ctx, r.reader)
	return stream, end, i, err
}
