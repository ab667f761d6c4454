package fakes_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/fakes"
)

// loading is a spool whose readers load the whole body before they return any of it.
type loading struct{ artifact.Spool }

func (s loading) Read(ctx context.Context, key string) (adk.MediaReader, bool, error) {
	reader, found, err := s.Spool.Read(ctx, key)
	if reader == nil {
		return reader, found, err
	}
	return adk.MediaFunc(func(ctx context.Context) (io.ReadCloser, error) {
		stream, err := reader.Open(ctx)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(stream)
		return io.NopCloser(bytes.NewReader(data)), err
	}), found, err
}

// SPL-1, SPL-11: the suite finds a spool that loads a body instead of streaming it, and accepts one
// that allocates piece by piece.
func TestSpoolSuiteFindsWhatIsLoaded(t *testing.T) {
	err := fakes.TestSpool(func() artifact.Spool { return loading{artifact.NewMemorySpool()} })
	if err == nil || !strings.Contains(err.Error(), "SPL-1: a body of 32 MiB is streamed") || strings.Contains(err.Error(), "SPL-2") {
		t.Errorf("got %v", err)
	}
}
