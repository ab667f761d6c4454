package corpus_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// otherwise makes files that all have the same divergence.
func otherwise(t *testing.T, names ...string) (files []string) {
	t.Helper()
	content, err := fixtures.Traces.ReadFile("hello.jsonl")
	require.NoError(t, err)
	other := strings.Replace(string(content), `"iterations":1`, `"iterations":2`, 1)
	home := t.TempDir()
	for _, name := range names {
		file := filepath.Join(home, name)
		require.NoError(t, os.WriteFile(file, tracetest.Reseal(t, []byte(other)), 0o600))
		files = append(files, file)
	}
	return files
}

// otherReport is a report on such files.
func otherReport(t *testing.T, files ...string) *corpus.Report {
	t.Helper()
	var sources []corpus.Source
	for _, file := range files {
		sources = append(sources, corpus.Source{Name: file, Open: func() (io.ReadCloser, error) { return os.Open(file) }})
	}
	report, err := corpus.Verify(t.Context(), sources, nil)
	require.NoError(t, err)
	require.Equal(t, len(files), report.Divergent)
	return report
}

func meant(t *testing.T) *corpus.Acceptance {
	t.Helper()
	a, err := corpus.NewAcceptance("Meant.", time.Now(), nobodysEnv)
	require.NoError(t, err)
	return a
}

// If a file was accepted or rewritten after the report, Accept refuses it, as its current content
// was not shown. The content that go test remembers is the content that it verified.
func TestAcceptedIsWhatWasShown(t *testing.T) {
	file := otherwise(t, "a.jsonl")[0]
	one, another := otherReport(t, file), otherReport(t, file)
	pending := another.Pending(t.Context(), nil)
	require.NoError(t, one.Accept(t.Context(), meant(t), nil)[0].Refused)
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	reason, err := os.ReadFile(file + corpus.ReasonEnding)
	require.NoError(t, err)

	require.NoError(t, pending[0].Keep(t.TempDir()))
	assert.ErrorContains(t, meant(t).ReplacePending(pending[0]), "it has changed since the check")
	require.NoError(t, os.WriteFile(file, tracetest.Reseal(t, []byte(strings.Replace(string(now), `"iterations":1`, `"iterations":3`, 1))), 0o600))
	assert.ErrorContains(t, another.Accept(t.Context(), meant(t), nil)[0].Refused, "it has changed since it was shown")
	after, err := os.ReadFile(file + corpus.ReasonEnding)
	require.NoError(t, err)
	assert.Equal(t, string(reason), string(after), "a reason is of one change")
}

// If several callers accept the same change concurrently, one of them succeeds, and one reason is kept.
func TestOneAcceptsAtATime(t *testing.T) {
	for range 30 {
		file := otherwise(t, "a.jsonl")[0]
		var reports [4]*corpus.Report // before any of them accepts
		for i := range reports {
			reports[i] = otherReport(t, file)
		}
		var all [len(reports)]error
		var accepting sync.WaitGroup
		for i, report := range reports {
			a := meant(t)
			accepting.Go(func() { all[i] = report.Accept(t.Context(), a, nil)[0].Refused })
		}
		accepting.Wait()
		accepted := 0
		for _, refused := range all {
			if refused == nil {
				accepted++
			}
		}
		assert.Equal(t, 1, accepted)
		reasons, err := os.ReadFile(file + corpus.ReasonEnding)
		require.NoError(t, err)
		assert.Equal(t, 1, strings.Count(string(reasons), " Meant.\n"))
	}
}

// A panic refuses one trace, and the other traces are accepted.
func TestAPanicRefusesOneTrace(t *testing.T) {
	files := otherwise(t, "a.jsonl", "b.jsonl")
	report := otherReport(t, files...)
	results := report.Accept(t.Context(), meant(t), func(name string) replay.Live {
		if name == files[0] {
			panic("no agent")
		}
		return replay.Live{}
	})
	require.Len(t, results, 2)
	panicked := new(adk.PanicError)
	require.ErrorAs(t, results[0].Refused, &panicked)
	assert.Equal(t, "no agent", panicked.Value)
	assert.Contains(t, results[0].Refused.Error(), "accepted_test.go:", "where it happened")
	assert.NoError(t, results[1].Refused)
}
