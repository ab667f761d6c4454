package replay_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/replay"
)

// mutantsVariable makes the test try every edit of every fixture.
const mutantsVariable = "ADKREPLAY_MUTANTS"

// fixture is a recorded turn.
type fixture struct {
	name  string
	bytes []byte
	trace *replay.Trace
}

// allFixtures are the embedded traces, read.
func allFixtures(t testing.TB) []fixture {
	names, err := fs.Glob(fixtures.Traces, "*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	all := make([]fixture, len(names))
	for i, name := range names {
		data, err := fixtures.Traces.ReadFile(name)
		require.NoError(t, err)
		trace, err := replay.ReadTrace(bytes.NewReader(data))
		require.NoError(t, err, name)
		all[i] = fixture{strings.TrimSuffix(name, ".jsonl"), data, trace}
	}
	return all
}

// mutant is a fixture with one edit.
type mutant struct {
	fixture fixture
	trace   *replay.Trace
	at      int    // the number of the crossing at which the two part first
	line    int    // the place of the edited line among the lines, -1 for the header
	kind    string // of the edited crossing
	field   string // the field that was edited, empty for an edit of whole lines
	what    string
	input   bool
}

// String says what was edited, and where.
func (m mutant) String() string {
	return fmt.Sprintf("%s: crossing %d, %s %s %s", m.fixture.name, m.at, m.kind, m.field, m.what)
}

// mutants gives every edit of a fixture to yield.
func mutants(f fixture, yield func(mutant)) {
	for i, line := range f.trace.Lines {
		for _, e := range fieldEdits(line.Crossing) {
			lines := slices.Clone(f.trace.Lines)
			lines[i].Crossing = e.edited
			isCause := line.Kind == adk.KindSleep && e.field == "err" // of the context that ended it
			yield(mutant{f, sealed(f, lines), i + 1, i, lineName(&line.Crossing), e.field, e.what, e.input || isCause})
		}
	}
	structuralMutants(f, yield)
	headerMutants(f, yield)
}

// headerMutants rename the executor and every middleware, and take each away.
func headerMutants(f fixture, yield func(mutant)) {
	give := func(field, what string, change func(*adk.RunInfo)) {
		trace := sealed(f, f.trace.Lines)
		change(&trace.Info)
		yield(mutant{f, trace, 0, -1, "header", field, what, true})
	}
	give(adk.LabelExecutor, "renamed", func(info *adk.RunInfo) { info.Executor += "x" })
	give("writeBehind", "flipped", func(info *adk.RunInfo) { info.WriteBehind = !info.WriteBehind })
	give("alone", "flipped", func(info *adk.RunInfo) { info.Alone = !info.Alone })
	for label, of := range map[string]func(*adk.RunInfo) *[]string{
		adk.LabelTurnInput:      func(info *adk.RunInfo) *[]string { return &info.TurnInput },
		adk.LabelTurnOutput:     func(info *adk.RunInfo) *[]string { return &info.TurnOutput },
		adk.LabelDispatchInput:  func(info *adk.RunInfo) *[]string { return &info.DispatchInput },
		adk.LabelDispatchOutput: func(info *adk.RunInfo) *[]string { return &info.DispatchOutput },
	} {
		names := *of(&f.trace.Info)
		give(label, "lengthened", func(info *adk.RunInfo) { *of(info) = append(slices.Clone(names), "x") })
		for i := range names {
			give(label, "shortened", func(info *adk.RunInfo) { *of(info) = slices.Delete(slices.Clone(names), i, i+1) })
			give(label, "renamed", func(info *adk.RunInfo) {
				*of(info) = slices.Clone(names)
				(*of(info))[i] += "x"
			})
		}
	}
}

// structuralMutants drop a line, write it twice, and swap it with the next.
func structuralMutants(f fixture, yield func(mutant)) {
	lines := f.trace.Lines
	give := func(i int, what string, edited []replay.Line) {
		if at := firstDifference(lines, edited); at > 0 {
			yield(mutant{f, sealed(f, edited), at, i, lineName(&lines[i].Crossing), "", what, madeByUser(lines[i:], what)})
		}
	}
	for i := range lines {
		give(i, "dropped", slices.Delete(slices.Clone(lines), i, i+1))
		give(i, "twice", slices.Insert(slices.Clone(lines), i, lines[i]))
		if i+1 < len(lines) {
			swapped := slices.Clone(lines)
			swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
			give(i, "swapped", swapped)
		}
	}
}

// madeByUser reports whether an edit of whole lines is one of what user code or
// the outside did. Which strand goes first is the outside's to say, too.
func madeByUser(lines []replay.Line, what string) bool {
	if what == "swapped" && (fromOutside(&lines[1].Crossing) || lines[0].Strand != lines[1].Strand) {
		return true
	}
	return fromOutside(&lines[0].Crossing)
}

func fromOutside(x *adk.Crossing) bool {
	switch x.Kind {
	case adk.KindCancel, adk.KindSettle, adk.KindContained:
		return true
	}
	return x.Kind.Class() == adk.ClassOperation && x.Phase != adk.Done
}

// lineName is the kind of a line, with its phase.
func lineName(x *adk.Crossing) string {
	if x.Phase == adk.Whole {
		return x.Kind.String()
	}
	return x.Kind.String() + " " + x.Phase.String()
}

// sealed is a trace of other lines under the header of a fixture.
func sealed(f fixture, lines []replay.Line) *replay.Trace {
	return &replay.Trace{Header: f.trace.Header, Lines: lines, Sealed: true}
}

// firstDifference is the number of the first crossing in which two sequences
// differ, and 0 where they are the same.
func firstDifference(want, got []replay.Line) int {
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || !sameLine(want[i], got[i]) {
			return i + 1
		}
	}
	return 0
}

func sameLine(a, b replay.Line) bool {
	a.Seq, b.Seq = 0, 0
	return reflect.DeepEqual(a.Crossing, b.Crossing)
}

// forEachFixture runs test for every fixture, several at a time, and returns
// when all are done.
func forEachFixture(t *testing.T, test func(t *testing.T, f fixture)) {
	t.Run("fixtures", func(t *testing.T) {
		for _, f := range allFixtures(t) {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				test(t, f)
			})
		}
	})
}

// Two recordings that differ in one field of one line, or in one line, are told
// apart, at the very place.
func TestMutationsInMemoryAreNamed(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	tried, noticed := 0, 0
	forEachFixture(t, func(t *testing.T, f fixture) {
		n, seen := 0, 0
		mutants(f, func(m mutant) {
			n++
			if wrong := unnamed(m); wrong != "" {
				t.Errorf("%s: %s", m, wrong)
				return
			}
			seen++
		})
		assert.Nil(t, replay.CompareTraces(f.trace, sealed(f, slices.Clone(f.trace.Lines))))
		mu.Lock()
		defer mu.Unlock()
		tried, noticed = tried+n, noticed+seen
	})
	t.Logf("mutations: %d tried, %d noticed", tried, noticed)
}

// unnamed says what a comparison of a fixture and its mutant fails to say.
func unnamed(m mutant) string {
	d := replay.CompareTraces(m.fixture.trace, m.trace)
	switch {
	case d == nil:
		return "not noticed"
	case d.Crossing != m.at:
		return fmt.Sprintf("noticed at crossing %d", d.Crossing)
	case m.field == "":
		return ""
	case !slices.ContainsFunc(d.Fields, func(f replay.FieldDiff) bool { return f.Field == m.field }):
		return fmt.Sprintf("noticed as another field: %s", d)
	}
	return ""
}

// unrepeated are the inputs that a file may hold in any form, since no other
// crossing says them again: the kind of the line and the field, or the edit of
// the whole line, and why.
var unrepeated = reasons(map[string][]string{
	"an id that nothing repeats: payloads that carry it are derived and not written": {
		"turnStart turn", "dispatchStart dispatch"},
	"a time: the clock is user code's, and between two lines it may stand anywhere": {
		"call at", "return at", "sleep begin at"},
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
	"what user code did behind an opening, the media's reader may have done within": {
		"open-media done swapped"},
	"the error of a strand that nobody waits for": {
		"return err"},
	"the described tool, or the spelling of its arguments, where another gives the same execution": {
		"execute begin tool", "execute begin args"},
	"nothing looks at the stash or the tools behind this line": {
		"stash path", "stash value", "stash dropped", "stash twice", "stash swapped", "register swapped", "prune dropped"},
	"what is not there is removed for nothing, whatever it is": {
		"remove of", "remove key", "remove kind", "remove dropped", "remove twice", "remove swapped",
		"unregister tool", "unregister kind", "unregister dropped", "unregister twice", "unregister swapped"},
	"a handler that was taken away may have been so before the next was registered": {
		"off-ack swapped", "on-ack swapped"},
	"leave to overwrite, where nothing is overwritten": {
		"register overwrite"},
	"what somebody outside is told, or tells a waiter": {
		"wait-for begin reason", "wait-for begin payload", "wait-for begin schema", "settle by", "settle value"},
	"an offer that was refused leaves its gate as it was": {
		"settle dropped", "settle twice"},
	"a signal that came second changes nothing": {
		"nack cause", "nack dropped", "nack twice"},
	"what was to be persisted at a flush that never came": {
		"store begin record"},
	"the name that user code gave to a dispatch it called": {
		"call seam"},
	"a handler that never ran": {
		"on-ack name", "on-ack dropped"},
	"an abort is the turn's, and a nack the dispatch's, through whichever handle it is made": {
		"abort in", "nack in"},
	"why the caller's context ended, and between which crossings": {
		"cancel cause", "cancel err", "message swapped", "call swapped"},
	"why user code ended a context of its own": {
		"sleep done err"},
	"a listener's panic, which disturbs nobody": {
		"contained text", "contained dropped", "contained twice"},
	"the name of what the turn never came to": {
		"header executor", "header turn-input", "header turn-output", "header dispatch-input", "header dispatch-output"},
	"when to persist, where nothing is persisted": {
		"header writeBehind"},
	"user code may ask for the time or an id as often as it likes": {
		"now kind", "now dropped", "now twice"},
	"which of two strands goes first": {
		"fork swapped", "return swapped", "sleep begin swapped", "turnGateOpen swapped"},
})

// isBetween reports whether a mutant moved a time to another that lies between those of
// the lines around it. The clock is user code's: where it moves by itself it may have
// said that, too.
func (m mutant) isBetween() bool {
	lines, at := m.trace.Lines, m.line
	return m.field == "at" && at > 0 && at+1 < len(lines) && lines[at-1].At.Before(lines[at].At) && lines[at].At.Before(lines[at+1].At)
}

func reasons(byReason map[string][]string) map[string]string {
	reasons := map[string]string{}
	for reason, names := range byReason {
		for _, name := range names {
			reasons[name] = reason
		}
	}
	return reasons
}

// An edited file whose footer was made anew replays otherwise than it says,
// unless what was edited came in from user code and is said nowhere else. What
// the engine decided is always noticed. A normal run tries an eighth of the kinds
// of edits that a fixture has, another one for each fixture; with the variable all
// are tried.
func TestMutationInFilesIsNoticed(t *testing.T) {
	t.Parallel()
	every := os.Getenv(mutantsVariable) == "all"
	var mu sync.Mutex
	tried, noticed := 0, 0
	byField := map[string]int{}
	forEachFixture(t, func(t *testing.T, f fixture) {
		had := map[string]bool{}
		mutants(f, func(m mutant) {
			sort := m.kind + " " + m.field + " " + m.what
			if !every && (had[sort] || crc32.ChecksumIEEE([]byte(f.name+sort))%8 != 0) {
				return
			}
			had[sort] = true
			seen := verifyNotices(t, m)
			mu.Lock()
			defer mu.Unlock()
			tried++
			if seen {
				noticed++
				return
			}
			name := m.kind + " " + cmp.Or(m.field, m.what)
			byField[name]++
			if unrepeated[name] == "" && !m.isBetween() {
				t.Errorf("%s: not noticed, and on no list of what need not be", m)
			}
			if !m.input {
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
		t.Logf("a sample: `make mutants` (%s=all) tries all", mutantsVariable)
	}
	t.Logf("mutations in files: %d tried, %d noticed, %d unrepeated inputs (by kind: %s)",
		tried, noticed, tried-noticed, strings.Join(list, ", "))
}

// verifyNotices writes a mutant, with a footer of its own, and verifies it.
func verifyNotices(t *testing.T, m mutant) bool {
	var file bytes.Buffer
	if _, err := m.trace.WriteTo(&file); err != nil {
		return true // nothing that could be in a file
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	report, err := replay.Verify(ctx, &file, replay.Live{})
	require.NoError(t, ctx.Err(), "%s: the replay did not end", m)
	return err != nil || report.Divergence != nil
}
