package trace_test

import (
	"bytes"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// FuzzUnpack reads any bytes that begin like a compressed trace: the result is a trace, or an
// error of the file. Bytes after a whole trace do not make it a different trace.
func FuzzUnpack(f *testing.F) {
	pack, err := zstd.NewWriter(nil)
	require.NoError(f, err)
	for _, name := range []string{"hello", "parallel-tools"} {
		f.Add(pack.EncodeAll(tracetest.FixtureNamed(f, name).Bytes, nil)[4:])
	}
	f.Add(pack.EncodeAll(bytes.Repeat([]byte(" "), 1<<20), nil)[4:])
	hello := tracetest.FixtureNamed(f, "hello")
	whole := pack.EncodeAll(hello.Bytes, nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		options := trace.Options{MaxLine: 1 << 20, MaxBytes: 1 << 22}
		packed := append(bytes.Clone(whole[:4]), data...)
		if _, err := trace.Read(bytes.NewReader(packed), options); err != nil {
			require.ErrorAs(t, err, new(*trace.FormatError))
		}
		recorded, err := trace.Read(bytes.NewReader(append(bytes.Clone(whole), packed...)), options)
		if err != nil {
			require.ErrorAs(t, err, new(*trace.FormatError))
		}
		require.NotNil(t, recorded)
		assert.Len(t, recorded.Lines(), len(hello.Trace.Lines()))
	})
}
