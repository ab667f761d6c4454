package trace_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// delta is the most frequent line of a streaming model.
func delta() *adk.Crossing {
	return &adk.Crossing{Kind: adk.KindReportMessage, At: tracetest.TestStart, Call: 7, Name: "m1", Text: "some words "}
}

func perSecond(b *testing.B, lines int) {
	b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}

func BenchmarkEncodeDeltas(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := trace.NewWriter(io.Discard, tracetest.TestHeader)
				for c, i := delta(), 0; i < n; i++ {
					c.At = c.At.Add(1500)
					_ = w.Write(c)
				}
				require.NoError(b, w.Close())
			}
			perSecond(b, n)
		})
	}
}

func BenchmarkDecodeDeltas(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var out bytes.Buffer
			w := trace.NewWriter(&out, tracetest.TestHeader)
			for c, i := delta(), 0; i < n; i++ {
				c.At = c.At.Add(1500)
				_ = w.Write(c)
			}
			require.NoError(b, w.Close())
			b.ReportAllocs()
			b.SetBytes(int64(out.Len()))
			for b.Loop() {
				r, err := trace.NewReader(bytes.NewReader(out.Bytes()))
				require.NoError(b, err)
				for err == nil {
					_, err = r.Next()
				}
				require.Equal(b, io.EOF, err)
			}
			perSecond(b, n)
		})
	}
}
