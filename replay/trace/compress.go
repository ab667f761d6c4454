package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// This file compresses and decompresses traces. It is the only file that uses zstd.

// zstdMagic is how a compressed trace begins.
var zstdMagic = []byte{0x28, 0xB5, 0x2F, 0xFD}

// The bounds of memory. The last two limit what a hostile file can make a reader allocate.
const (
	packWindow   = 64 << 10 // of the traces that this package compresses
	unpackWindow = 8 << 20
	unpackMemory = 64 << 20
)

// streams bounds the memory of all traces that are being compressed. An encoder that removes
// repetitions between lines takes half a megabyte, and there are at most `most` of them. A trace
// that gets no encoder has each line compressed separately; that takes no memory, but repetitions
// between lines stay.
type streams struct {
	most int
	mu   sync.Mutex
	open int
	idle sync.Pool // of *zstd.Encoder
}

// packing holds the encoders of this process.
var packing = &streams{most: 512}

// take returns an encoder that writes to out, or nil if all are in use.
func (s *streams) take(out io.Writer) *zstd.Encoder {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == s.most {
		return nil
	}
	s.open++
	if idle, ok := s.idle.Get().(*zstd.Encoder); ok {
		idle.Reset(out)
		return idle
	}
	return encoder(out, zstd.WithEncoderConcurrency(1)) // with a concurrency of 1, it runs on its caller's goroutine
}

// give returns an encoder, which is used for another trace unless it failed.
func (s *streams) give(used *zstd.Encoder, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if !failed {
		used.Reset(nil)
		s.idle.Put(used)
	}
}

// alone is the encoder that compresses single lines, for all traces.
var alone = sync.OnceValue(func() *zstd.Encoder { return encoder(nil) })

func encoder(out io.Writer, options ...zstd.EOption) *zstd.Encoder {
	made, err := zstd.NewWriter(out, append(options, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(packWindow), zstd.WithLowerEncoderMem(true))...)
	if err != nil {
		panic(err) // the options are fixed, so this is a bug
	}
	return made
}

// compressor compresses a trace into consecutive zstd frames. Write returns only after the
// compressed line is written. If the trace has an encoder of its own, its window spans all lines,
// so repetitions between lines are removed.
type compressor struct {
	streams *streams
	zstd    *zstd.Encoder // nil while each line is a frame of its own
	out     io.WriteCloser
	failed  bool // the last write failed
}

// NewCompressor returns a writer that compresses to out. Closing it ends the last frame and closes
// out. All open compressors together take at most some hundred megabytes.
func NewCompressor(out io.WriteCloser) io.WriteCloser { return packing.compressor(out) }

func (s *streams) compressor(out io.WriteCloser) *compressor {
	return &compressor{streams: s, out: out}
}

func (c *compressor) Write(line []byte) (n int, err error) {
	c.failed = true // stays true if the writer panics
	if c.zstd == nil {
		c.zstd = c.streams.take(c.out)
	}
	if c.zstd == nil {
		n, err = c.frame(line)
	} else if n, err = c.zstd.Write(line); err == nil {
		err = c.zstd.Flush()
	}
	c.failed = err != nil
	return n, err
}

// frame writes a line as a frame of its own.
func (c *compressor) frame(line []byte) (int, error) {
	packed := alone().EncodeAll(line, nil)
	n, err := c.out.Write(packed)
	if err == nil && n < len(packed) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return 0, err
	}
	return len(line), nil
}

func (c *compressor) Close() (err error) {
	defer func() { err = errors.Join(err, c.out.Close()) }()
	if c.zstd == nil {
		return nil
	}
	failed := true
	defer func() { c.streams.give(c.zstd, failed || c.failed) }()
	err = c.zstd.Close()
	failed = err != nil
	return err
}

// unpacked returns a reader of the trace's uncompressed lines, and the unpacker behind it. The
// unpacker is nil if the trace is not compressed.
func unpacked(in *bufio.Reader, o *Options) (*bufio.Reader, *unpacker, error) {
	if begin, _ := in.Peek(len(zstdMagic)); !bytes.Equal(begin, zstdMagic) {
		return in, nil, nil
	}
	u := &unpacker{in: in, options: o, left: o.MaxBytes}
	var err error
	u.zstd, err = zstd.NewReader(sourceOf{u}, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(unpackWindow), zstd.WithDecoderMaxMemory(unpackMemory))
	if err != nil {
		return nil, nil, fmt.Errorf("replay: reading a compressed trace: %w", err)
	}
	return bufio.NewReaderSize(u, 64<<10), u, nil
}

// unpacker decompresses a trace. It distinguishes a file that was cut short, damaged compressed
// data, and errors of the underlying reader.
type unpacker struct {
	in      io.Reader
	inErr   error // an error of in other than io.EOF
	zstd    *zstd.Decoder
	options *Options
	left    int64
	cut     bool // in ended within the compressed data
}

// sourceOf is the reader that the zstd decoder reads from.
type sourceOf struct{ *unpacker }

func (s sourceOf) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	if err != nil && err != io.EOF {
		s.inErr = err
	}
	return n, err
}

// unpackError says why a compressed trace cannot be decompressed any further.
type unpackError struct {
	fault Fault
	text  string
	err   error
}

func (e *unpackError) Error() string { return e.text }
func (e *unpackError) Unwrap() error { return e.err }

func (u *unpacker) Read(p []byte) (int, error) {
	n, err := u.zstd.Read(p[:min(int64(len(p)), u.left+1)])
	u.left -= int64(n)
	switch {
	case u.left < 0:
		return 0, &unpackError{fault: FaultTooLarge, text: u.options.beyond(limitBytes)}
	case err == nil || err == io.EOF:
	case u.inErr != nil:
		err = u.inErr
	case errors.Is(err, io.ErrUnexpectedEOF):
		u.cut, err = true, io.EOF // the Reader reports that the file is cut short, and where
	default:
		err = &unpackError{fault: FaultMalformed, text: "the compressed data is damaged: " + err.Error(), err: err}
	}
	return n, err
}
