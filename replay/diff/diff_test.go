package diff_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/sebdah/goldie/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/livetest"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/diff"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// byLength is an encoding that counts tokens by length, without loading tables.
var byLength = diff.Options{Encoding: "by length"}

// A trace does not differ from itself.
func TestDiffOfATraceAndItself(t *testing.T) {
	tracetest.ForEachFixture(t, func(t *testing.T, f tracetest.Fixture) {
		d := diff.Traces(f.Trace, f.Trace, byLength)
		assert.True(t, d.Same(), d)
		assert.Empty(t, d.Changes)
		assert.Empty(t, d.Renamed)
		assert.Equal(t, diff.Counts{Equal: len(f.Trace.Lines())}, d.Crossings)
		assert.Equal(t, d.A, d.B)
	})
}

// Comparing two traces in either order finds
// the same differences, with a and b exchanged.
func TestDiffMirrored(t *testing.T) {
	t.Parallel()
	all := tracetest.AllFixtures(t)
	tracetest.ForEachFixture(t, func(t *testing.T, f tracetest.Fixture) {
		for i, g := range all {
			if (i+len(f.Name))%48 != 0 { // one of so many pairs, so that this takes a tenth of a second
				continue
			}
			there, back := diff.Traces(f.Trace, g.Trace, byLength), mirrored(diff.Traces(g.Trace, f.Trace, byLength))
			// The names m1, call1 are those of the first trace.
			ignore := cmpopts.IgnoreFields(diff.Change{}, "LineA", "LineB", "Seam")
			if differ := gocmp.Diff(sorted(there), sorted(back), ignore, cmpopts.IgnoreUnexported(diff.Diff{}), cmpopts.EquateEmpty()); differ != "" {
				t.Fatalf("%s and %s: %s", f.Name, g.Name, differ)
			}
		}
	})
}

// mirrored exchanges a and b.
func mirrored(d *diff.Diff) *diff.Diff {
	d.A, d.B = d.B, d.A
	d.Crossings.OnlyA, d.Crossings.OnlyB = d.Crossings.OnlyB, d.Crossings.OnlyA
	exchange := func(fields []compare.FieldDiff) {
		for i := range fields {
			fields[i].Want, fields[i].Got = fields[i].Got, fields[i].Want
		}
	}
	exchange(d.Header)
	for i := range d.Changes {
		c := &d.Changes[i]
		c.A, c.B = c.B, c.A
		exchange(c.Fields)
		switch c.Op {
		case diff.OnlyA:
			c.Op = diff.OnlyB
		case diff.OnlyB:
			c.Op = diff.OnlyA
		}
	}
	for i := range d.Renamed {
		d.Renamed[i].A, d.Renamed[i].B = d.Renamed[i].B, d.Renamed[i].A
	}
	return d
}

// sorted sorts the parts of a diff that have no order.
func sorted(d *diff.Diff) *diff.Diff {
	slices.SortFunc(d.Changes, func(x, y diff.Change) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) })
	slices.SortFunc(d.Renamed, func(x, y diff.Renaming) int { return strings.Compare(x.A, y.A) })
	return d
}

// noDifference names the fields that are no difference by themselves, by the kind of the line and
// the field, with the reason. The times are further down.
var noDifference = map[string]string{
	"turnStart turn":         "an id that is renamed",
	"dispatchStart dispatch": "an id that is renamed",
	"report-message id":      "an id that is renamed, where nothing else says it",
	"on-ack handler":         "a number, where nobody takes the handler away",
	"call in":                "the middlewares of a pipeline are one list",
	"return in":              "it ends the call that it names",
	"swapped":                "how calls take turns",
}

// Every edit of a trace is a difference of the expected size: an edited
// field is one line, and so is a line that is dropped or doubled, plus the
// ends of whatever that line opens. An edit also counts if it only makes
// the digests of states wrong: they are then the digests of other states.
func TestDiffOfEdits(t *testing.T) {
	t.Parallel()
	const of = 800 // one mutant of so many, so that this takes a tenth of a second
	tracetest.ForEachFixture(t, func(t *testing.T, f tracetest.Fixture) {
		states := 0
		for _, line := range f.Trace.Lines() {
			if line.Kind == adk.KindState {
				states++
			}
		}
		tracetest.Mutants(f, of, func(m tracetest.Mutant) {
			d := diff.Traces(f.Trace, m.Trace(), byLength)
			if d.Same() {
				assert.True(t, harmless(m), "%s: not noticed", m)
				return
			}
			if most := states + 2*sizeOf(f, m); !treeIsAnother(m) && len(d.Changes) > most {
				t.Errorf("%s: more than %d lines\n%s", m, most, d)
			}
		})
	})
}

func harmless(m tracetest.Mutant) bool {
	_, known := noDifference[strings.TrimSpace(m.Kind+" "+m.Field)]
	_, shape := noDifference[m.What]
	isTime := m.Field == "at" || strings.Contains(m.What, "edAt") || m.Field == "records" && strings.HasPrefix(m.What, "element")
	return known || shape || isTime || m.Field == "op" // of a crossing that does not belong to an operation
}

// treeIsAnother reports whether an edit changes the tree of calls, so that crossings of a call are
// then found elsewhere.
func treeIsAnother(m tracetest.Mutant) bool {
	switch m.Field {
	case "id", "in", "op", "kind", "strand":
		return true
	}
	return m.Field == "" && strings.HasPrefix(m.Kind, "call")
}

// sizeOf returns how many crossings an edit can affect: the line itself, or everything within the
// call or operation that begins at the line or next to it.
func sizeOf(f tracetest.Fixture, m tracetest.Mutant) int {
	most := 3
	for _, at := range []int{m.At - 2, m.At - 1, m.At} {
		if at >= 0 && at < len(f.Trace.Lines()) {
			most = max(most, withinLine(f, at))
		}
	}
	return most
}

// withinLine counts the lines from a line to the end of what it opens. If the line opens nothing,
// it counts to the end of the trace, as the line may now belong to another call.
func withinLine(f tracetest.Fixture, at int) int {
	lines := f.Trace.Lines()[at:]
	x := lines[0].Crossing
	for i, line := range lines {
		if x.Kind == adk.KindCall && line.Kind == adk.KindReturn && line.ID == x.ID ||
			x.Phase == adk.Begin && line.Phase == adk.Done && line.Op == x.Op {
			return i + 1
		}
	}
	if x.Kind == adk.KindFork {
		return len(lines)
	}
	return 3
}

// SIG-3: a diff names the handler that is removed, also after a dispatch that numbers its own
// handlers.
func TestDiffOfHandlersBehindADispatch(t *testing.T) {
	takingOff := func(which int) *trace.Trace {
		ignored := func(context.Context, *adk.DispatchContext) {}
		v := livetest.WeatherVersion(nil)
		v.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			offs := []func(){tracetest.Must(dc.OnAck("one", ignored)), tracetest.Must(dc.OnAck("two", ignored))}
			_, err := adk.Dispatch(ctx, adk.DispatchInput{Name: "planner", Source: dc, Executor: adk.Executor{Name: "small",
				Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
					tracetest.Must(dc.OnAck("same", ignored))
					tracetest.Must(dc.OnAck("same", ignored))
					return dc.Ack()
				}}})
			offs[which]()
			return errors.Join(err, dc.Nack(nil))
		}
		return v.Record(t)
	}
	d := diff.Traces(takingOff(0), takingOff(1), byLength)
	require.Len(t, d.Changes, 2, "%s", d)
	assert.Equal(t, "off-ack handler 1", d.Changes[0].LineA)
	assert.Equal(t, "off-ack handler 2", d.Changes[1].LineB)
}

// An inserted middleware shows as its own lines and nothing else: the calls that it wraps stay the
// same.
func TestDiffOfAnInsertedMiddleware(t *testing.T) {
	t.Parallel()
	a, b := livetest.WeatherVersion(livetest.AskAndSay("Oslo", "It is 4 °C.")), livetest.WeatherVersion(livetest.AskAndSay("Oslo", "It is 4 °C."))
	livetest.InsertSpy(&b)
	traceA, traceB := a.Record(t), b.Record(t)
	d := diff.Traces(traceA, traceB)
	assert.Equal(t, diff.Counts{Equal: len(traceA.Lines()), OnlyB: 8}, d.Crossings)
	assert.Len(t, traceB.Lines(), len(traceA.Lines())+8)
	for _, c := range d.Changes {
		assert.Equal(t, diff.OnlyB, c.Op)
		assert.Equal(t, "turn-input/spy", c.Seam)
	}
	goldenDiff(t, "inserted-middleware", d)
}

// A record that is stored once more is one line; the changed visible state follows from it.
func TestDiffOfAnExtraStore(t *testing.T) {
	extra := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		message := tracetest.Must(adk.NewMessage(adk.MessageInit{ID: "note", Role: adk.RoleAssistant, Content: "Noted.", CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch}))
		return dc.Messages().Store(ctx, message)
	}
	script := livetest.AskAndSay("Oslo", "It is 4 °C.")
	a := livetest.WeatherVersion(script).Record(t)
	script[0] = append(slices.Clone(script[0]), fakes.Do(extra))
	d := diff.Traces(a, livetest.WeatherVersion(script).Record(t))
	require.Len(t, d.Changes, 1)
	assert.Equal(t, diff.Counts{Equal: len(a.Lines()) - 3, Follow: 3, OnlyB: 4}, d.Crossings)
	assert.Equal(t, `store m2 assistant "Noted." in messages → storage/messages.store`, d.Changes[0].LineB)
	goldenDiff(t, "extra-store", d)
}

// Changed arguments are listed once: the checksum, and repetitions of the arguments, follow from
// them.
func TestDiffOfChangedArguments(t *testing.T) {
	a, b := livetest.WeatherVersion(livetest.AskAndSay("Oslo", "It is 4 °C.")), livetest.WeatherVersion(livetest.AskAndSay("Bergen", "It is 4 °C in Bergen."))
	goldenDiff(t, "changed-arguments", diff.Traces(a.Record(t), b.Record(t)))
}

// New ids, another clock, and other numbers are no differences.
func TestDiffUpToIDsAndTimes(t *testing.T) {
	a, b := livetest.WeatherVersion(livetest.AskAndSay("Oslo", "It is 4 °C.")), livetest.WeatherVersion(livetest.AskAndSay("Oslo", "It is 4 °C."))
	for _, v := range []*livetest.Version{&a, &b} {
		v.Config.TurnInput[1].Run = func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			id, at := tc.NewID(), tc.Now()
			if _, err := tc.Messages().Add(tracetest.Must(adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleUser, Content: "Hello", CreatedAt: at, UpdatedAt: at}))); err != nil {
				return err
			}
			if err := tc.Stash().Set("last", map[string]any{"id": id, "at": at}); err != nil {
				return err
			}
			next(ctx)
			return nil
		}
	}
	b.Config.IDs = fakes.NewIDs("another")
	b.Config.Clock = fakes.NewClockAt(fakes.Epoch.Add(time.Hour))
	traceA, traceB := a.Record(t), b.Record(t)
	d := diff.Traces(traceA, traceB)
	assert.True(t, d.Same(), d)
	assert.Equal(t, []diff.Renaming{{A: "id-1", B: "another-1"}, {A: "id-2", B: "another-2"}, {A: "id-3", B: "another-3"}}, d.Renamed)
	assert.Equal(t, diff.Counts{Equal: len(traceA.Lines())}, d.Crossings)

	timed := diff.Traces(traceA, traceB, diff.Options{Times: true})
	assert.False(t, timed.Same())
	for _, c := range timed.Changes {
		for _, f := range c.Fields {
			assert.Contains(t, f.Want+f.Got, "2025-01-01T0", "only times differ: %s", f.Field)
		}
	}
}

// If the clock stood still before a crossing, its time is shown as 0s, in the notation in which a user sets it.
func TestDiffOfATimeThatStood(t *testing.T) {
	v := livetest.WeatherVersion(nil)
	a := v.Record(t)
	var later bytes.Buffer
	w := trace.NewWriter(&later, a.Header)
	for i, line := range a.Lines() {
		if x := line.Crossing; i >= 4 {
			x.At = x.At.Add(5 * time.Second)
			line.Crossing = x
		}
		require.NoError(t, w.Write(&line.Crossing))
	}
	require.NoError(t, w.Close())
	d := diff.Traces(a, tracetest.Must(trace.Read(&later)), diff.Options{Times: true})
	require.Len(t, d.Changes, 1, "%s", d)
	assert.Equal(t, []compare.FieldDiff{{Field: "at", Want: `"0s"`, Got: `"5s"`, Input: true}}, d.Changes[0].Fields)
}

// If one trace has one id where the other has two, that is a difference, whatever the ids' names are.
func TestDiffOfIDsThatAreNotOneToOne(t *testing.T) {
	say := func(ids ...string) *trace.Trace {
		return livetest.WeatherVersion(fakes.Script{{fakes.Do(func(_ context.Context, _ *adk.DispatchContext, h *adk.Helpers) error {
			for _, id := range ids {
				if _, err := h.ReportMessage(id, "x", false); err != nil {
					return err
				}
			}
			return nil
		}), fakes.Ack()}}).Record(t)
	}
	assert.True(t, diff.Traces(say("p", "q", "p"), say("v", "w", "v"), byLength).Same())
	assert.False(t, diff.Traces(say("p", "q", "p"), say("v", "w", "w"), byLength).Same())
	assert.False(t, diff.Traces(say("p", "p", "p"), say("v", "w", "v"), byLength).Same())
}

// Another interleaving of strands is no difference (design: "a trace from production is ordered by
// what really happened").
func TestDiffOfStrandsThatTookOtherTurns(t *testing.T) {
	strands := func(order fakes.Order) *trace.Trace {
		v := livetest.WeatherVersion(fakes.Script{{fakes.Do(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			for _, name := range []string{"one", "two", "three"} {
				if _, err := dc.Fork(ctx, name, func(ctx context.Context, dc *adk.DispatchContext) error {
					return errors.Join(dc.Stash().Set(name, 1), dc.Stash().Set(name, 2))
				}); err != nil {
					return err
				}
			}
			return nil
		}), fakes.Ack()}})
		v.Config.Probe = fakes.NewScheduler(order)
		return v.Record(t)
	}
	a, b := strands(fakes.RunInOrder()), strands(fakes.RoundRobin())
	require.NotEqual(t, strandsOf(a), strandsOf(b), "they took other turns")
	assert.True(t, diff.Traces(a, b, byLength).Same(), diff.Traces(a, b, byLength))
}

// strandsOf are the strands of a trace's crossings, in their order.
func strandsOf(t *trace.Trace) (strands []int) {
	for i := range t.Lines() {
		strands = append(strands, t.Lines()[i].Strand)
	}
	return strands
}

// A change in a long prompt is shown without the rest of the prompt.
func TestDiffOfALongPrompt(t *testing.T) {
	v := livetest.WeatherVersion(livetest.AskAndSay("Oslo", "It is 4 °C."))
	text := strings.Repeat("Say what you know.\n", 4000)
	v.Raw.SystemPrompt = text + "Be brief." + text
	a := v.Record(t)
	v = livetest.WeatherVersion(livetest.AskAndSay("Oslo", "It is 4 °C."))
	v.Raw.SystemPrompt = text + "Be exact." + text
	d := diff.Traces(a, v.Record(t), byLength)
	assert.Contains(t, d.String(), `prompt: (75983 chars)…"y what you know.\nBe brief.Say what you know.\n"…(75981 chars) → `)
	assert.Less(t, len(d.String()), 5000)
	for _, f := range d.Changes[0].Fields {
		assert.Greater(t, len(f.Want), len(text), "a program gets all of it")
	}
}

// The JSON of a diff holds everything that its text says.
func TestDiffAsJSON(t *testing.T) {
	a, b := livetest.WeatherVersion(livetest.AskAndSay("Oslo", "It is 4 °C.")), livetest.WeatherVersion(livetest.AskAndSay("Oslo", "It is 5 °C."))
	d := diff.Traces(a.Record(t), b.Record(t))
	text, err := json.Marshal(d)
	require.NoError(t, err)
	var back diff.Diff
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Empty(t, gocmp.Diff(d, &back, cmpopts.IgnoreUnexported(diff.Diff{})))
	assert.Equal(t, "delta", back.Changes[0].Fields[0].Field)
	assert.Equal(t, `"It is 5 °C."`, back.Changes[0].Fields[0].Got)
}

// Prefixes are compared as far as they go.
func TestDiffOfAPrefix(t *testing.T) {
	whole := livetest.WeatherVersion(livetest.AskAndSay("Oslo", "It is 4 °C.")).Record(t)
	for n := range whole.Lines() {
		prefix := trace.New(whole.Header, whole.Lines()[:n])
		d := diff.Traces(prefix, whole, byLength)
		assert.Equal(t, diff.Counts{Equal: n, OnlyB: len(whole.Lines()) - n}, d.Crossings, "%d\n%s", n, d)
		assert.Equal(t, "cut short", d.A.Status)
	}
}

// Long traces are aligned in time that is linear in their length: with quadratic time this test
// would take hours.
func TestDiffOfLongTraces(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	a, b := longTraces(t, 50_000)
	d := diff.Traces(a, b, byLength)
	assert.Equal(t, 1, d.Crossings.Changed, d)
	assert.Equal(t, 2, d.Crossings.OnlyB)
	assert.Equal(t, len(a.Lines()), d.Crossings.Equal+d.Crossings.Follow+1)
	assert.Less(t, len(d.String()), 5000)
}

// If every delta of a stream differs, each is a line of the diff.
func TestDiffOfLongTracesThatDifferThroughout(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	a, _ := longTraces(t, 20_000)
	b := trace.New(a.Header, slices.Clone(a.Lines()))
	for i := range b.Lines() {
		if b.Lines()[i].Kind == adk.KindReportMessage {
			b.Lines()[i].Text = fmt.Sprint("other ", i)
		}
	}
	d := diff.Traces(a, b, byLength)
	assert.Equal(t, 10_000, d.Crossings.Changed)
	assert.Len(t, d.Changes, 10_000)
}

func BenchmarkDiff(b *testing.B) {
	for _, n := range []int{5_000, 50_000} {
		first, second := longTraces(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				diff.Traces(first, second, byLength)
			}
		})
	}
}

// longTraces returns two traces with the given number of crossings. The second has one more delta,
// and one that differs.
func longTraces(t testing.TB, crossings int) (a, b *trace.Trace) {
	stream := func(version int) *trace.Trace {
		return livetest.WeatherVersion(fakes.Script{{fakes.Do(func(_ context.Context, _ *adk.DispatchContext, h *adk.Helpers) error {
			for i := range crossings / 2 {
				delta := fmt.Sprint("word ", i%100, " ")
				if version > 0 && i == crossings/8 {
					if _, err := h.ReportMessage("m", "one more ", false); err != nil {
						return err
					}
				}
				if version > 0 && i == crossings/4 {
					delta = "another "
				}
				if _, err := h.ReportMessage("m", delta, false); err != nil {
					return err
				}
			}
			return nil
		}), fakes.Ack()}}).Record(t)
	}
	return stream(0), stream(1)
}

func goldenDiff(t *testing.T, name string, d *diff.Diff) {
	t.Helper()
	goldie.New(t, goldie.WithFixtureDir("testdata/diffs"), goldie.WithNameSuffix(".txt")).Assert(t, name, []byte(d.String()))
}

// Lines that both traces share take one screen line each, and the shared parts of long differing
// lines are cut, so that a single difference is on the first screen.
func TestWhatIsTheSameIsCut(t *testing.T) {
	tools := []*adk.Tool{fakes.NewTool("weather", "Tells the weather in a city. "+strings.Repeat("It is always right about it. ", 20), "rain").Tool()}
	run := func(prompt string) *trace.Trace {
		var out bytes.Buffer
		script := fakes.Script{{fakes.Say("Yes."), fakes.Ack()}}
		runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{Executor: script.Executor("model"), Storage: fakes.NoOpStorage(), Tools: tools}, replay.Record(&out)))
		require.NoError(t, err)
		require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: prompt}))
		read, err := trace.Read(&out)
		require.NoError(t, err)
		return read
	}
	lines := strings.Split(diff.Traces(run("Be brief."), run("Be terse."), byLength).String(), "\n")
	assert.Regexp(t, `^- run "Be brief\."  tools: weather "Tells.*…$`, lines[0])
	assert.Regexp(t, `^\+ run "Be terse\."  tools: weather "Tells.*…$`, lines[1])
	for _, line := range lines {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 80, line)
	}
}
