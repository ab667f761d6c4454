package artifact_test

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
)

// What questions to a body in a directory cost, beside reading it: head, tail, grep and
// the counting of lines stream at 500 MB/s and hold less than 1 MiB. Those that go over
// all of it hash it on the way, so that they notice another body.
func BenchmarkStream(b *testing.B) {
	spool, err := artifact.NewDirSpool(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = spool.Close() }()
	const size = 64 << 20
	line := "2026-03-15T12:00:00Z info node 7: all is well, nothing to be seen here, go on\n"
	entry, err := spool.Write(b.Context(), "large", strings.NewReader(strings.Repeat(line, size/len(line))))
	if err != nil {
		b.Fatal(err)
	}
	reader, _, err := spool.Read(b.Context(), "large")
	if err != nil {
		b.Fatal(err)
	}
	media, err := artifact.New(artifact.Init{ID: "x", Flavour: artifact.TextFlavour, Filename: "x", Reader: reader, TrustTier: adk.TrustFirstParty, Known: &entry})
	if err != nil {
		b.Fatal(err)
	}
	a, err := artifact.Open(b.Context(), &reading{}, media, artifact.Config{})
	if err != nil {
		b.Fatal(err)
	}
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
	bench("head", 10*int64(len(line)), func() error { _, err := a.Head(b.Context(), 10); return err })
	bench("tail", 10*int64(len(line)), func() error { _, err := a.Tail(b.Context(), 10); return err })
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
