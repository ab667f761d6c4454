package trace_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// asVersion is a trace written in a version of the format.
func asVersion(t *testing.T, recorded *trace.Trace, version int) []byte {
	t.Helper()
	copied := *recorded
	copied.Version = version
	var out bytes.Buffer
	_, err := copied.WriteTo(&out)
	require.NoError(t, err)
	return out.Bytes()
}

// states are the digests of the states in a file.
func states(file []byte) (digests []string) {
	for line := range strings.Lines(string(file)) {
		if _, digest, ok := strings.Cut(line, `"digest":`); ok && strings.Contains(line, `"kind":"state"`) {
			digests = append(digests, digest)
		}
	}
	return digests
}

func ofStates(read *trace.Trace) (digests []adk.Digest) {
	for i := range read.Lines() {
		if x := &read.Lines()[i].Crossing; x.Kind == adk.KindState {
			digests = append(digests, x.Digest)
		}
	}
	return digests
}

// DET-8: version 4 computed the digest of a state differently. A reader returns today's digests
// for every version, and writing the trace again restores the old ones. This is tested in both
// directions, also with recordings of engines of that time.
func TestDigestsOfFormerVersions(t *testing.T) {
	frozen := func(name string) []byte {
		file, err := fixtures.Frozen.ReadFile("frozen/" + name)
		require.NoError(t, err)
		return file
	}
	for was, is := range map[string]string{
		"v1/stash.jsonl": "v5/stash.jsonl", "v4/long-history.jsonl.zst": "v5/long-history.jsonl.zst", "v4/hello.jsonl": "v5/hello.jsonl",
	} {
		then, now := tracetest.ReadTrace(t, frozen(was)), tracetest.ReadTrace(t, frozen(is))
		assert.Equal(t, ofStates(now), ofStates(then), was)
		assert.Equal(t, states(asVersion(t, now, 5)), states(asVersion(t, then, 5)), was)
		assert.Equal(t, states(asVersion(t, then, 4)), states(asVersion(t, now, 4)), was)
		if was != "v4/hello.jsonl" { // the others have a stash, or enough records for a block
			assert.NotEqual(t, states(asVersion(t, then, 4)), states(asVersion(t, now, 5)), was)
		}
	}
}

// DET-8: a wrong digest in a trace of a former version is read and written again unchanged, and is
// found.
func TestWrongDigestsOfFormerVersions(t *testing.T) {
	recorded := tracetest.ReadTrace(t, asVersion(t, stashed(t), 4))
	for i := range recorded.Lines() {
		x := &recorded.Lines()[i].Crossing
		if x.Kind != adk.KindState {
			continue
		}
		right := x.Digest
		x.Digest[0]++
		file := asVersion(t, recorded, 4)
		read := tracetest.ReadTrace(t, file)
		assert.Equal(t, x.Digest, read.Lines()[i].Digest)
		assert.Equal(t, string(file), string(asVersion(t, read, 4)))
		report, err := replay.Verify(context.Background(), bytes.NewReader(file), replay.Live{})
		require.NoError(t, err)
		if assert.NotNil(t, report.Divergence) {
			assert.Equal(t, i+1, report.Divergence.Crossing)
		}
		x.Digest = right
	}
}

func stashed(t *testing.T) *trace.Trace {
	file, err := fixtures.Traces.ReadFile("stash.jsonl")
	require.NoError(t, err)
	return tracetest.ReadTrace(t, file)
}
