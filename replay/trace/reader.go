package trace

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"

	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/optional"
)

// Reader reads a trace line by line. It is not safe for concurrent use.
type Reader struct {
	in      *bufio.Reader
	packed  *unpacker // nil if the trace is not compressed
	options Options
	number  int    // of the last line read
	long    []byte // buffer for a line longer than in's buffer
	ahead   *ahead // lines read in advance; nil if there are none
	staying wire.Staying
	weight  wire.Weight // of the last line read
	isLarge bool        // the last line's values or text take much memory
	dec     *wire.Decoder
	sum     hash.Hash
	header  Header
	former  *formerDigests
	lines   []Line // unused lines for Next, allocated many at a time
	footer  []Member
	err     error // returned by Next from now on
}

// NewReader reads the header of a trace. If the header is invalid, the error is a *FormatError. An
// error of r itself is wrapped in another error.
func NewReader(r io.Reader, options ...Options) (*Reader, error) {
	if r == nil {
		return nil, errors.New("there is nothing to read a trace of: the reader is nil")
	}
	o := optional.First(options)
	known, err := wire.NewSentinels(o.Sentinels, o.ErrorTypes)
	if err != nil {
		return nil, err
	}
	reader := &Reader{options: o, dec: wire.NewDecoder(known), sum: sha256.New()}
	reader.options.limit()
	reader.dec.Repeat, reader.dec.MostMembers = reader.options.repeat(), int(min(reader.options.MaxValues, math.MaxInt))
	if reader.in, reader.packed, err = unpacked(bufio.NewReaderSize(r, 16<<10), &reader.options); err != nil {
		return nil, err
	}
	if err := reader.readHeader(); err != nil {
		return nil, err
	}
	return reader, nil
}

// Header returns the first line of the trace. The caller must not change it.
func (r *Reader) Header() Header { return r.header }

// Compressed reports whether the trace is compressed.
func (r *Reader) Compressed() bool { return r.packed != nil }

// Options returns the reader's options with the defaults filled in.
func (r *Reader) Options() Options { return r.options }

// Footer returns the members of the footer that this package does not know. It returns nil until
// the footer was read.
func (r *Reader) Footer() []Member { return r.footer }

// Next reads a crossing into a new Line, which belongs to the caller. After a valid footer, it
// returns io.EOF. If the file ends before its footer, Next returns all lines and then a
// *FormatError of FaultTruncated. After an error, every further call returns that error.
func (r *Reader) Next() (*Line, error) {
	if len(r.lines) == 0 {
		r.lines = make([]Line, linesAtOnce)
	}
	line, err := r.read(&r.lines[0])
	if line == &r.lines[0] {
		r.lines = r.lines[1:]
	}
	return line, err
}

// NextInto is like Next but reuses line, for callers that keep nothing of the line except what it
// points to. A line that takes much memory is returned in a Line of its own instead.
func (r *Reader) NextInto(line *Line) (*Line, error) {
	*line = Line{}
	return r.read(line)
}

// read is Next into a zero line.
func (r *Reader) read(line *Line) (*Line, error) {
	if r.err == nil {
		r.err = r.readLine(line)
	}
	switch {
	case r.err != nil:
		return nil, r.err
	case r.isLarge:
		own := *line
		*line = Line{}
		return &own, nil
	}
	return line, nil
}

// linesAtOnce is how many lines are allocated at a time, because allocating each one separately
// would dominate the time of reading. A caller that keeps one of them keeps all of them in memory;
// so a line of more than apart bytes is allocated separately.
const (
	linesAtOnce = 32
	apart       = 16 << 10
)

// foreign lists the beginnings of files that are not traces, with the reason for each.
var foreign = []struct{ begin, reason string }{
	{"\x1f\x8b", "the file is gzip: unpack it with gzip -d, or compress it with zstd"},
	{"\xef\xbb\xbf", "the file begins with a byte order mark: something wrote it anew, and a trace is UTF-8 without one"},
	{"\xff\xfe", "the file is UTF-16: something wrote it anew, and a trace is UTF-8"},
	{"\xfe\xff", "the file is UTF-16: something wrote it anew, and a trace is UTF-8"},
}

// headerBegin is the beginning of every trace.
const headerBegin = `{"adkreplay":"trace"`

func (r *Reader) readHeader() error {
	for _, f := range foreign {
		if begin, _ := r.in.Peek(len(f.begin)); bytes.Equal(begin, []byte(f.begin)) {
			r.number++
			return r.fail(FaultForeign, f.reason, nil)
		}
	}
	if begin, _ := r.in.Peek(len(headerBegin)); wire.Conflict(begin) != "" {
		r.number++
		return r.fail(FaultMalformed, wire.Conflict(begin), nil)
	} else if len(begin) > 0 && !bytes.ContainsAny(begin[:1], "{ \t\r\n") {
		r.number++
		return r.fail(FaultForeign, fmt.Sprintf("it begins with %q, and a trace with %s", begin, headerBegin), nil)
	}
	line, err := r.next()
	if err != nil {
		return err
	}
	r.sum.Write(line)
	if err := r.scan(trim(line)); err != nil {
		return err
	}
	if int64(r.dec.Values) > r.options.MaxValues {
		return r.beyond(limitValues)
	}
	if err := readHeader(r.dec, &r.header); err != nil {
		if other, ok := errors.AsType[*FormatError](err); ok {
			return r.fail(other.Fault, other.Reason, nil)
		}
		return r.malformed(err)
	}
	r.former = formerIn(r.header.Version)
	return nil
}

func (r *Reader) readLine(l *Line) error {
	line, err := r.scanned()
	if err != nil {
		return err
	}
	if r.dec.IsFooter() {
		return r.readFooter(line)
	}
	r.sum.Write(line)
	if r.dec.IsPart() {
		if err := r.join(); err != nil {
			return err
		}
	}
	if r.hasTooManyValues() {
		return r.beyond(limitValues)
	}
	if r.weight = r.dec.Weight(); r.isTooHeavy(r.weight.All()) {
		return r.beyond(limitMemory)
	}
	known := r.dec.Records()
	l.Extra, err = r.dec.Crossing(&l.Crossing)
	switch {
	case errors.Is(err, wire.ErrTextTooLong):
		return r.beyond(limitLine)
	case errors.Is(err, wire.ErrRestoredMuch):
		return r.beyond(limitRestored)
	case err != nil:
		return r.malformed(err)
	case r.hasTooManyValues():
		return r.beyond(limitValues)
	case int64(l.Seq) > r.options.MaxCrossings:
		return r.beyond(limitCrossings)
	}
	if r.weight.Data += int64(r.dec.Restored); r.weight.Records == 0 && r.dec.Records() > known {
		r.weight.Records = r.weight.Data // the records that a result has
	}
	if int64(r.staying.Pass(&l.Crossing, r.weight)) > r.options.MaxNesting {
		return r.beyond(limitNesting)
	}
	if r.isTooHeavy(0) {
		return r.beyond(limitMemory)
	}
	r.isLarge = r.weight.All()+int64(len(line)) > apart
	r.former.read(&l.Crossing)
	return nil
}

// isTooHeavy reports whether what the reader still holds of the lines before, plus more bytes,
// exceeds MaxMemory.
func (r *Reader) isTooHeavy(more int64) bool { return r.staying.Weight+more > r.options.MaxMemory }

func (r *Reader) hasTooManyValues() bool {
	return int64(r.dec.Values) > r.options.MaxValues && int64(r.dec.DataValues()) > r.options.MaxValues
}

// scanned reads the next line, with its line end, and scans its members into the decoder.
func (r *Reader) scanned() ([]byte, error) {
	line, err := r.next()
	if err == nil {
		err = r.scan(trim(line))
	}
	if err != nil {
		return nil, err
	}
	return line, nil
}

// scan scans the members of a line into the decoder.
func (r *Reader) scan(line []byte) error {
	err := r.dec.Scan(line)
	switch {
	case errors.Is(err, wire.ErrManyMembers):
		return r.beyond(limitValues)
	case err != nil && wire.Conflict(line) != "":
		return r.fail(FaultMalformed, wire.Conflict(line), nil)
	case err != nil:
		return r.malformed(err)
	}
	return nil
}

// join reads the remaining parts of a crossing that was cut into several lines; the decoder holds
// the first part. It then scans the whole line.
func (r *Reader) join() error {
	var whole []byte
	for want := -1; ; want-- {
		text, left, err := r.dec.Part()
		switch {
		case err != nil:
			return r.malformed(err)
		case want >= 0 && left != want:
			return r.malformed(fmt.Errorf("a part of a line with %d behind it follows one with %d: one is missing, or out of its place", left, want+1))
		}
		if want = left; int64(len(whole)+len(text)) > r.options.MaxSaid {
			return r.beyond(limitSaid)
		}
		if whole = append(whole, text...); left == 0 {
			break
		}
		line, err := r.scanned()
		if err != nil {
			return err
		}
		if !r.dec.IsPart() {
			return r.malformed(fmt.Errorf("a line was cut into parts, of which %d are missing here", left))
		}
		r.sum.Write(line)
	}
	if err := r.dec.Scan(whole); err != nil {
		return r.malformed(fmt.Errorf("the line that its parts make: %w", err))
	}
	return nil
}

// readFooter checks the footer against what was read. It returns io.EOF if the footer is right.
func (r *Reader) readFooter(line []byte) error {
	count, sum, extra, err := readFooter(r.dec)
	switch {
	case err != nil:
		return r.malformed(err)
	case count != r.dec.Seq:
		return r.fail(FaultCount, fmt.Sprintf("the footer counts %d crossings: there are %d", count, r.dec.Seq), nil)
	case !bytes.Equal(sum, r.sum.Sum(nil)):
		return r.fail(FaultDigest, wire.CheckedOut(line, fmt.Sprintf(
			"the lines above have the SHA-256 %x, not the footer's: something changed the file after it was written", r.sum.Sum(nil))), nil)
	}
	if more, err := r.more(); more {
		r.number++
		return r.fail(FaultMalformed, "there is more after the footer, which ends a trace", nil)
	} else if err != nil {
		return r.failedRead(err)
	}
	if r.packed != nil && r.packed.cut {
		return r.fail(FaultTruncated, "the compressed data ends early: the file was cut short behind its last line", nil)
	}
	r.footer = extra
	return io.EOF
}

// next reads a line with its line end. The bytes are valid until the next call.
func (r *Reader) next() ([]byte, error) {
	r.number++
	line, err := r.rawLine()
	switch {
	case err == nil:
		return line, r.checkLength(line)
	case err != io.EOF:
		return nil, r.failedRead(err)
	case len(line) > 0:
		return nil, r.fail(FaultTruncated, "the line has no end: the file was cut short within it", nil)
	case r.number == 1:
		return nil, r.fail(FaultTruncated, "it is empty", nil)
	default:
		return nil, r.fail(FaultTruncated, "the file ends without a footer: it was cut short, or is still being written", nil)
	}
}

// rawLine reads a line with its line end. If there is no whole line, it returns what is left and
// the reason.
func (r *Reader) rawLine() ([]byte, error) {
	if r.ahead != nil {
		return r.ahead.next()
	}
	line, err := r.in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		line, err = r.longLine(line)
	}
	return line, err
}

// more reports whether anything follows.
func (r *Reader) more() (more bool, err error) {
	if r.ahead != nil {
		line, err := r.ahead.next()
		more = len(line) > 0
		return more, unlessEOF(err)
	}
	_, err = r.in.ReadByte()
	return err == nil, unlessEOF(err)
}

func unlessEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// readAhead reads all remaining lines without decoding them. It fails if they exceed MaxMemory.
func (r *Reader) readAhead() error {
	number, all, held := r.number, &ahead{}, int64(0)
	for all.err == nil {
		var line []byte
		r.number++
		if line, all.err = r.rawLine(); len(line) > 0 {
			all.add(line)
		}
		if held += int64(len(line)) + lineMemory; held > r.options.MaxMemory {
			return r.beyond(limitMemory)
		}
	}
	r.number, r.ahead, r.long = number, all, nil
	return nil
}

// longLine collects a line that is longer than the buffer.
func (r *Reader) longLine(line []byte) (_ []byte, err error) {
	r.long = append(r.long[:0], line...)
	err = bufio.ErrBufferFull
	for err == bufio.ErrBufferFull {
		if err := r.checkLength(r.long); err != nil {
			return nil, err
		}
		line, err = r.in.ReadSlice('\n')
		r.long = append(r.long, line...)
	}
	return r.long, err
}

func (r *Reader) checkLength(line []byte) error {
	if int64(len(line)) > r.options.MaxLine {
		return r.beyond(limitLine)
	}
	return nil
}

// beyond returns the error of a limit that is exceeded.
func (r *Reader) beyond(limit int) error { return r.fail(FaultTooLarge, r.options.beyond(limit), nil) }

// trim removes the line end.
func trim(line []byte) []byte { return line[:len(line)-1] }

// failedRead adds the line number to an error of the underlying reader. It keeps a FormatError
// unchanged.
func (r *Reader) failedRead(err error) error {
	if _, ok := errors.AsType[*FormatError](err); ok {
		return err
	}
	if damage, ok := errors.AsType[*unpackError](err); ok {
		return r.fail(damage.fault, damage.Error(), damage.err)
	}
	return fmt.Errorf("replay: reading line %d of a trace: %w", r.number, err)
}

func (r *Reader) malformed(err error) error { return r.fail(FaultMalformed, err.Error(), err) }

func (r *Reader) fail(fault Fault, reason string, err error) error {
	return &FormatError{File: r.options.File, Line: r.number, Fault: fault, Reason: reason, Err: err}
}

// Skip reads the rest of the trace, for a replay that stopped at a divergence. If the file was cut
// short or changed, that may be the only difference, and Skip returns the error that says so.
func (r *Reader) Skip() error {
	for {
		if _, err := r.Next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}
