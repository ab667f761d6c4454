package adk

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
)

// MediaReader reaches the bytes of a media. Every Open starts at the first byte
// again, also while another reading is under way (PRM-8).
type MediaReader interface {
	Open(ctx context.Context) (io.ReadCloser, error)
}

// SizedMediaReader is a MediaReader that can tell the length of its bytes without
// reading them; known is false where it cannot at present. Media.Size asks it.
type SizedMediaReader interface {
	MediaReader
	Size() (n int64, known bool)
}

// MediaFunc is a MediaReader made of a function.
type MediaFunc func(ctx context.Context) (io.ReadCloser, error)

// Open calls the function.
func (f MediaFunc) Open(ctx context.Context) (io.ReadCloser, error) { return f(ctx) }

// MediaBytes is a MediaReader of a copy of data. It knows its size.
func MediaBytes(data []byte) MediaReader { return mediaBytes(data) }

// mediaBytes is a string, as nobody may change it.
type mediaBytes string

func (b mediaBytes) Open(context.Context) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(string(b))), nil
}

func (b mediaBytes) Size() (n int64, known bool) { return int64(len(b)), true }

// MediaFile is a MediaReader of a file, which is opened only when it is read. It
// knows its size while there is a regular file.
func MediaFile(path string) MediaReader { return mediaFile(path) }

type mediaFile string

func (path mediaFile) Open(context.Context) (io.ReadCloser, error) {
	file, err := os.Open(string(path))
	if err != nil {
		return nil, err // not a nil *os.File that is no nil interface
	}
	return file, nil
}

func (path mediaFile) Size() (n int64, known bool) {
	info, err := os.Stat(string(path))
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// unreadMedia is the reader of a media that has none, by its id.
type unreadMedia string

func (id unreadMedia) Open(context.Context) (io.ReadCloser, error) {
	return nil, &Error{Code: E_NOT_A_MEDIA_READER, Message: fmt.Sprintf(
		"media %.64q holds no bytes: it was read from JSON, or given a nil reader; WithReader gives it one", string(id))}
}
