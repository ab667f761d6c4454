package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// This file packs and unpacks traces. It is the one place that knows zstd.

// ZstdMagic is what a compressed trace begins with.
var ZstdMagic = []byte{0x28, 0xB5, 0x2F, 0xFD}

// The bounds of unpacking: what a hostile file can make a reader keep.
const (
	packWindow   = 1 << 20 // of what this package packs
	unpackWindow = 8 << 20
	unpackMemory = 64 << 20
)

// compressor packs a trace. A line comes out before Write returns; what lines
// have in common is still said once, as the window goes on from line to line.
type compressor struct {
	zstd *zstd.Encoder
	out  io.Closer
}

// NewCompressor compresses what is written to w; closing it ends the last frame.
func NewCompressor(out io.WriteCloser) io.WriteCloser {
	// One at a time: it then runs on the goroutine of its caller.
	packed, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(packWindow), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // of options that no caller chooses
	}
	return &compressor{packed, out}
}

func (c *compressor) Write(line []byte) (int, error) {
	n, err := c.zstd.Write(line)
	if err == nil {
		err = c.zstd.Flush()
	}
	return n, err
}

func (c *compressor) Close() error { return errors.Join(c.zstd.Close(), c.out.Close()) }

// unpacked gives a trace as lines, and what unpacks them; nil where it is not
// compressed.
func unpacked(in *bufio.Reader, most int64) (*bufio.Reader, *unpacker, error) {
	if begin, _ := in.Peek(len(ZstdMagic)); !bytes.Equal(begin, ZstdMagic) {
		return in, nil, nil
	}
	if most <= 0 {
		most = DefaultMaxUnpacked
	}
	u := &unpacker{in: in, most: most, left: most}
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
	in         io.Reader
	inErr      error // of in, but for its end
	zstd       *zstd.Decoder
	most, left int64
	cut        bool // in ended within what was packed
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
		return 0, &unpackError{fault: FaultTooLong, text: fmt.Sprintf("the trace has more than %d bytes when unpacked: Options.MaxBytes can allow more", u.most)}
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
