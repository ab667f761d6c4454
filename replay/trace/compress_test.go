package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/allocs"
)

type nothingCloses struct{ io.Writer }

func (nothingCloses) Close() error { return nil }

// lineNumber is a line of typical length.
func lineNumber(n int) []byte {
	return fmt.Appendf(nil, "{\"kind\":\"store\",\"phase\":\"begin\",\"in\":%d,\"op\":%d,\"of\":\"messages\",\"record\":{\"#\":%d}}\n", n, n, n)
}

// What open traces keep in memory does not grow with their number: ten thousand that are
// compressed at once may take a gigabyte, and take a quarter of it.
func TestPackingIsBounded(t *testing.T) {
	const runs, most, perStream, perRun = 200, 8, 768 << 10, 2 << 10
	bounded := &streams{most: most}
	open := make([]*compressor, runs)
	before := int(allocs.Heap())
	for i := range open {
		open[i] = bounded.compressor(nothingCloses{io.Discard})
		for n := range 10 {
			_, err := open[i].Write(lineNumber(n))
			require.NoError(t, err)
		}
	}
	kept := int(allocs.Heap()) - before
	t.Logf("%d bytes for %d open traces, of which %d have an encoder", kept, runs, most)
	assert.Less(t, kept, most*perStream+runs*perRun+perStream*runtime.GOMAXPROCS(0)) // the last term is for all traces without an encoder of their own
	assert.Less(t, packing.most*perStream+10_000*perRun, 1<<30)
	for _, c := range open {
		require.NoError(t, c.Close())
	}
	assert.Zero(t, bounded.open, "all are given back")
}

// A trace reads the same whether it has an encoder from the start, gets one later, or has none:
// its frames follow one another, as any zstd decoder accepts.
func TestPackingWithoutAnEncoder(t *testing.T) {
	bounded := &streams{most: 1}
	var out [3]bytes.Buffer
	var open [3]*compressor
	for i := range open {
		open[i] = bounded.compressor(nothingCloses{&out[i]})
	}
	var want bytes.Buffer
	write := func(n int, to ...int) {
		for _, i := range to {
			written, err := open[i].Write(lineNumber(n))
			require.NoError(t, err)
			assert.Len(t, lineNumber(n), written)
		}
	}
	for n := range 100 {
		want.Write(lineNumber(n))
		write(n, 0, 1, 2)
	}
	require.NoError(t, open[0].Close())
	for n := range 100 {
		want.Write(lineNumber(n))
		write(n, 1, 2)
	}
	require.NoError(t, open[1].Close())
	require.NoError(t, open[2].Close())
	for i, whole := range []string{want.String()[:want.Len()/2], want.String(), want.String()} {
		reader, err := zstd.NewReader(&out[i])
		require.NoError(t, err)
		got, err := io.ReadAll(reader)
		require.NoError(t, err)
		assert.Equal(t, whole, string(got), "trace %d", i)
		reader.Close()
	}
	assert.Zero(t, bounded.open)
}

type failingWriter struct {
	nothingCloses
	err    error
	panics bool
}

func (w failingWriter) Write([]byte) (int, error) {
	if w.panics {
		panic("the disk is gone")
	}
	return 0, w.err
}

// A writer that fails or panics spoils only its own trace, and does not keep the encoder from
// later traces.
func TestPackingThatFails(t *testing.T) {
	bounded := &streams{most: 1}
	full := errors.New("full")
	for _, w := range []failingWriter{{err: full}, {panics: true}} {
		c := bounded.compressor(w)
		func() {
			defer func() { assert.Equal(t, w.panics, recover() != nil) }()
			_, err := c.Write([]byte(strings.Repeat("x", 1000)))
			assert.ErrorIs(t, err, full)
		}()
		func() {
			defer func() { _ = recover() }() // Close writes too
			_ = c.Close()
		}()
		assert.Zero(t, bounded.open)
	}
	var out bytes.Buffer
	good := bounded.compressor(nothingCloses{&out})
	_, err := good.Write(lineNumber(1))
	require.NoError(t, errors.Join(err, good.Close()))
	reader, err := zstd.NewReader(&out)
	require.NoError(t, err)
	defer reader.Close()
	got, err := io.ReadAll(reader)
	require.NoError(t, err)
	assert.Equal(t, string(lineNumber(1)), string(got))
}
