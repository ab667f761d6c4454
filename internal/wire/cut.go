package wire

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/internal/canonical"
)

// The members of a line that is a part of a longer line: how many parts follow it, and its text.
const (
	memberLeft = "left"
	memberPart = "part"
)

// partSize is the largest text of a part: about a megabyte, which any tool reads. partFrame is more
// than the length of the rest of such a line.
const (
	partSize  = 1 << 20
	partFrame = 64
)

// CutLine writes a line to w in parts. Each part is at most mostLine bytes long, its newline
// included, and is written with one call of w.Write. CutLine returns an error if mostLine is too
// small, if the line is no UTF-8, or if w fails.
func CutLine(w io.Writer, line []byte, mostLine int64) error {
	size := int(min(partSize, (mostLine-partFrame)/2)) // an escape has two bytes for one
	if size < utf8.UTFMax {
		return fmt.Errorf("it has %d bytes, and lines of %d hold no parts of it", len(line), mostLine)
	}
	if !utf8.Valid(line) {
		return fmt.Errorf("it has %d bytes, of which some are no UTF-8, and is not cut into lines of at most %d", len(line), mostLine)
	}
	left := 0
	for rest := line; len(rest) > size; rest = rest[partEnd(rest, size):] {
		left++
	}
	var e Encoder
	for rest := line; len(rest) > 0; left-- {
		end := partEnd(rest, size)
		e.Begin(nil)
		e.Key(memberLeft)
		e.Out = strconv.AppendInt(e.Out, int64(left), 10)
		e.Key(memberPart)
		e.Out = canonical.AppendString(e.Out, string(rest[:end]))
		if err := e.End(); err != nil {
			return err
		}
		if _, err := w.Write(e.Out); err != nil {
			return err
		}
		rest = rest[end:]
	}
	return nil
}

// partEnd returns where a part of at most size bytes ends, without splitting a character.
func partEnd(rest []byte, size int) int {
	if len(rest) <= size {
		return len(rest)
	}
	for !utf8.RuneStart(rest[size]) {
		size--
	}
	return size
}

// IsPart reports whether the line is a part of a longer line.
func (d *Decoder) IsPart() bool {
	return d.Member(memberKind) == nil && d.Member(memberPart) != nil
}

// Part reads a line that is a part. It returns the text, and how many parts follow.
func (d *Decoder) Part() (text []byte, left int, err error) {
	if len(d.Members) != 2 || d.Member(memberLeft) == nil {
		return nil, 0, fmt.Errorf("a part of a line has %s and %s, and nothing else", memberLeft, memberPart)
	}
	if left, err = IntOfJSON(d.Member(memberLeft)); err == nil && left < 0 {
		err = errors.New("fewer than none cannot follow")
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", memberLeft, err)
	}
	if text, err = bytesOfString(d.Member(memberPart)); err != nil {
		err = fmt.Errorf("%s: %w", memberPart, err)
	}
	return text, left, err
}
