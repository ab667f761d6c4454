// Package reread provides bytes that can be read repeatedly, each time from the beginning, also
// while another read is in progress, and reads that tests can break.
package reread

import (
	"context"
	"io"
	"os"
	"strings"
)

// Text is bytes that never change.
type Text string

// Open returns a reader of the text; it never fails.
func (t Text) Open(context.Context) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(string(t))), nil
}

// Size returns the number of bytes.
func (t Text) Size() (n int64, known bool) { return int64(len(t)), true }

// File is the path of a file, which is opened for each read.
type File string

// Open opens the file; the error is that of os.Open.
func (path File) Open(context.Context) (io.ReadCloser, error) {
	file, err := os.Open(string(path))
	if err != nil {
		return nil, err // avoids a non-nil interface with a nil *os.File
	}
	return file, nil
}

// Size returns the number of bytes, if there is a regular file.
func (path File) Size() (n int64, known bool) {
	info, err := os.Stat(string(path))
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}
