package corpus_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/replay/corpus"
)

// of is the report of a shard, with the sessions of one folder.
func of(index int, s *corpus.SessionsReport) *corpus.Report {
	return &corpus.Report{Format: corpus.Format, Shard: &corpus.Shard{Index: index, Count: 2}, Traces: []*corpus.TraceReport{}, Causes: []*corpus.CauseReport{},
		Sessions: []*corpus.SessionsReport{s}}
}

// The merged report holds the sessions of all shards, ordered by folder, and names their faults in
// every output form.
func TestMergeOfSessions(t *testing.T) {
	parted := &corpus.SessionsReport{Folder: "b", Number: 2, Journals: []corpus.JournalReport{{Journal: "b/x.jsonl"}},
		Divergences: []corpus.SessionDivergence{{Class: "commit", Session: "s", Journal: "b/x.jsonl", Line: 7, Text: "commit at b/x.jsonl:7: no\nmore"}}}
	broken := &corpus.SessionsReport{Folder: "a", Number: 1, Journals: []corpus.JournalReport{{Journal: "a/x.jsonl", Error: "a/x.jsonl:3: cut"}}, Errors: []string{"gone"}}
	merged, err := corpus.Merge(of(2, parted), of(1, broken))
	require.NoError(t, err)
	assert.Equal(t, []*corpus.SessionsReport{broken, parted}, merged.Sessions)
	divergent, unreadable := merged.OfSessions()
	assert.Equal(t, []int{1, 2}, []int{divergent, unreadable})
	require.Error(t, merged.Err())
	assert.Contains(t, merged.Err().Error(), "unreadable a/x.jsonl:3: cut\nunreadable gone\nsession divergence: commit at b/x.jsonl:7: no\\nmore\n")

	var junit, annotations, document bytes.Buffer
	require.NoError(t, merged.WriteJUnit(&junit))
	assert.Contains(t, junit.String(), `tests="3" failures="1" errors="2"`)
	require.NoError(t, merged.WriteAnnotations(&annotations))
	assert.Equal(t, "::error file=a,title=unreadable::a/x.jsonl:3: cut\n::error file=a,title=unreadable::gone\n::error file=b/x.jsonl,line=7,title=commit::commit at b/x.jsonl:7: no%0Amore\n", annotations.String())
	require.NoError(t, merged.WriteJSON(&document))
	again, err := corpus.ReadReport(&document)
	require.NoError(t, err)
	assert.Equal(t, merged.Sessions, again.Sessions)

	_, err = corpus.ReadReport(bytes.NewReader([]byte(`{"format":1,"sessions":[null]}`)))
	assert.ErrorContains(t, err, "a folder of sessions that is null")
}
