package distil

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/eachtrace"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

func source(name string, content []byte) corpus.Source {
	return corpus.Source{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	content, err := fixtures.Traces.ReadFile(name + corpus.Ending)
	require.NoError(t, err)
	return content
}

// allFixtures are the traces of all scenarios.
func allFixtures(t testing.TB) (all []corpus.Source) {
	t.Helper()
	found, err := corpus.Sources(fixtures.Traces)
	require.NoError(t, err)
	for _, s := range found {
		all = append(all, source(s.Name, fixture(t, strings.TrimSuffix(s.Name, corpus.Ending))))
	}
	return all
}

func chosen(t testing.TB, o Options, sources ...corpus.Source) *Selection {
	t.Helper()
	choice, err := Choose(context.Background(), sources, o)
	require.NoError(t, err)
	return choice
}

// addsOf lists everything that the chosen traces add.
func addsOf(choice *Selection) (all []string) {
	for _, one := range choice.Chosen {
		all = append(all, one.Adds...)
	}
	slices.Sort(all)
	return all
}

// Data is no behaviour: turns that differ only in their texts, ids and numbers show the same. The
// shortest one is chosen, or the first by name.
func TestDataIsNoBehaviour(t *testing.T) {
	hello := fixture(t, "tool-round-trip")
	other := tracetest.Reseal(t, bytes.NewBuffer(bytes.ReplaceAll(hello, []byte("Oslo"), []byte("Bergen"))).Bytes())
	choice := chosen(t, Options{}, source("b", hello), source("c", other), source("a", other))
	require.Len(t, choice.Chosen, 1)
	assert.Equal(t, "a", choice.Chosen[0].Trace)
	assert.Equal(t, choice.Behaviours, choice.Covered)
	assert.Equal(t, choice.Behaviours, len(addsOf(choice)))
}

// A trace is chosen for an operation in another place, for another order, for a failure, or for
// something that happens more often. The reason is given in words.
func TestBehaviours(t *testing.T) {
	for name, want := range map[string][]string{
		"tool-round-trip": {"fetch messages in turn-input/hydrate", "first, then fetch messages in turn-input/hydrate", "tool/weather in executor/model", "dispatchEnd ack in dispatch",
			"executor/model in dispatch 2 times or more"},
		"tool-failure":       {"execute weather in executor/model fails with E_TOOL_DOWNSTREAM_ERROR", "tool/weather in executor/model ends with error"},
		"executor-panic":     {"executor/model in dispatch ends with panic", "executor/model in dispatch fails with a panic"},
		"storage-failure":    {"store messages in executor/model fails with an error without a code"},
		"asks-again":         {"ask forecasts in tool/weather fails with an error without a code", "ask forecasts, then sleep in tool/weather"},
		"asks-a-model":       {"ask model.example is answered with 200", "ask model.example stops with stop"},
		"gate-approved":      {"turnGateClosed resolved in tool/delete"},
		"abort-by-error":     {"cancel stage in run"},
		"nack-without-words": {"dispatchEnd nack in dispatch"},
	} {
		choice := chosen(t, Options{}, source(name, fixture(t, name)))
		for _, behaviour := range want {
			assert.Contains(t, addsOf(choice), behaviour, name)
		}
	}
	var traces []corpus.Source
	for i := range 3 { // a number behind a name is a counter
		at := tracetest.TestStart
		traces = append(traces, source(fmt.Sprint(i), tracetest.WriteTrace(t,
			adk.Crossing{At: at, Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}},
			adk.Crossing{At: at, Kind: adk.KindFork, Call: 1, ID: 1, Name: fmt.Sprintf("worker %d", i)},
			adk.Crossing{At: at, Kind: adk.KindReturn, ID: 1, Outcome: adk.OutcomeOK})))
	}
	assert.Len(t, chosen(t, Options{}, traces...).Chosen, 1)
}

// The chosen traces show everything that any trace shows, and none of them can be left out. The
// choice does not depend on the order of the traces.
func TestChoiceCoversAll(t *testing.T) {
	all := allFixtures(t)
	choice := chosen(t, Options{}, all...)
	assert.Equal(t, choice.Behaviours, choice.Covered)
	assert.Empty(t, choice.Left)
	assert.Less(t, len(choice.Chosen), len(all))
	for i, one := range choice.Chosen {
		assert.NotEmpty(t, one.Adds, one.Trace)
		if i > 0 {
			assert.LessOrEqual(t, len(one.Adds), len(choice.Chosen[i-1].Adds), "the one that adds most is first")
		}
	}
	var kept []corpus.Source
	for _, one := range choice.Chosen {
		at := slices.IndexFunc(all, func(s corpus.Source) bool { return s.Name == one.Trace })
		kept = append(kept, all[at])
	}
	again := chosen(t, Options{}, kept...)
	assert.Equal(t, choice.Behaviours, again.Behaviours)
	assert.Len(t, again.Chosen, len(kept), "each is needed")
	slices.Reverse(all)
	assert.Equal(t, choice, chosen(t, Options{}, all...))
}

// If fewer traces are kept than needed, those are chosen that show the most, and the rest is reported.
func TestKeep(t *testing.T) {
	all := allFixtures(t)
	whole := chosen(t, Options{}, all...)
	before := 0
	for _, keep := range []int{1, 3, 10} {
		choice := chosen(t, Options{Keep: keep}, all...)
		assert.Len(t, choice.Chosen, keep)
		assert.Equal(t, whole.Behaviours, choice.Covered+len(choice.Left))
		assert.Greater(t, choice.Covered, before)
		before = choice.Covered
		assert.Equal(t, whole.Missing, choice.Missing)
	}
	assert.Equal(t, whole, chosen(t, Options{Keep: 1000}, all...))
}

// Behaviour that no trace shows is reported: what could be entered or called, and what never fails.
func TestMissing(t *testing.T) {
	choice := chosen(t, Options{}, source("a", fixture(t, "tool-round-trip")))
	assert.Contains(t, choice.Missing, "tool/weather never fails")
	assert.Contains(t, choice.Missing, "no dispatch ends with nack")
	assert.NotContains(t, choice.Missing, "no dispatch ends with ack")
	choice = chosen(t, Options{}, source("a", fixture(t, "tool-round-trip")), source("b", fixture(t, "tool-failure")), source("c", fixture(t, "failure-turn-input")))
	assert.NotContains(t, choice.Missing, "tool/weather never fails")
	choice = chosen(t, Options{}, source("a", fixture(t, "short-circuit-turn-input")))
	assert.Contains(t, choice.Missing, "turn-input/unreached is never entered")
	choice = chosen(t, Options{}, source("a", fixture(t, "hello")), source("b", fixture(t, "forged-tools")))
	assert.Contains(t, choice.Missing, "tool/artifact_cat is never called")
}

// A trace that breaks off, or a file that is no trace, is not chosen, and does not keep others from being chosen.
func TestTracesThatBreakOff(t *testing.T) {
	whole := fixture(t, "tool-round-trip")
	faults := map[string]error{}
	choice := chosen(t, Options{Options: eachtrace.Options{Each: func(name string, err error) { faults[name] = err }}},
		source("half", whole[:bytes.LastIndexByte(whole[:len(whole)-90], '\n')+1]), source("none", []byte("x\n")), source("whole", whole))
	assert.Equal(t, []int{3, 2, 1}, []int{choice.Traces, choice.Unreadable, len(choice.Chosen)})
	assert.ErrorContains(t, faults["half"], "cut short")
	assert.Error(t, faults["none"])
	assert.NoError(t, faults["whole"])
}

func TestChooseIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	hello := source("hello", fixture(t, "hello"))
	choice, err := Choose(ctx, []corpus.Source{hello, hello}, Options{Options: eachtrace.Options{Each: func(string, error) { cancel(io.ErrNoProgress) }}})
	assert.ErrorIs(t, err, io.ErrNoProgress)
	assert.Nil(t, choice)
}

// drawn draws a set of traces and what each of them shows.
func drawn(t *rapid.T) *collection {
	all := newCollection()
	for i := range rapid.IntRange(1, 12).Draw(t, "traces") {
		shown := map[string]bool{}
		for _, one := range rapid.SliceOfN(rapid.IntRange(0, 9), 1, 6).Draw(t, "shown") {
			shown[fmt.Sprint(one)] = true
		}
		all.add(candidate{name: fmt.Sprint(i), crossings: rapid.IntRange(1, 3).Draw(t, "crossings")}, shown)
	}
	return all
}

// The cover shows everything, none of it can be left out, and it is at most as much larger than
// the smallest cover as a greedy algorithm guarantees.
func TestCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawn(t)
		cover := all.needed(all.greedy(len(all.shortest)))
		for i, c := range cover {
			require.False(t, slices.ContainsFunc(cover[:i], func(o candidate) bool { return o.name == c.name }))
		}
		require.NotContains(t, shownBy(all, cover), false)
		for i := range cover {
			require.Positive(t, cover[i].adds(shownBy(all, slices.Delete(slices.Clone(cover), i, i+1))), "%s can go", cover[i].name)
		}
		require.LessOrEqual(t, len(cover), 2*smallest(all), "a harmonic number of six is 2.45")
	})
}

// shownBy is everything that some traces show.
func shownBy(all *collection, some []candidate) []bool {
	covered := make([]bool, len(all.behaviours))
	for _, c := range some {
		for _, number := range c.shows {
			covered[number] = true
		}
	}
	return covered
}

// smallest is the size of the smallest cover, found by trying all.
func smallest(all *collection) int {
	var sets []uint
	for _, c := range all.shortest {
		var set uint
		for _, number := range c.shows {
			set |= 1 << number
		}
		sets = append(sets, set)
	}
	best := len(sets)
	for some := range uint(1) << len(sets) {
		var union uint
		n := 0
		for i, set := range sets {
			if some>>i&1 == 1 {
				union, n = union|set, n+1
			}
		}
		if union == 1<<len(all.behaviours)-1 {
			best = min(best, n)
		}
	}
	return best
}

// The memory in use does not grow with the number of traces, as long as they show nothing new.
func TestMemoryIsFlat(t *testing.T) {
	all := allFixtures(t)
	held := func(times int) []int {
		c := newCollection()
		_, unreadable, err := eachtrace.Read(t.Context(), slices.Repeat(all, times), eachtrace.Options{}, c.read)
		require.NoError(t, err)
		require.Zero(t, unreadable)
		return []int{len(c.shortest), len(c.behaviours), len(c.numbers), len(c.seen.known), len(c.seen.calls), len(c.seen.ends), len(c.seen.asked)}
	}
	assert.Equal(t, held(1), held(5))
}

// BenchmarkTenThousand chooses among ten thousand traces of all kinds.
func BenchmarkTenThousand(b *testing.B) {
	all := allFixtures(b)
	sources := slices.Repeat(all, 10_000/len(all)+1)[:10_000]
	for b.Loop() {
		choice := chosen(b, Options{Keep: 50}, sources...)
		b.ReportMetric(float64(choice.Covered)/float64(choice.Behaviours)*100, "%covered")
	}
}
