package corpus_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// BenchmarkVerifyAll verifies ten thousand small traces from a folder.
func BenchmarkVerifyAll(b *testing.B) {
	const traces = 10_000
	folder := b.TempDir()
	all := tracetest.AllFixtures(b)
	for i := range traces {
		path := filepath.Join(folder, fmt.Sprintf("%05d.jsonl", i))
		require.NoError(b, os.WriteFile(path, all[i%len(all)].Bytes, 0o600))
	}
	var size int64
	sources, err := corpus.Sources(os.DirFS(folder))
	require.NoError(b, err)
	for _, s := range sources {
		size += s.Size
	}
	for _, parallel := range []int{1, 2, 4} {
		b.Run(fmt.Sprint("parallel=", parallel), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(size)
			crossings := 0
			for b.Loop() {
				report, err := corpus.Verify(b.Context(), sources, nil, corpus.Options{Parallel: parallel})
				require.NoError(b, err)
				require.NoError(b, report.Err())
				crossings += report.Crossings
			}
			b.ReportMetric(float64(crossings)/b.Elapsed().Seconds(), "crossings/s")
			b.ReportMetric(float64(b.N)*traces/b.Elapsed().Seconds(), "traces/s")
		})
	}
}
