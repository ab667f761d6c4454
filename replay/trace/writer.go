package trace

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/optional"
)

// Writer writes a trace. It calls the underlying writer once per line, with the whole line, so an
// interruption leaves only whole lines. After an error it writes nothing more. It is not safe for
// concurrent use.
type Writer struct {
	w      io.Writer
	header Header
	former *formerDigests
	enc    *wire.Encoder
	sum    hash.Hash
	count  int // of crossings
	lines  int // lines written
	begun  bool
	err    error // the first failure, or ErrClosed
	size   int64
	limits Options // the limits of a reader
}

// NewWriter returns a Writer. The header is written with the first crossing; if the header has no
// start, it gets the time of that crossing.
//
// The output can be read with the same Options. A crossing whose line would exceed MaxLine is
// written as parts, one line each. A crossing that exceeds MaxSaid, MaxValues or MaxCrossings is
// refused, and the trace ends before it. The Writer does not check MaxNesting.
func NewWriter(w io.Writer, h Header, options ...Options) *Writer {
	o := optional.First(options)
	known, err := wire.NewSentinels(o.Sentinels, o.ErrorTypes)
	writer := &Writer{w: w, header: h, enc: wire.NewEncoder(known), sum: sha256.New(), err: err, limits: o}
	writer.limits.limit()
	return writer
}

// ErrClosed is returned by writes after Close.
var ErrClosed = errors.New("replay: the trace is closed")

// Write writes a crossing and keeps nothing of it. The crossing's number is its position in the
// file, whatever Crossing.Seq says. Write refuses a crossing that no reader would accept, such as
// one of an unknown kind.
func (w *Writer) Write(c *adk.Crossing) error { return w.write(c, nil) }

// WriteLine is Write for a line that was read. It also writes the members that this package does
// not know.
func (w *Writer) WriteLine(l *Line) error { return w.write(&l.Crossing, l.Extra) }

func (w *Writer) write(c *adk.Crossing, extra []Member) error {
	if !w.begun && w.header.Start.IsZero() {
		w.header.Start = c.At
	}
	w.begin()
	if w.err != nil {
		return w.err
	}
	w.count++
	err := wire.Knows(w.header.Version, c.Kind)
	if err == nil {
		err = w.enc.Crossing(w.former.written(c), extra)
	}
	if err == nil {
		err = w.readable()
	}
	w.line(err, w.count)
	return w.err
}

// begin writes the header, once.
func (w *Writer) begin() {
	if w.begun || w.err != nil {
		return
	}
	w.begun = true
	w.header.Version = cmp.Or(w.header.Version, FormatVersion)
	w.header.Contract = cmp.Or(w.header.Contract, ContractRevision)
	w.former = formerIn(w.header.Version)
	w.enc.Last, w.enc.Format, w.enc.Repeat = w.header.Start, w.header.Version, w.limits.repeat()
	w.line(writeHeader(w.enc, w.header), 0)
}

// Close writes the footer, which completes the trace. It does not close the underlying writer.
func (w *Writer) Close() error { return w.CloseWith(nil) }

// CloseWith is Close for a copy of another trace: the footer also gets the members that
// Reader.Footer returned for that trace.
func (w *Writer) CloseWith(extra []Member) error {
	w.begin()
	if w.err != nil {
		return w.err
	}
	w.line(writeFooter(w.enc, w.count, w.sum.Sum(nil), extra), w.count+1)
	if w.err != nil {
		return w.err
	}
	w.err = ErrClosed
	w.enc.Free()
	w.enc = nil
	return nil
}

// readable checks that a reader's limits accept the crossing in the encoder. A JSON value takes at
// least one byte, so readable counts the values of long lines only.
func (w *Writer) readable() error {
	if int64(w.count) > w.limits.MaxCrossings {
		return fmt.Errorf("no reader takes more than %d crossings: Options.MaxCrossings can allow more, to both", w.limits.MaxCrossings)
	}
	if int64(len(w.enc.Out)) > w.limits.MaxSaid {
		return fmt.Errorf("it says %d bytes, and no reader takes more than %d: Options.MaxSaid can allow more, to both", len(w.enc.Out), w.limits.MaxSaid)
	}
	restored := int64(w.enc.RestoredValues)
	if int64(len(w.enc.Out))+restored <= w.limits.MaxValues {
		return nil
	}
	d := wire.Decoder{Format: w.header.Version}
	if err := d.Scan(trim(w.enc.Out)); err != nil {
		return err
	}
	if values := int64(d.DataValues()) + restored; values > w.limits.MaxValues {
		return fmt.Errorf("it has %d JSON values, and no reader takes more than %d: Options.MaxValues can allow more, to both", values, w.limits.MaxValues)
	}
	return nil
}

// line writes the line in the encoder, which belongs to crossing n. The header has n = 0 and the
// footer has n = count+1.
func (w *Writer) line(err error, n int) {
	switch {
	case err != nil:
	case int64(len(w.enc.Out)) <= w.limits.MaxLine:
		_, err = w.put(w.enc.Out)
	case n == 0 || n > w.count:
		err = fmt.Errorf("it has %d bytes, and no reader takes more than %d: Options.MaxLine can allow more, to both", len(w.enc.Out), w.limits.MaxLine)
	default:
		err = wire.CutLine(writerFunc(w.put), trim(w.enc.Out), w.limits.MaxLine)
	}
	if err != nil {
		w.err = fmt.Errorf("replay: writing line %d of a trace: %w", w.lines+1, err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(line []byte) (int, error) { return f(line) }

func (w *Writer) put(line []byte) (int, error) {
	w.sum.Write(line)
	n, err := w.w.Write(line)
	w.size += int64(n)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err == nil {
		w.lines++
	}
	return n, err
}
