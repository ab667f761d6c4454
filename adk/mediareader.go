package adk

import (
	"context"
	"fmt"
	"io"

	"github.com/adkreplay/adkreplay/internal/reread"
)

// MediaReader opens the bytes of a media. Every Open starts at the first byte, even while another
// reader is open (PRM-8).
type MediaReader interface {
	Open(ctx context.Context) (io.ReadCloser, error)
}

// SizedMediaReader is a MediaReader that can report the length of its bytes without reading them;
// known is false if it cannot at the moment. NewMedia asks it.
type SizedMediaReader interface {
	MediaReader
	Size() (n int64, known bool)
}

// MediaFunc is a MediaReader made of a function.
type MediaFunc func(ctx context.Context) (io.ReadCloser, error)

// Open calls the function.
func (f MediaFunc) Open(ctx context.Context) (io.ReadCloser, error) { return f(ctx) }

// MediaBytes returns a MediaReader of a copy of data. It knows its size.
func MediaBytes(data []byte) MediaReader { return reread.Text(data) }

// MediaFile returns a MediaReader of a file, which is opened only when it is read. It knows its
// size while a regular file is there.
func MediaFile(path string) MediaReader { return reread.File(path) }

// unreadMedia is the reader of a media without bytes; its value is the media's id.
type unreadMedia string

func (id unreadMedia) Open(context.Context) (io.ReadCloser, error) {
	return nil, &Error{Code: E_NOT_A_MEDIA_READER, Message: fmt.Sprintf(
		"media %.64q holds no bytes: it was read from JSON, or given a nil reader; WithReader gives it one", string(id))}
}
