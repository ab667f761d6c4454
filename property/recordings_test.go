package property_test

import (
	"bytes"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// recording is the content of a turn's trace.
type recording struct {
	name  string
	info  adk.RunInfo
	lines []adk.Crossing
}

// recordings returns the fixtures.
func recordings(t testing.TB) (all []recording) {
	t.Helper()
	names, err := fs.Glob(fixtures.Traces, "*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		data, err := fixtures.Traces.ReadFile(name)
		require.NoError(t, err)
		recorded, err := trace.Read(bytes.NewReader(data))
		require.NoError(t, err, name)
		one := recording{name: strings.TrimSuffix(name, ".jsonl"), info: recorded.Info}
		for _, l := range recorded.Lines() {
			one.lines = append(one.lines, l.Crossing)
		}
		all = append(all, one)
	}
	return all
}

// recorded returns the fixture of this name.
func recorded(t testing.TB, name string) recording {
	t.Helper()
	for _, r := range recordings(t) {
		if r.name == name {
			return r
		}
	}
	t.Fatalf("there is no fixture %s", name)
	return recording{}
}

// find returns the index of the n-th crossing of this kind and phase, counted from 0.
func (r *recording) find(kind adk.Kind, phase adk.Phase, n int) int {
	for i, x := range r.lines {
		if x.Kind != kind || x.Phase != phase {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	panic("there is no such " + kind.String())
}

func (r *recording) at(kind adk.Kind, phase adk.Phase, n int) *adk.Crossing {
	return &r.lines[r.find(kind, phase, n)]
}

// called returns the index of the n-th call of a seam with this label.
func (r *recording) called(label string, n int) int {
	for i, x := range r.lines {
		if x.Kind != adk.KindCall || x.Seam.Label != label {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	panic("there is no call of " + label)
}

func (r *recording) drop(at int) { r.lines = slices.Delete(r.lines, at, at+1) }

// insert inserts crossings at an index, with the time of the crossing that is there.
func (r *recording) insert(at int, more ...adk.Crossing) {
	for i := range more {
		more[i].At = r.lines[min(at, len(r.lines)-1)].At
	}
	r.lines = slices.Insert(r.lines, at, more...)
}

// told renumbers the crossings and returns them, so that an edit can be noticed only by what the crossings
// mean.
func (r *recording) told() iter.Seq[*adk.Crossing] {
	for i := range r.lines {
		r.lines[i].Seq = i + 1
	}
	return inOrder(r.lines)
}

func inOrder(lines []adk.Crossing) iter.Seq[*adk.Crossing] {
	return func(yield func(*adk.Crossing) bool) {
		for i := range lines {
			if !yield(&lines[i]) {
				return
			}
		}
	}
}
