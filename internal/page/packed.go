package page

import (
	"compress/gzip"
	"encoding/ascii85"
	"io"
	"strings"
)

// What a page holds stands in it compressed and as text. Browsers unpack gzip by themselves
// and zstd not; but gzip writes what comes again and again, as the lines of a
// trace do, as many equal references, so that a second one takes what the first has left,
// and both together take less than zstd. Text of 85 characters is a quarter longer than
// the bytes, where that of 64 is a third. So a page is at most half as long again as the
// compressed trace, but for the look of all pages.

// packer compresses what is written to it, and writes it out as text that ends no element.
type packer struct {
	outer, inner *gzip.Writer
	text         io.WriteCloser
}

func newPacker(out io.Writer) *packer {
	p := &packer{text: ascii85.NewEncoder(markupFree{out})}
	p.inner, _ = gzip.NewWriterLevel(p.text, gzip.BestCompression) // the level is one of the package's
	p.outer, _ = gzip.NewWriterLevel(p.inner, gzip.BestCompression)
	return p
}

// Write takes more of the lines.
func (p *packer) Write(lines []byte) (int, error) { return p.outer.Write(lines) }

// Close writes what is left.
func (p *packer) Close() error {
	for _, c := range []io.Closer{p.outer, p.inner, p.text} {
		if err := c.Close(); err != nil {
			return err
		}
	}
	return nil
}

// packedText is a text, packed.
func packedText(text string) string {
	var out strings.Builder
	p := newPacker(&out)
	_, _ = io.WriteString(p, text) // a builder takes all
	_ = p.Close()
	return out.String()
}

// markupFree writes text of ascii85 with two of the characters that it has no use for in
// the place of those that begin markup.
type markupFree struct{ io.Writer }

var withoutMarkup = strings.NewReplacer("<", "v", "&", "w")

// Write writes as much as it is given.
func (m markupFree) Write(text []byte) (int, error) {
	if _, err := withoutMarkup.WriteString(m.Writer, string(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}
