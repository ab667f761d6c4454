package replay_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/scenarios"
)

// unnoticedInLive are the edits of lines of live seams that a replay need
// not notice, although the code of the seams ran: the kind of the line
// and the field, or the edit of the whole line, and the reason. For lines
// of scripted seams and of the engine, the reasons in unrepeated apply.
var unnoticedInLive = reasons(map[string][]string{
	"a time: the clock is scripted, and between two lines it may stand anywhere": {
		"return at", "sleep begin at", "sleep done at", "wait begin at", "turnGateClosed at"},
	"an id that live code makes is another in every run, and here nothing repeats it": {
		"report-message id", "remove key"},
	"an id that nothing repeats: payloads that carry it are derived and not written": {
		"dispatchStart dispatch"},
	"what a recorded media held: live code reads it from the recording, and what it makes of that is said elsewhere": {
		"open-media done bytes"},
	"what the world answered at last: live code may make the same of it": {
		"ask done answer", "ask done err"},
	"which of two strands goes first": {
		"wait begin swapped", "return swapped", "sleep begin swapped", "turnGateOpen swapped"},
	"between which crossings the caller's context ended": {
		"message swapped", "call swapped"},
	"what user code did behind an opening, the media's reader may have done within": {
		"open-media done swapped"},
})

// A normal run tries one edit in sampledLive.
const sampledLive = 128

// An edited file with a valid footer is noticed when it is replayed with the
// real code of its scenario, whichever seams are live: both edits of scripted
// seams and edits of what live code does again. A normal run tries a sample,
// each edit with another choice of live seams. With the environment variable
// of the engine's mutants, all edits are tried with all choices.
func TestMutationInFilesIsNoticedLive(t *testing.T) {
	t.Parallel()
	every := tracetest.AllMutants()
	unused := maps.Clone(unnoticedInLive)
	counts := make([]*liveCount, len(seamSets))
	for i, seams := range seamSets {
		counts[i] = &liveCount{seams: seams, byField: map[string]int{}, unused: unused}
	}
	tracetest.ForEachFixture(t, func(t *testing.T, f tracetest.Fixture) {
		scenario, found := scenarios.Named(f.Name)
		require.True(t, found, "the scenario that the fixture was recorded of")
		next := len(f.Name)
		tracetest.Mutants(f, sampledLive, func(m tracetest.Mutant) {
			next++
			for i, c := range counts {
				if every || i == next%len(counts) {
					c.add(t, m, liveNotices(t, scenario, c.seams, m))
				}
			}
		})
	})
	for _, c := range counts {
		t.Log(c)
	}
	if every {
		assert.Empty(t, unused, "on the list, and always noticed")
	} else {
		t.Logf("a sample, one of %d: `make mutants` (%s=all) tries all", sampledLive, tracetest.MutantsVariable)
	}
}

// liveCount counts the mutants of one choice of live seams.
type liveCount struct {
	seams          []string
	tried, noticed int
	byField        map[string]int    // the mutants that were not noticed
	unused         map[string]string // the reasons that have not been needed yet
}

// countingLive guards the counts: fixtures are tried in parallel.
var countingLive sync.Mutex

func (c *liveCount) String() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(c.byField)) {
		list = append(list, fmt.Sprintf("%s %d", name, c.byField[name]))
	}
	return fmt.Sprintf("mutations in files, live %s: %d tried, %d noticed, %d with a reason (by kind: %s)",
		strings.Join(c.seams, " "), c.tried, c.noticed, c.tried-c.noticed, strings.Join(list, ", "))
}

// add counts a mutant. A mutant that was not noticed needs a reason.
func (c *liveCount) add(t *testing.T, m tracetest.Mutant, noticed bool) {
	countingLive.Lock()
	defer countingLive.Unlock()
	c.tried++
	if noticed {
		c.noticed++
		return
	}
	name := m.Kind + " " + cmp.Or(m.Field, m.What)
	c.byField[name]++
	list, said := unrepeated, "what need not be"
	if m.Line >= 0 && isOfLive(m.Fixture.Trace.Lines()[m.Line], liveCalls(m.Fixture, c.seams)) {
		list, said = unnoticedInLive, "what need not be in live code"
		delete(c.unused, name)
	}
	if list[name] == "" && !m.IsBetween() && !m.IsBehind() {
		t.Errorf("%s: not noticed, and on no list of %s", m, said)
	}
	if !m.Input && !m.IsBehind() {
		t.Errorf("%s: not noticed, and the engine decided it", m)
	}
}

// isOfLive reports whether a line belongs to a live call. A settlement, a cancel and a contained
// panic come from outside, whomever they reach.
func isOfLive(line trace.Line, live map[int]bool) bool {
	switch {
	case line.Kind.Class() == adk.ClassFact:
		return false
	case line.Kind == adk.KindCall || line.Kind == adk.KindReturn:
		return live[line.ID]
	}
	return live[line.Call]
}

// liveCalls are the calls of a recorded turn that live code makes
// again. The strands that a live seam forks, what it registers, and
// the dispatches that it calls are live exactly if the seam is.
func liveCalls(f tracetest.Fixture, seams []string) map[int]bool {
	takes := func(seam adk.Seam) bool {
		return slices.ContainsFunc(seams, func(pattern string) bool {
			matched, _ := path.Match(pattern, seam.Label+"/"+seam.Name)
			return matched || pattern == replay.Everything
		})
	}
	scenario, _ := scenarios.Named(f.Name)
	config, _ := scenario.Build(scenarios.Outside{Cancel: func(error) {}})
	brought := map[string]bool{} // the tools that belong to user code
	for _, tool := range config.Tools {
		brought[tool.Name()] = true
	}
	handlers := map[string]bool{}                // the handlers for an ack that live code registers
	live, below := map[int]bool{}, map[int]int{} // below: for a call, the dispatch above it that user code called
	for _, x := range f.Trace.Lines() {
		switch x.Kind {
		case adk.KindRegister:
			brought[x.Record.(*adk.Tool).Name()] = brought[x.Record.(*adk.Tool).Name()] || live[x.Call]
		case adk.KindOnAck:
			handlers[x.Name] = live[x.Call]
		}
		if x.Kind != adk.KindCall {
			continue
		}
		below[x.ID] = below[x.Call]
		switch x.Seam.Label {
		case adk.LabelRun:
		case adk.LabelDispatch:
			if x.Seam.Name != "" {
				live[x.ID], below[x.ID] = live[x.Call], x.ID
			}
		case adk.LabelStrand:
			live[x.ID] = live[x.Call]
		case adk.LabelOnAck:
			live[x.ID] = handlers[x.Seam.Name]
		case adk.LabelTool:
			live[x.ID] = takes(x.Seam) && brought[x.Seam.Name]
		default:
			live[x.ID] = takes(x.Seam)
			if dispatch := below[x.ID]; dispatch != 0 {
				live[x.ID] = live[dispatch]
			}
		}
	}
	return live
}

// liveNotices writes a mutant with a valid footer, verifies it with the code of its scenario, and
// reports whether the replay noticed the edit.
func liveNotices(t *testing.T, s scenarios.Scenario, seams []string, m tracetest.Mutant) bool {
	var file bytes.Buffer
	if _, err := m.Trace().WriteTo(&file); err != nil {
		return true // cannot be written to a file
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience.Long)
	defer cancel()
	config, raw := s.Build(scenarios.Outside{Cancel: func(error) {}})
	report, err := replay.Verify(ctx, &file, replay.Live{Config: config, Turn: raw, Seams: seams, Writes: true})
	require.NoError(t, ctx.Err(), "%s: the replay did not end", m)
	return err != nil || report.Divergence != nil
}
