package adk

import (
	"context"
	"fmt"
	"io"

	"github.com/adkreplay/adkreplay/internal/reread"
)

// MediaReader reaches the bytes of a media. Every Open starts at the first byte
// again, also while another reading is under way (PRM-8).
type MediaReader interface {
	Open(ctx context.Context) (io.ReadCloser, error)
}

// SizedMediaReader is a MediaReader that can tell the length of its bytes without
// reading them; known is false where it cannot at present. NewMedia asks it.
type SizedMediaReader interface {
	MediaReader
	Size() (n int64, known bool)
}

// MediaFunc is a MediaReader made of a function.
type MediaFunc func(ctx context.Context) (io.ReadCloser, error)

// Open calls the function.
func (f MediaFunc) Open(ctx context.Context) (io.ReadCloser, error) { return f(ctx) }

// MediaBytes is a MediaReader of a copy of data. It knows its size.
func MediaBytes(data []byte) MediaReader { return reread.Text(data) }

// MediaFile is a MediaReader of a file, which is opened only when it is read. It
// knows its size while there is a regular file.
func MediaFile(path string) MediaReader { return reread.File(path) }

// unreadMedia is the reader of a media that has none, by its id.
type unreadMedia string

func (id unreadMedia) Open(context.Context) (io.ReadCloser, error) {
	return nil, &Error{Code: E_NOT_A_MEDIA_READER, Message: fmt.Sprintf(
		"media %.64q holds no bytes: it was read from JSON, or given a nil reader; WithReader gives it one", string(id))}
}
