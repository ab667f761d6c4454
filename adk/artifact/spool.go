package artifact

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
)

// Entry is what a spool says of a body that it keeps.
type Entry struct {
	Key    string
	Bytes  int64
	Lines  int    // as ART-13 counts them
	SHA256 string // in lowercase hexadecimal
	// Written is when the body came, as List tells it; zero where the spool cannot say,
	// and in what Write gives.
	Written time.Time
}

// Spool keeps bodies by key (SPL-1, SPL-2): any bytes come back as they went in, a
// write is whole or has not been, and readers that were handed out give one body or
// fail. It is safe for many goroutines. fakes.TestSpool checks one.
type Spool interface {
	// Write streams body to its end and keeps it under key, in the place of what was
	// there; if it fails, what was there stays.
	Write(ctx context.Context, key string, body io.Reader) (Entry, error)
	// Read gives a reader that can be opened again and again, and false for a key that
	// is not there. It reads no body.
	Read(ctx context.Context, key string) (adk.MediaReader, bool, error)
	// Delete forgets a body and reports whether there was one.
	Delete(ctx context.Context, key string) (bool, error)
	// List gives the entries whose keys begin with prefix, in the order of their keys,
	// for sweeping.
	List(ctx context.Context, prefix string) iter.Seq2[Entry, error]
}

// RangeReader is what a reader of Spool.Read may be beside an adk.MediaReader: one that
// reads a piece of the body. A piece that goes beyond the end is shorter.
type RangeReader interface {
	OpenRange(ctx context.Context, from, length int64) (io.ReadCloser, error)
}

// maxKey is how many bytes a key has at most (SPL-4).
const maxKey = 512

// CheckKey is the error E_SPOOL_KEY of a key that no spool takes (SPL-4): want 1 to 512
// bytes of UTF-8 without control characters, not beginning with a slash, and no segment
// between slashes that is empty, "." or "..".
func CheckKey(key string) error {
	wrong := ""
	switch {
	case key == "" || len(key) > maxKey:
		wrong = fmt.Sprintf("has %d bytes, want 1 to %d", len(key), maxKey)
	case !utf8.ValidString(key):
		wrong = "is not valid UTF-8"
	case strings.IndexFunc(key, unicode.IsControl) >= 0:
		wrong = "has a control character"
	default:
		for segment := range strings.SplitSeq(key, "/") {
			if segment == "" || segment == "." || segment == ".." {
				wrong = `has a segment that is empty, "." or ".."`
			}
		}
	}
	if wrong == "" {
		return nil
	}
	return &adk.Error{Code: adk.E_SPOOL_KEY, Message: fmt.Sprintf("the key %.40q %s", key, wrong)}
}

// MemoryReader reads a body that is in memory, whole or by ranges. It keeps body, which
// must not be changed; a nil one is empty.
func MemoryReader(body []byte) adk.MediaReader {
	if body == nil {
		body = []byte{} // what a reader is that is there
	}
	return memoryReader(body)
}

type memoryReader []byte

func (r memoryReader) Open(context.Context) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(r)), nil
}

func (r memoryReader) Size() (n int64, known bool) { return int64(len(r)), true }

func (r memoryReader) OpenRange(_ context.Context, from, length int64) (io.ReadCloser, error) {
	return io.NopCloser(io.NewSectionReader(bytes.NewReader(r), from, length)), nil
}
