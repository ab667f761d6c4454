package tape_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/tape"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// recorded are the crossings of a recorded run.
func recorded(t *testing.T) (want []*adk.Crossing) {
	shape, ok := large.Named("stream")
	require.True(t, ok)
	read, err := trace.Read(bytes.NewReader(shape.Trace(100)))
	require.NoError(t, err)
	for _, line := range read.All() {
		want = append(want, &line.Crossing)
	}
	return want
}

// taped is what a tape keeps of a run with the crossings told, next to the recorded crossings want.
func taped(t *testing.T, want, told []*adk.Crossing) []*adk.Crossing {
	on := tape.New(wire.Comparer{}, want, trace.Options{})
	observer := on.Observe(adk.RunInfo{Executor: "new"})
	for _, x := range told {
		again := *x // the engine reuses one crossing for all
		observer.Tell(&again)
	}
	info, kept, err := on.Run()
	require.NoError(t, err)
	assert.Equal(t, "new", info.Executor)
	return kept
}

// For a crossing that equals the recorded one, the tape keeps the recorded crossing itself, so that the
// two need no comparison. Only differing crossings, and those after the recording's end, are copied.
func TestTapeKeepsWhatWasRecorded(t *testing.T) {
	want := recorded(t)
	assert.Equal(t, same(len(want)), sameAs(want, taped(t, want, want)))
	assert.Empty(t, taped(t, want, nil))

	told := append([]*adk.Crossing(nil), want...)
	at := 0
	for told[at].Text == "" || told[at].Kind.Class() != adk.ClassOperation {
		at++
	}
	other := *told[at]
	other.Text = "something else \xff"
	told[at] = &other
	kept := taped(t, want, told)
	assert.Equal(t, "something else \xff", kept[at].Text, "as a trace gives it back")
	wanted := same(len(want))
	wanted[at] = false
	assert.Equal(t, wanted, sameAs(want, kept))

	half := want[:len(want)/2]
	kept = taped(t, half, want)
	require.Len(t, kept, len(want))
	assert.Equal(t, append(same(len(half)), make([]bool, len(want)-len(half))...), sameAs(want, kept))
}

func same(n int) (all []bool) {
	for range n {
		all = append(all, true)
	}
	return all
}

// sameAs reports for each kept crossing whether it is the wanted one itself.
func sameAs(want, kept []*adk.Crossing) (is []bool) {
	for i, x := range kept {
		is = append(is, x == want[i])
	}
	return is
}

// A value that a trace cannot hold ends the tape, which returns the reason.
func TestTapeSaysWhyItEnds(t *testing.T) {
	on := tape.New(wire.Comparer{}, nil, trace.Options{MaxLine: 64})
	observer := on.Observe(adk.RunInfo{})
	observer.Tell(&adk.Crossing{Seq: 1, Kind: adk.KindReportLog, Text: string(make([]byte, 1000))})
	observer.Tell(&adk.Crossing{Seq: 2, Kind: adk.KindNow})
	_, kept, err := on.Run()
	require.Error(t, err)
	assert.Empty(t, kept, "and nothing is kept behind it")
}

// Lines that are read although they were emitted as recorded, such as calls, are not retained, and
// take no memory of their own: neither their text nor the line.
func TestReadLinesAreLeft(t *testing.T) {
	allocs.Countable(t)
	shape, ok := large.Named("nesting")
	require.True(t, ok)
	read, err := trace.Read(bytes.NewReader(shape.Trace(30_000)))
	require.NoError(t, err)
	var want []*adk.Crossing
	calls := 0
	for i := range read.Lines() {
		x := &read.Lines()[i].Crossing
		if want = append(want, x); x.Kind.Class() == adk.ClassCall {
			calls++
		}
	}
	bytes := allocs.Bytes(func() { assert.Equal(t, same(len(want)), sameAs(want, taped(t, want, want))) })
	assert.Less(t, float64(bytes)/float64(calls), 3_000.0)
}

// Pages return what was written, in pieces of any size, and then report that there is no more yet.
// What was read is no longer held.
func TestPages(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	var pages tape.Pages
	var written, read []byte
	for range 1000 {
		text := make([]byte, draw.IntN(5000))
		if draw.IntN(50) == 0 {
			text = make([]byte, 200_000) // more than a page
		}
		for i := range text {
			text[i] = byte(draw.IntN(256))
		}
		n, err := pages.Write(text)
		require.NoError(t, err)
		require.Equal(t, len(text), n)
		written = append(written, text...)
		into := make([]byte, draw.IntN(10_000))
		n, err = pages.Read(into)
		read = append(read, into[:n]...)
		if err == io.EOF {
			require.Equal(t, len(written), len(read))
		}
	}
	rest, err := io.ReadAll(&pages)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(written, append(read, rest...)))
}
