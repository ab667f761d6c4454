package artifact_test

import (
	"context"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/internal/allocs"
)

// BenchmarkStream measures what questions to a body in a directory cost, compared with only reading it:
// head, tail, grep and the counting of lines stream at 500 MB/s and hold less than 1 MiB. Questions
// that read all of the body hash it on the way, so that they notice a body that was replaced.
func BenchmarkStream(b *testing.B) {
	a, reader, entry := largeLog(b, 64<<20)
	bench := func(name string, bytes int64, ask func() error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(bytes)
			b.ReportAllocs()
			for b.Loop() {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	bench("floor", entry.Bytes, func() error {
		stream, err := reader.Open(b.Context())
		if err != nil {
			return err
		}
		defer func() { _ = stream.Close() }()
		_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{stream}, make([]byte, 256<<10))
		return err
	})
	bench("head", 10*int64(len(logLine)), func() error { _, err := a.Head(b.Context(), 10); return err })
	bench("tail", 10*int64(len(logLine)), func() error { _, err := a.Tail(b.Context(), 10); return err })
	for name, pattern := range map[string]string{"grep": "ERROR", "grep-every-line": "node \\d: nothing"} {
		compiled := regexp.MustCompile(pattern)
		bench(name, entry.Bytes, func() error { _, err := a.Grep(b.Context(), compiled); return err })
	}
	bench("lines", entry.Bytes, func() error {
		lines, err := artifact.NewLineReader(reader, 0)
		if err != nil {
			return err
		}
		_, err = lines.LineCount(b.Context())
		return err
	})
}

const logLine = "2026-03-15T12:00:00Z info node 7: all is well, nothing to be seen here, go on\n"

// largeLog is a log of about size bytes in a directory spool.
func largeLog(t testing.TB, size int) (*artifact.Artifact, adk.MediaReader, artifact.Entry) {
	t.Helper()
	spool, err := artifact.NewDirSpool(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = spool.Close() })
	entry, err := spool.Write(t.Context(), "large", strings.NewReader(strings.Repeat(logLine, size/len(logLine))))
	require.NoError(t, err)
	reader, _, err := spool.Read(t.Context(), "large")
	require.NoError(t, err)
	media, err := artifact.New(artifact.Init{ID: "x", Flavour: artifact.TextFlavour, Filename: "x", Reader: reader, TrustTier: adk.TrustFirstParty, Known: &entry})
	require.NoError(t, err)
	a, err := artifact.Open(&reading{}, media, artifact.Config{})
	require.NoError(t, err)
	return a, reader, entry
}

// Streaming questions hold less than 1 MiB of a body of 16 MiB: they do not even allocate more.
func TestStreamsHoldLittle(t *testing.T) {
	allocs.Countable(t)
	a, reader, _ := largeLog(t, 16<<20)
	for name, ask := range map[string]func() error{
		"head": func() error { _, err := a.Head(t.Context(), 10); return err },
		"tail": func() error { _, err := a.Tail(t.Context(), 10); return err },
		"grep": func() error { _, err := a.Grep(t.Context(), regexp.MustCompile("ERROR")); return err },
		"lines": func() error {
			lines, err := artifact.NewLineReader(reader, 0)
			if err != nil {
				return err
			}
			_, err = lines.LineCount(t.Context())
			return err
		},
	} {
		var err error
		allocated := allocs.Bytes(func() { err = ask() })
		require.NoError(t, err, name)
		assert.Less(t, allocated, uint64(1<<20), name)
	}
}

// A line that is not asked for is not held, however long it is. A line that is too long for an
// answer is not read to its end.
func TestLongLinesAreNotHeld(t *testing.T) {
	allocs.Countable(t)
	body := strings.Repeat("x", 20<<20) + "\nERROR second\nthird"
	read := 0
	media := made(t, artifact.Text, body).WithReader(adk.MediaFunc(func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(&counting{strings.NewReader(body), &read}), nil
	}))
	a, err := artifact.Open(&reading{}, media, artifact.Config{})
	require.NoError(t, err)
	_, err = a.Head(t.Context(), 1)
	assert.ErrorIs(t, err, adk.E_ARTIFACT_FORMAT)
	assert.Less(t, read, 9<<20)
	var found []string
	allocated := allocs.Bytes(func() { found, err = a.Cat(t.Context(), new(1), new(3)) })
	require.NoError(t, err)
	assert.Equal(t, []string{"ERROR second", "third"}, found)
	assert.Less(t, allocated, uint64(1<<20))
}

// counting counts the bytes that were read.
type counting struct {
	io.Reader
	read *int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	*c.read += n
	return n, err
}
