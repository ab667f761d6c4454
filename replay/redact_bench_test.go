package replay

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// BenchmarkRedact measures the cost of redaction in addition to that of writing.
func BenchmarkRedact(b *testing.B) {
	file, err := fixtures.Traces.ReadFile("tool-round-trip.jsonl")
	require.NoError(b, err)
	recorded, err := trace.Read(bytes.NewReader(file))
	require.NoError(b, err)
	rules, err := redacting.Compile(redact.UsualSecrets())
	require.NoError(b, err)
	writers := map[string]func() crossingWriter{
		"plain": func() crossingWriter { return trace.NewWriter(io.Discard, recorded.Header) },
		"usual": func() crossingWriter { return redacting.NewWriter(io.Discard, recorded.Header, rules, trace.Options{}) },
	}
	for _, name := range []string{"plain", "usual"} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				w := writers[name]()
				for i := range recorded.Lines() {
					require.NoError(b, w.Write(&recorded.Lines()[i].Crossing))
				}
				require.NoError(b, w.Close())
			}
		})
	}
}
