package page

import (
	"compress/gzip"
	"encoding/ascii85"
	"io"
	"strings"
)

// A page contains its data compressed and as text. Browsers can unpack gzip but not zstd. gzip
// writes repetitions, which are common in the lines of a trace, as many equal references, so a
// second gzip compresses the result again, and both together are smaller than zstd. A text of 85
// characters is a quarter longer than the bytes; base64 would be a third longer. So the data is at
// most one and a half times the size of the compressed trace.

// packer compresses what is written to it, and writes it as text that cannot end an HTML element.
type packer struct {
	outer, inner *gzip.Writer
	text         io.WriteCloser
}

func newPacker(out io.Writer) *packer {
	p := &packer{text: ascii85.NewEncoder(markupFree{out})}
	p.inner, _ = gzip.NewWriterLevel(p.text, gzip.BestCompression) // cannot fail: the level is valid
	p.outer, _ = gzip.NewWriterLevel(p.inner, gzip.BestCompression)
	return p
}

// Write compresses more data.
func (p *packer) Write(lines []byte) (int, error) { return p.outer.Write(lines) }

// Close writes the rest.
func (p *packer) Close() error {
	for _, c := range []io.Closer{p.outer, p.inner, p.text} {
		if err := c.Close(); err != nil {
			return err
		}
	}
	return nil
}

// packedText returns a text, packed.
func packedText(text string) string {
	var out strings.Builder
	p := newPacker(&out)
	_, _ = io.WriteString(p, text) // a strings.Builder never fails
	_ = p.Close()
	return out.String()
}

// markupFree writes ascii85 text with the two characters that begin markup replaced by two that
// ascii85 does not use.
type markupFree struct{ io.Writer }

var withoutMarkup = strings.NewReplacer("<", "v", "&", "w")

// Write writes all of text.
func (m markupFree) Write(text []byte) (int, error) {
	if _, err := withoutMarkup.WriteString(m.Writer, string(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}
