// Package reread has bytes that can be read again and again, each time from the first,
// also while another reading is under way, and readings that somebody breaks.
package reread

import (
	"context"
	"io"
	"os"
	"strings"
)

// Text is bytes that nobody may change.
type Text string

// Open reads the text; it never fails.
func (t Text) Open(context.Context) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(string(t))), nil
}

// Size is how many bytes there are.
func (t Text) Size() (n int64, known bool) { return int64(len(t)), true }

// File is the path of a file, which is opened when it is read.
type File string

// Open opens the file; the error is that of os.Open.
func (path File) Open(context.Context) (io.ReadCloser, error) {
	file, err := os.Open(string(path))
	if err != nil {
		return nil, err // not a nil *os.File that is no nil interface
	}
	return file, nil
}

// Size is how many bytes there are, known while there is a regular file.
func (path File) Size() (n int64, known bool) {
	info, err := os.Stat(string(path))
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}
