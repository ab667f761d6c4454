package explore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/turn"
)

// A sound engine never shows the faults that only the caller of Run can see, so this test makes the
// runs that have them by hand.
func TestJudgeSaysWhatTheCallerSees(t *testing.T) {
	for _, c := range []struct {
		run        *attempt
		rule, says string
	}{
		{&attempt{panicked: "boom"}, "RUN-5", "a panic left Run: boom"},
		{&attempt{answer: errors.New("no")}, "RUN-5", `Run answered "no"`},
		{&attempt{strands: 1}, "DET-7", "1 strand had not ended when Run returned"},
		{&attempt{faults: []planned{{Fault: turn.Fault{Kind: turn.Cancel, At: 7}}}}, "DET-2", "cancel@7, which the same turn led to before, did not happen"},
	} {
		found := c.run.violations()
		require.Len(t, found, 1, c.says)
		assert.Equal(t, c.rule, found[0].Rule)
		assert.Equal(t, c.says, found[0].Text)
	}
	assert.Empty(t, (&attempt{faults: []planned{{Fault: turn.Fault{Kind: turn.Cancel, At: 7}, fired: true}}}).violations())
}

// RUN-5: a run that never ends has one violation, which says so; nothing else can be said about such
// a run.
func TestJudgeOfARunThatHangs(t *testing.T) {
	judged := (&exploring{}).judge(&attempt{crossings: make([]adk.Crossing, 4)}, candidate{}, &stall{kind: deadlocked, length: 4})
	require.Len(t, judged.violations, 1)
	assert.Equal(t, hangs, judged.violations[0].Invariant)
	assert.Equal(t, 5, judged.violations[0].Crossing)
}

// RUN-6: user code that is called after turnEnd is found in every run, and not only in runs that
// collect crossings for further faults.
func TestUserCodeBehindTheEnd(t *testing.T) {
	for _, collect := range []bool{true, false} {
		a := &attempt{collect: collect}
		a.entered(1)
		assert.Empty(t, a.found)
		a.ended.Store(true)
		a.entered(2)
		require.Len(t, a.found, 1)
		assert.Equal(t, "RUN-6", a.found[0].Rule)
	}
}

// GAT-2: if a gate accepts the explorer's settlement after its waiter has woken, it was settled twice,
// or too late. No gate of a sound engine accepts it, so this test uses a gate that nobody has settled
// yet.
func TestSettlementsThatAreTakenAreFound(t *testing.T) {
	for _, kind := range []turn.FaultKind{turn.GateTwice, turn.GateLate} {
		a := &attempt{faults: []planned{{Fault: turn.Fault{Kind: kind, At: 1}}}}
		config := adk.Config{Storage: fakes.NoOpStorage(), Clock: fakes.NewClock(), Executor: adk.Executor{Name: "model",
			Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				_, _ = dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "may I?", Timeout: time.Minute})
				return dc.Ack()
			}}}
		runner, err := adk.NewRunner(config)
		require.NoError(t, err)
		opened := 0
		raw := adk.RawTurn{SystemPrompt: "Help.", Observability: adk.Observability{TurnGateOpen: func(e adk.TurnGateOpen) { opened++; a.woke(e.Gate); a.woke(e.Gate) }}}
		require.NoError(t, runner.Run(t.Context(), raw))
		require.Equal(t, 1, opened)
		require.Len(t, a.found, 1, kind)
		assert.Equal(t, "GAT-2", a.found[0].Rule)
		assert.Contains(t, a.found[0].Text, kind.String())
	}
}

// DET-2: a second run that ends earlier than the first differs from it, and so does one that does
// not end at all.
func TestSameAgainWhereTheSecondRunIsShorter(t *testing.T) {
	first := []adk.Crossing{{Kind: adk.KindCall}, {Kind: adk.KindTurnStart}, {Kind: adk.KindTurnEnd}}
	second := func(n int) *attempt { return &attempt{crossings: first[:n]} }
	assert.Empty(t, sameAgain(first, second(3), nil))
	for n := range 3 {
		found := sameAgain(first, second(n), nil)
		require.Len(t, found, 1, n)
		assert.Equal(t, n+1, found[0].Crossing)
	}
	found := sameAgain(first, second(3), &stall{})
	require.Len(t, found, 1)
	assert.Equal(t, 1, found[0].Crossing)
}

// Names, and lists of names, in what a check says are data that it has seen: texts that differ only in
// them are about the same bug. The other words say what is wrong.
func TestChecksOfOneBug(t *testing.T) {
	for _, c := range []struct {
		one, other string
		same       bool
	}{
		{"the prompt is another one: Rome,Bern", "the prompt is another one: Bern,Rome", true},
		{"the prompt is another one: tea,milk", "the prompt is another one: milk,tea", false},
		{"Bern is told Oslo: 4", "Rome is told Bern: 3", true},
		{"the seat is taken", "the seat is lost", false},
		{"a seat, and no ticket", "a ticket, and no seat", false},
	} {
		key := func(text string) string { return groupOf(property.Violation{Invariant: checkGiven, Text: text}) }
		assert.Equal(t, c.same, key(c.one) == key(c.other), c.one)
	}
}

// Code that hands the same mistake on to several tools is one entry, which names the tools.
func TestOneEntryForAllTools(t *testing.T) {
	breach := func(tool string, code ...string) Breach {
		return Breach{Violation: property.Violation{Invariant: "a tool is given what the model wanted", Seam: "tool/" + tool + "#0",
			Text: `what model wanted was cut, and tool/` + tool + " ran with `{}`\nIt does something else."}, Code: code}
	}
	x := &Exploration{Violations: []Breach{breach("look", "met by a", "shows in b"), breach("pay", "met by c", "shows in b"), breach("look", "met by a", "shows in b"),
		breach("note", "met by a", "shows in b"), breach("pay", "met by a", "shows in d"), breach("look"), breach("pay")}}
	x.withoutTwins()
	require.Len(t, x.Violations, 4)
	assert.Equal(t, "what model wanted was cut, and tool/look ran with `{}`\nIt does something else.\nso it is with tool/pay, tool/note", x.Violations[0].Text)
	for _, b := range x.Violations[1:] {
		assert.NotContains(t, b.Text, "so it is with")
	}
}

// An entry that stands for several counts the schedules of all of them, each schedule once.
func TestOneEntryCountsAllItsSchedules(t *testing.T) {
	breach := func(code string, numbers ...int) Breach {
		b := Breach{Violation: property.Violation{Invariant: "what writes is done once", Text: "it ran 2 times"}, Code: []string{code}}
		b.shownBy(numbers...)
		return b
	}
	x := &Exploration{Violations: []Breach{breach("a", 7), breach("b", 3), breach("a", 9, 8, 7), breach("a", 2)}}
	x.withoutTwins()
	require.Len(t, x.Violations, 2)
	assert.Equal(t, []int{2, 7, 8, 9}, x.Violations[0].numbers)
	assert.Equal(t, []int{4, 1}, []int{x.Violations[0].Schedules, x.Violations[1].Schedules})
}
