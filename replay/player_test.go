package replay

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// DET-8, EVT-5: listeners get more of an event than its line holds. An engine that hands them
// something else is red, although every line is as recorded. No scripted seam sees that, so the
// test feeds such a run to the player directly.
func TestPlayerHoldsEventsAgainstWhatLedToThem(t *testing.T) {
	for _, name := range []string{"hello", "streamed-reply"} {
		trace := fixtureNamed(t, name)
		whole := played(t, trace, -1)
		require.Nil(t, whole.found)
		require.Equal(t, len(trace.Lines()), whole.matched)
		for i := range trace.Lines() {
			if trace.Lines()[i].Kind.Class() != adk.ClassEvent {
				continue
			}
			found := played(t, trace, i).found
			if assert.NotNil(t, found, "%s: crossing %d", name, i+1) {
				assert.Equal(t, i+1, found.Crossing)
				assert.Equal(t, ChangedOutput, found.Class)
				assert.Equal(t, "payload", found.Fields[0].Field)
			}
		}
	}
}

// DET-8: a state that equals the recorded one, but not what the crossings before it make visible,
// is red: the recording may have been made by the same broken engine.
func TestPlayerHoldsStatesAgainstWhatLedToThem(t *testing.T) {
	recorded := fixtureNamed(t, "hello")
	for i := range recorded.Lines() {
		if recorded.Lines()[i].Kind != adk.KindState {
			continue
		}
		broken := trace.New(recorded.Header, slices.Clone(recorded.Lines()))
		broken.Lines()[i].Digest[0]++
		found := played(t, broken, -1).found
		if assert.NotNil(t, found) {
			assert.Equal(t, i+1, found.Crossing)
			assert.Equal(t, "digest", found.Fields[0].Field)
		}
	}
}

// HLP-1: the text of a complete stream is compared as a whole. While the stream runs, only its
// length and its end are compared.
func TestTheWholeTextOfAStreamIsCompared(t *testing.T) {
	trace, heard := fixtureNamed(t, "streamed-reply"), state.New()
	complete := 0
	for i := range trace.Lines() {
		x := trace.Lines()[i].Crossing
		if x.Kind == adk.KindMessageEvent {
			e := heard.Payload(&x).(adk.MessageEvent)
			x.Payload = e
			require.NoError(t, heard.CheckPayload(&x))
			e.Full = "#" + e.Full[1:]
			x.Payload = e
			if e.Complete {
				complete++
				assert.ErrorContains(t, heard.CheckPayload(&x), "Full: expected")
			}
			x.Payload = nil
		}
		require.NoError(t, heard.Apply(&x))
	}
	assert.Equal(t, 1, complete)
}

func fixtureNamed(t *testing.T, name string) *trace.Trace {
	t.Helper()
	data, err := fixtures.Traces.ReadFile(name + ".jsonl")
	require.NoError(t, err)
	recorded, err := trace.Read(bytes.NewReader(data))
	require.NoError(t, err)
	return recorded
}

// played feeds the recorded crossings to a player, with everything that listeners get. The event
// at the given place comes from another turn.
func played(t *testing.T, recorded *trace.Trace, at int) *player {
	t.Helper()
	known, err := wire.NewSentinels(nil, nil)
	require.NoError(t, err)
	p, heard := newPlayer(&linesSource{slices.Clone(recorded.Lines())}, wire.Comparer{Sentinels: known}), state.New()
	p.cancel = func(error, error) {}
	for i := range recorded.Lines() {
		x := recorded.Lines()[i].Crossing
		if x.Kind.Class() == adk.ClassEvent {
			x.Payload = heard.Payload(&x)
		}
		require.NoError(t, heard.Apply(&x))
		if i == at {
			x.Payload = ofAnotherTurn(x.Payload)
		}
		p.Tell(&x)
	}
	return p
}

func ofAnotherTurn(event any) any {
	switch e := event.(type) {
	case adk.TurnStart:
		e.TurnID = "another"
		return e
	case adk.TurnEnd:
		e.TurnID = "another"
		return e
	case adk.DispatchStart:
		e.TurnID = "another"
		return e
	case adk.DispatchEnd:
		e.TurnID = "another"
		return e
	case adk.IterationStart:
		e.TurnID = "another"
		return e
	case adk.IterationEnd:
		e.TurnID = "another"
		return e
	case adk.MessageEvent:
		e.TurnID = "another"
		return e
	}
	return struct{}{} // no event at all
}

// If a crossing comes early, the crossings before it are reported as missing, however many they
// are. A crossing is extra only if no recorded one is left for it.
func TestEarlyIsMissingAndNotExtra(t *testing.T) {
	for _, c := range []struct {
		n    int
		want Class
	}{{1, Missing}, {2, Missing}, {5, Missing}, {misplacedReach, Missing}, {misplacedReach + 1, Extra}} {
		recorded := fixtureNamed(t, "hello")
		end := slices.IndexFunc(recorded.Lines(), func(l trace.Line) bool { return l.Kind == adk.KindTurnEnd })
		logged := trace.Line{Crossing: adk.Crossing{Kind: adk.KindLogEvent, At: recorded.Lines()[end].At, Call: calls.RunCall}}
		recorded.SetLines(slices.Insert(recorded.Lines(), end, slices.Repeat([]trace.Line{logged}, c.n)...))
		var file bytes.Buffer
		_, err := recorded.WriteTo(&file)
		require.NoError(t, err)
		report, err := Verify(t.Context(), &file, Live{})
		require.NoError(t, err)
		require.NotNil(t, report.Divergence)
		assert.Equal(t, end+1, report.Divergence.Crossing)
		assert.Equal(t, c.want, report.Divergence.Class, "%d log events that nobody makes", c.n)
	}
	recorded := fixtureNamed(t, "hello")
	end := len(recorded.Lines()) - 2
	require.Equal(t, adk.KindTurnEnd, recorded.Lines()[end].Kind)
	logged := trace.Line{Crossing: adk.Crossing{Kind: adk.KindLogEvent, At: recorded.Lines()[end].At, Call: calls.RunCall}}
	for i := range recorded.Lines()[end:] {
		recorded.Lines()[end+i].At = logged.At.Add(time.Second)
	}
	recorded.SetLines(slices.Insert(recorded.Lines(), end, logged))
	assert.Equal(t, Missing, verifiedLines(t, recorded).Class, "it comes at the time of what is missing")
}

// No crossing holds the answers of an engine to user code, or the records that it hands to a
// storage; the player compares them with the crossings.
func TestPlayerHoldsAnswersAgainstWhatWasTold(t *testing.T) {
	recorded := fixtureNamed(t, "hello")
	stored := slices.IndexFunc(recorded.Lines(), func(l trace.Line) bool { return l.Kind == adk.KindStore && l.Phase == adk.Begin })
	calls := slices.IndexFunc(recorded.Lines(), func(l trace.Line) bool { return l.Kind == adk.KindCall && l.Record != nil })
	begin, call := &recorded.Lines()[stored].Crossing, &recorded.Lines()[calls].Crossing
	scope := func(p *player) adk.Scope {
		return adk.Scope{Call: call.ID, TurnID: p.namer.Fold.TurnID, DispatchID: p.namer.Fold.Origin(p.namer.Fold.Calls[call.ID]).DispatchID}
	}
	other, err := adk.NewMessage(adk.MessageInit{ID: call.Record.Key(), Role: adk.RoleUser, Content: "another", CreatedAt: call.At, UpdatedAt: call.At})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		field string
		look  func(p *player)
	}{
		"as told":              {"", func(p *player) { p.Answered(begin, nil); p.Handed(scope(p), call.Record, call.Key) }},
		"another answer":       {"answer", func(p *player) { p.Answered(begin, errors.New("disk full")) }},
		"another record":       {"record", func(p *player) { p.Handed(scope(p), other, "") }},
		"another key":          {"key", func(p *player) { p.Handed(scope(p), call.Record, "x") }},
		"another turn's":       {"scope turn", func(p *player) { p.Handed(adk.Scope{Call: call.ID, TurnID: "another"}, call.Record, "") }},
		"no dispatch's at all": {"scope dispatch", func(p *player) { s := scope(p); s.DispatchID = ""; p.Handed(s, call.Record, "") }},
	} {
		t.Run(name, func(t *testing.T) {
			p := played(t, recorded, -1)
			p.calls[call.ID] = call // a call is under way when it is asked
			p.done[begin.Op] = &adk.Crossing{Kind: adk.KindStore, Phase: adk.Done, Seq: begin.Seq, Op: begin.Op}
			c.look(p)
			if c.field == "" {
				assert.Nil(t, p.found)
				return
			}
			require.NotNil(t, p.found)
			assert.Equal(t, ChangedOutput, p.found.Class)
			assert.Equal(t, c.field, p.found.Fields[0].Field)
		})
	}
}

// If today's run continues after the recording's end, its first crossing there is extra, however
// much is cut. If the recording continues, its next crossing is missing.
func TestTheEndIsCompared(t *testing.T) {
	for cut := 1; cut <= 3; cut++ {
		trace := fixtureNamed(t, "hello")
		trace.SetLines(trace.Lines()[:len(trace.Lines())-cut])
		d := verifiedLines(t, trace)
		assert.Equal(t, Extra, d.Class)
		assert.Equal(t, len(trace.Lines())+1, d.Crossing)
	}
	recorded := fixtureNamed(t, "hello")
	recorded.SetLines(append(recorded.Lines(), trace.Line{Crossing: adk.Crossing{Kind: adk.KindLogEvent, At: recorded.Lines()[0].At, Call: calls.RunCall}}))
	d := verifiedLines(t, recorded)
	assert.Equal(t, Missing, d.Class)
	assert.Equal(t, len(recorded.Lines()), d.Crossing)
}

// verifiedLines writes a trace, verifies it, and returns the divergence.
func verifiedLines(t *testing.T, recorded *trace.Trace) *Divergence {
	t.Helper()
	var file bytes.Buffer
	_, err := recorded.WriteTo(&file)
	require.NoError(t, err)
	report, err := Verify(t.Context(), &file, Live{})
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	return report.Divergence
}
