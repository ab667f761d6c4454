package adk

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"reflect"
)

// MediaReader reaches the bytes of a media. Every Open starts at the first byte
// again, also while another reading is under way (PRM-8).
type MediaReader interface {
	Open(ctx context.Context) (io.ReadCloser, error)
}

// MediaFunc is a MediaReader made of a function.
type MediaFunc func(ctx context.Context) (io.ReadCloser, error)

// Open calls the function.
func (f MediaFunc) Open(ctx context.Context) (io.ReadCloser, error) { return f(ctx) }

// MediaBytes is a MediaReader of a copy of data.
func MediaBytes(data []byte) MediaReader {
	data = bytes.Clone(data)
	return MediaFunc(func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	})
}

// MediaFile is a MediaReader of a file, which is opened only when it is read.
func MediaFile(path string) MediaReader {
	return MediaFunc(func(context.Context) (io.ReadCloser, error) {
		file, err := os.Open(path)
		if err != nil {
			return nil, err // not a nil *os.File that is no nil interface
		}
		return file, nil
	})
}

// unreadMedia is the reader of a media that has none, by its id.
type unreadMedia string

func (id unreadMedia) Open(context.Context) (io.ReadCloser, error) {
	return nil, &Error{Code: E_NOT_A_MEDIA_READER, Message: fmt.Sprintf(
		"media %.64q holds no bytes: it was read from JSON, or given a nil reader; WithReader gives it one", string(id))}
}

// nilMediaReader tells whether a reader is nil, or an interface around nil.
func nilMediaReader(reader MediaReader) bool {
	if reader == nil {
		return true
	}
	switch v := reflect.ValueOf(reader); v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		return v.IsNil()
	default:
		return false
	}
}
