package corpus_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/livetest"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// reportOf is the JSON of a report with a trace that is the same, and one that is not.
func reportOf(f *testing.F) []byte {
	hello := tracetest.FixtureNamed(f, "hello").Bytes
	lines := strings.Split(strings.TrimSuffix(string(hello), "\n"), "\n")
	report, err := corpus.Verify(f.Context(), []corpus.Source{
		livetest.Source("a.jsonl", hello), livetest.Source("b.jsonl", tracetest.Seal(lines[:12], "")), livetest.Source("c.jsonl", hello[:100]),
	}, nil, corpus.Options{Shard: corpus.Shard{Index: 1, Count: 1}})
	require.NoError(f, err)
	var data bytes.Buffer
	require.NoError(f, report.WriteJSON(&data))
	return data.Bytes()
}

// FuzzReadReport reads any report. An accepted one is the same when it is written and read again,
// can be merged, and is rendered in every form with printable characters only.
func FuzzReadReport(f *testing.F) {
	f.Add(reportOf(f))
	f.Add([]byte(`{"format":1,"corpus":{"traces":1,"sha256":""},"traces":[{"trace":"a\u009b\n","number":1,"crossings":1,"divergence":{"class":"extra","crossing":1,"seam":"x","at":0},"cause":{}}],"causes":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := corpus.ReadReport(bytes.NewReader(data))
		if err != nil {
			assert.Nil(t, report)
			return
		}
		write := func(r *corpus.Report) string {
			var out bytes.Buffer
			require.NoError(t, r.WriteJSON(&out))
			tracetest.RequirePrintable(t, out.String())
			return out.String()
		}
		written := write(report)
		again, err := corpus.ReadReport(strings.NewReader(written))
		require.NoError(t, err)
		assert.Equal(t, written, write(again))
		var out bytes.Buffer
		require.NoError(t, report.WriteAnnotations(&out))
		out.WriteString(report.String())
		tracetest.RequirePrintable(t, out.String())
		junit(t, report)
		_, _ = corpus.Merge(report)
	})
}

// FuzzReferences reads any claims: an error names the file and the line, and accepted claims claim
// something.
func FuzzReferences(f *testing.F) {
	f.Add([]byte(`{"package":"/a","file":"/a/b.golden"}` + "\n" + `{"package":"/a","file":"/a/c.jsonl","partial":"-run ^TestA$"}` + "\n"))
	f.Add([]byte(`{"package":"a","file":"/a"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		folder := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(folder, "a"+corpus.ClaimsEnding), data, 0o600))
		claims, err := corpus.ReadReferences(folder)
		if err != nil {
			assert.True(t, strings.Contains(err.Error(), "a.claims:") || strings.Contains(err.Error(), "no claims in this folder"), err.Error())
			return
		}
		files, packages := claims.Count()
		assert.Positive(t, files)
		assert.Positive(t, packages)
	})
}

// FuzzParseShard reads any text: an accepted shard is a valid one, and its text is parsed as the
// same shard.
func FuzzParseShard(f *testing.F) {
	for _, text := range []string{"3/8", "1/1", "0/0", "9/8", "/n", "1/10001", "-1/2", "+1/2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := corpus.ParseShard(text)
		if err != nil {
			assert.Zero(t, s)
			return
		}
		assert.True(t, 1 <= s.Index && s.Index <= s.Count && s.Count <= 10_000, "%v", s)
		again, err := corpus.ParseShard(s.String())
		require.NoError(t, err)
		assert.Equal(t, s, again)
	})
}
