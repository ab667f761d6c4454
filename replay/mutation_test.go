package replay_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// A normal run tries one edit in sampledInMemory in memory.
const sampledInMemory = 24

// Two recordings that differ in one field of one line, or in one
// line, are distinguished, and the divergence is at that place. A
// normal run tries a sample; with the variable all edits are tried.
func TestMutationsInMemoryAreNamed(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	tried, noticed := 0, 0
	tracetest.ForEachFixture(t, func(t *testing.T, f tracetest.Fixture) {
		n, seen := 0, 0
		tracetest.Mutants(f, sampledInMemory, func(m tracetest.Mutant) {
			n++
			if wrong := unnamed(m); wrong != "" {
				t.Errorf("%s: %s", m, wrong)
				return
			}
			seen++
		})
		_, _, parts := firstDifference(f.Trace, tracetest.Sealed(f, slices.Clone(f.Trace.Lines())))
		assert.False(t, parts)
		mu.Lock()
		defer mu.Unlock()
		tried, noticed = tried+n, noticed+seen
	})
	t.Logf("mutations: %d tried, %d noticed", tried, noticed)
}

// unnamed returns what a comparison of a fixture and its mutant fails to report.
func unnamed(m tracetest.Mutant) string {
	at, fields, parts := firstDifference(m.Fixture.Trace, m.Trace())
	switch {
	case !parts:
		return "not noticed"
	case at != m.At:
		return fmt.Sprintf("noticed at crossing %d", at)
	case m.Field == "":
		return ""
	case !slices.ContainsFunc(fields, func(f compare.FieldDiff) bool { return f.Field == m.Field }):
		return fmt.Sprintf("noticed as another field: %s", fields)
	}
	return ""
}

// firstDifference returns where two recordings first differ, line by line, and in which fields.
// Crossing 0 stands for the names of the seams, which the headers hold. No engine is involved.
func firstDifference(want, got *trace.Trace) (crossing int, fields []compare.FieldDiff, parts bool) {
	if fields := compare.CompareInfo(want.Header, got.Header); len(fields) > 0 {
		return 0, fields, true
	}
	c := wire.Comparer{Sentinels: wire.OnlyCommon, Format: min(want.Version, got.Version)}
	for i := range min(len(want.Lines()), len(got.Lines())) {
		if fields := compare.Crossings(c, &want.Lines()[i].Crossing, &got.Lines()[i].Crossing); len(fields) > 0 {
			return i + 1, fields, true
		}
	}
	return min(len(want.Lines()), len(got.Lines())) + 1, nil, len(want.Lines()) != len(got.Lines())
}

// unrepeated are inputs that a file may hold in any form, as
// no other crossing repeats them: the kind of the line and
// the field, or the edit of the whole line, and the reason.
var unrepeated = reasons(map[string][]string{
	"an id that nothing repeats: payloads that carry it are derived and not written": {
		"turnStart turn", "dispatchStart dispatch"},
	"a time: the clock is user code's, and between two lines it may stand anywhere": {
		"call at", "return at", "sleep begin at", "sleep done at", "wait begin at", "turnGateClosed at"},
	"how long is asked for is handed to the clock, which is user code's": {
		"sleep begin for", "wait-for begin timeout"},
	"what a model streamed: the event that follows is derived from it, and no record was made of it": {
		"report-message id", "report-message delta", "report-message complete",
		"report-thought id", "report-thought delta", "report-thought complete",
		"report-tool-call args", "report-tool-call complete", "report-tool-call isError", "report-tool-call results",
		"report-log level", "report-log logKind", "report-log message", "report-log payload"},
	"a refused report leaves no trace of its own": {
		"report-message dropped", "report-message twice"},
	"what a storage or a tool answered, where user code did not go on to use it": {
		"return records", "return result"},
	"which media user code opened, and what it found there: what it made of that is said elsewhere": {
		"open-media begin media", "open-media done bytes"},
	"what the world was asked, and what it answered: what user code made of it is said elsewhere": {
		"ask begin of", "ask begin request", "ask begin effect", "ask done answer", "ask done err",
		"piece open", "piece piece", "piece dropped", "piece twice", "piece swapped"},
	"what user code did behind an opening, the media's reader may have done within": {
		"open-media done swapped"},
	"the error of a strand that nobody waits for": {
		"return err"},
	"the described tool, or the spelling of its arguments, where another gives the same execution": {
		"execute begin tool", "execute begin args"},
	"nothing looks at the stash or the tools behind this line": {
		"stash path", "stash value", "stash dropped", "stash twice", "stash swapped", "register swapped", "prune dropped"},
	"what is not there is removed for nothing, whatever it is": {
		"remove of", "remove key", "remove dropped", "remove twice", "remove swapped",
		"unregister tool", "unregister kind", "unregister dropped", "unregister twice", "unregister swapped"},
	"a record in the place of which another is put, or that is removed, before anybody looks": {
		"add record", "add dropped", "add twice"},
	"a tool that is registered once more as it is": {
		"register twice"},
	"a handler that was taken away may have been so before the next was registered": {
		"off-ack swapped", "on-ack swapped"},
	"leave to overwrite, where nothing is overwritten": {
		"register overwrite"},
	"what somebody outside is told, or tells a waiter": {
		"wait-for begin reason", "wait-for begin payload", "wait-for begin schema", "settle by", "settle value"},
	"an offer that was refused leaves its gate as it was": {
		"settle dropped", "settle twice"},
	"a signal that came second changes nothing": {
		"nack cause", "nack dropped", "nack twice", "nack swapped"},
	"what was to be persisted at a flush that never came": {
		"store begin record"},
	"the name that user code gave to a dispatch it called": {
		"call seam"},
	"a handler that never ran": {
		"on-ack name", "on-ack dropped"},
	"an abort is the turn's, as records are, and a nack the dispatch's, through whichever handle it is made": {
		"abort in", "remove in", "nack in"},
	"why the caller's context ended, and between which crossings": {
		"cancel cause", "cancel err", "cancel swapped", "message swapped", "call swapped"},
	"why user code ended a context of its own": {
		"sleep done err"},
	"a listener's panic, which disturbs nobody": {
		"contained text", "contained dropped", "contained twice"},
	"the name of what the turn, or a dispatch in it, never came to": {
		"call seams", "header executor", "header turn-input", "header turn-output", "header dispatch-input", "header dispatch-output"},
	"when to persist, where nothing is persisted": {
		"header writeBehind"},
	"user code may ask for the time or an id as often as it likes": {
		"now dropped", "now twice", "now swapped"},
	"which of two strands goes first": {
		"fork swapped", "wait begin swapped", "return swapped", "sleep begin swapped", "turnGateOpen swapped"},
	"which of two goroutines of user code's own goes first": {
		"add swapped"},
})

func reasons(byReason map[string][]string) map[string]string {
	reasons := map[string]string{}
	for reason, names := range byReason {
		for _, name := range names {
			reasons[name] = reason
		}
	}
	return reasons
}

// A normal run tries one edit in sampledInFiles in a file.
const sampledInFiles = 96

// The replay of an edited file with a valid footer diverges, unless
// the edit concerns an input from user code that no other crossing
// repeats. An edit of what the engine decided is always noticed. A
// normal run tries a sample; with the variable all edits are tried.
func TestMutationInFilesIsNoticed(t *testing.T) {
	t.Parallel()
	every := tracetest.AllMutants()
	var mu sync.Mutex
	tried, noticed := 0, 0
	byField := map[string]int{}
	tracetest.ForEachFixture(t, func(t *testing.T, f tracetest.Fixture) {
		tracetest.Mutants(f, sampledInFiles, func(m tracetest.Mutant) {
			seen := verifyNotices(t, m)
			mu.Lock()
			defer mu.Unlock()
			tried++
			if seen {
				noticed++
				return
			}
			name := m.Kind + " " + cmp.Or(m.Field, m.What)
			byField[name]++
			if unrepeated[name] == "" && !m.IsBetween() && !m.IsBehind() {
				t.Errorf("%s: not noticed, and on no list of what need not be", m)
			}
			if !m.Input && !m.IsBehind() {
				t.Errorf("%s: not noticed, and the engine decided it", m)
			}
		})
	})
	var list []string
	for _, name := range slices.Sorted(maps.Keys(byField)) {
		list = append(list, fmt.Sprintf("%s %d", name, byField[name]))
	}
	for name := range unrepeated {
		if every {
			assert.Contains(t, byField, name, "on the list, and always noticed")
		}
	}
	if !every {
		t.Logf("a sample: `make mutants` (%s=all) tries all", tracetest.MutantsVariable)
	}
	t.Logf("mutations in files: %d tried, %d noticed, %d unrepeated inputs (by kind: %s)",
		tried, noticed, tried-noticed, strings.Join(list, ", "))
}

// verifyNotices writes a mutant with a valid footer, verifies it, and reports whether the edit is noticed.
func verifyNotices(t *testing.T, m tracetest.Mutant) bool {
	var file bytes.Buffer
	if _, err := m.Trace().WriteTo(&file); err != nil {
		return true // cannot be written to a file
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience.Long)
	defer cancel()
	report, err := replay.Verify(ctx, &file, replay.Live{})
	require.NoError(t, ctx.Err(), "%s: the replay did not end", m)
	return err != nil || report.Divergence != nil
}
