package replay

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fixtures"
)

// What redacting costs beside writing alone.
func BenchmarkRedact(b *testing.B) {
	file, err := fixtures.Traces.ReadFile("tool-round-trip.jsonl")
	require.NoError(b, err)
	trace, err := ReadTrace(bytes.NewReader(file))
	require.NoError(b, err)
	rules, err := compileRedaction(UsualSecrets())
	require.NoError(b, err)
	writers := map[string]func() crossingWriter{
		"plain": func() crossingWriter { return NewWriter(io.Discard, trace.Header) },
		"usual": func() crossingWriter { return newRedactingWriter(io.Discard, trace.Header, rules, Options{}) },
	}
	for _, name := range []string{"plain", "usual"} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				w := writers[name]()
				for i := range trace.Lines {
					require.NoError(b, w.Write(&trace.Lines[i].Crossing))
				}
				require.NoError(b, w.Close())
			}
		})
	}
}
