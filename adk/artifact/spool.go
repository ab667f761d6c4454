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

// Entry describes a body in a spool.
type Entry struct {
	Key    string
	Bytes  int64
	Lines  int    // as ART-13 counts them
	SHA256 string // in lowercase hexadecimal
	// Written is when the body was written, as List reports it; zero if the spool cannot tell, and
	// in the result of Write.
	Written time.Time
}

// Spool keeps bodies by key (SPL-1, SPL-2). Bodies are returned byte for byte. A write happens as a
// whole or not at all. A reader reads one body or fails, whatever is written meanwhile. A Spool is
// safe for concurrent use. fakes.TestSpool checks an implementation.
type Spool interface {
	// Write streams body to its end and stores it under key, replacing an older one; if it fails,
	// the older one stays.
	Write(ctx context.Context, key string, body io.Reader) (Entry, error)
	// Read returns a reader that can be opened any number of times, and false for an unknown key.
	// It does not read the body.
	Read(ctx context.Context, key string) (adk.MediaReader, bool, error)
	// Delete deletes a body and reports whether there was one.
	Delete(ctx context.Context, key string) (bool, error)
	// List returns the entries whose keys begin with prefix, ordered by key. Sweep uses it.
	List(ctx context.Context, prefix string) iter.Seq2[Entry, error]
}

// RangeReader is an optional interface of a reader of Spool.Read, for reading a part of the body. A
// part that goes beyond the end is shorter.
type RangeReader interface {
	OpenRange(ctx context.Context, from, length int64) (io.ReadCloser, error)
}

// maxKey is the greatest length of a key in bytes (SPL-4).
const maxKey = 512

// CheckKey returns E_SPOOL_KEY if no spool accepts the key (SPL-4). A key has 1 to 512 bytes of
// UTF-8 without control characters, and no segment between slashes is empty, "." or "..", so it
// does not begin with a slash.
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

// MemoryReader reads a body in memory, whole or by ranges. It keeps body, which must not be
// changed; a nil one is empty.
func MemoryReader(body []byte) adk.MediaReader {
	if body == nil {
		body = []byte{} // a nil slice would count as no reader
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
