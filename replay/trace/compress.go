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

// This file packs and unpacks traces. It is the one place that knows zstd.

// zstdMagic is what a compressed trace begins with.
var zstdMagic = []byte{0x28, 0xB5, 0x2F, 0xFD}

// The bounds of unpacking: what a hostile file can make a reader keep.
const (
	packWindow   = 64 << 10 // of what this package packs
	unpackWindow = 8 << 20
	unpackMemory = 64 << 20
)

// streams bounds what all traces that are packed at once keep: an encoder that says
// once what lines have in common takes half a megabyte. There are so many of them and
// no more; a trace that gets none has each line packed by itself, which takes nothing
// and says everything again.
type streams struct {
	most int
	mu   sync.Mutex
	open int
	idle sync.Pool // of *zstd.Encoder
}

// packing are the encoders of all that is packed in this process.
var packing = &streams{most: 512}

// take gives an encoder that writes to out, nil where all are taken.
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
	return encoder(out, zstd.WithEncoderConcurrency(1)) // one at a time: it then runs on the goroutine of its caller
}

// give takes an encoder back, which is good for another trace unless it failed.
func (s *streams) give(used *zstd.Encoder, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if !failed {
		used.Reset(nil)
		s.idle.Put(used)
	}
}

// alone packs lines by themselves, for all traces.
var alone = sync.OnceValue(func() *zstd.Encoder { return encoder(nil) })

func encoder(out io.Writer, options ...zstd.EOption) *zstd.Encoder {
	made, err := zstd.NewWriter(out, append(options, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(packWindow), zstd.WithLowerEncoderMem(true))...)
	if err != nil {
		panic(err) // of options that no caller chooses
	}
	return made
}

// compressor packs a trace, as frames that stand one behind the other. A line comes
// out before Write returns; what lines have in common is still said once where the
// trace has an encoder of its own, as the window goes on from line to line.
type compressor struct {
	streams *streams
	zstd    *zstd.Encoder // nil while each line is a frame
	out     io.WriteCloser
	failed  bool // what was written last did not come out
}

// NewCompressor compresses what is written to out; closing it ends the last frame.
// However many are open, they take no more than some hundred megabytes.
func NewCompressor(out io.WriteCloser) io.WriteCloser { return packing.compressor(out) }

func (s *streams) compressor(out io.WriteCloser) *compressor {
	return &compressor{streams: s, out: out}
}

func (c *compressor) Write(line []byte) (n int, err error) {
	c.failed = true // where the writer panics too
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

// unpacked gives a trace as lines, and what unpacks them; nil where it is not
// compressed.
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

// unpacker tells the end of a file that was cut short, damage in what is packed
// and errors of the underlying reader apart.
type unpacker struct {
	in      io.Reader
	inErr   error // of in, but for its end
	zstd    *zstd.Decoder
	options *Options
	left    int64
	cut     bool // in ended within what was packed
}

// sourceOf is what the decoder reads.
type sourceOf struct{ *unpacker }

func (s sourceOf) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	if err != nil && err != io.EOF {
		s.inErr = err
	}
	return n, err
}

// unpackError says why a compressed trace cannot be unpacked any further.
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
		u.cut, err = true, io.EOF // the reader of lines says that it is cut short, and where
	default:
		err = &unpackError{fault: FaultMalformed, text: "the compressed data is damaged: " + err.Error(), err: err}
	}
	return n, err
}
