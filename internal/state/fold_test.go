package state_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

// folded folds crossings and returns the faults that it noticed.
func folded(told []*adk.Crossing) (f *state.Fold, faults []error) {
	f = state.New()
	for _, x := range told {
		for _, err := range []error{f.Check(x), f.CheckPayload(x), f.Apply(x)} {
			if err != nil {
				faults = append(faults, fmt.Errorf("at crossing %d: %w", x.Seq, err))
			}
		}
	}
	return f, faults
}

// The fold arrives at the states and events that the engine recorded (DET-8), by every rule of what is visible:
// RUN-7, RUN-12, RUN-13, DSP-9, DSP-13, DEL-1 to DEL-6, STA-2 to STA-6, TOL-6; and of what listeners hear:
// HLP-1, HLP-3, HLP-6, EVT-5, EVT-6, EVT-10, GAT-4, TOL-3, TOL-4.
func TestFoldArrivesAtWhatTheEngineTells(t *testing.T) {
	for _, turn := range tracetest.AllTurns {
		t.Run(turn.Name, func(t *testing.T) {
			told := turn.Run(t)
			f, faults := folded(told)
			assert.Empty(t, faults)
			assert.Zero(t, f.Untold())
			assert.NotZero(t, count(told, adk.KindState), "a turn without a state proves nothing")
		})
	}
}

// After Reset a fold contains nothing of the turn before.
func TestFoldBeginsAgain(t *testing.T) {
	f := state.New()
	for _, turn := range tracetest.AllTurns {
		told := turn.Run(t)
		for n := range 2 { // the second time in the memory of the first
			for _, x := range told[:len(told)/(2-n)] { // first a turn that stops in the middle
				fresh := fmt.Sprint(f.Check(x), f.CheckPayload(x), f.Apply(x))
				require.Equal(t, "<nil> <nil> <nil>", fresh, "%s, crossing %d", turn.Name, x.Seq)
			}
			f.Reset()
			require.Zero(t, f.Untold())
			require.Nil(t, f.Seen(1))
		}
	}
}

// The sample turns make every kind of crossing, so that every kind is tested.
func TestSampleTurnsCrossEverywhere(t *testing.T) {
	seen := map[adk.Kind]bool{}
	for _, turn := range tracetest.AllTurns {
		for _, x := range turn.Run(t) {
			seen[x.Kind] = true
		}
	}
	for _, kind := range adk.Kinds() {
		assert.True(t, seen[kind], "no sample turn has a %s", kind)
	}
}

func count(told []*adk.Crossing, kind adk.Kind) (n int) {
	for _, x := range told {
		if x.Kind == kind {
			n++
		}
	}
	return n
}

// If a line that affects a state, an event or the order is left out of a sample turn, the fold notices
// (DET-8).
func TestFoldNoticesMissingLines(t *testing.T) {
	t.Parallel()
	// A line without consequences cannot be missed; for example, that user code read the
	// time, or that a reply contained nothing but an error.
	unseen := map[adk.Kind]bool{adk.KindNow: true, adk.KindNewID: true, adk.KindContained: true, adk.KindOnAck: true, adk.KindOffAck: true,
		adk.KindAbort: true, adk.KindFork: true, adk.KindTimer: true, adk.KindState: true,
		adk.KindCancel: true, adk.KindReturn: true, adk.KindNack: true, adk.KindDispatchStart: true, adk.KindPiece: true}
	for _, turn := range tracetest.AllTurns {
		told := turn.Run(t)
		whole := digestOfEnd(told)
		for i, x := range told {
			if unseen[x.Kind] || onlySays(x.Kind) || x.Phase == adk.Done || x.Err != nil || x.Phase == adk.Begin && !emits(x) {
				continue
			}
			rest := renumbered(append(append([]*adk.Crossing{}, told[:i]...), told[i+1:]...))
			f, faults := folded(rest)
			noticed := len(faults) > 0 || f.Untold() > 0
			if !noticed && digestOfEnd(rest) == whole && hasEffect(x) && seenLater(told, i) {
				t.Errorf("%s: nobody noticed that crossing %d, %s, was left out", turn.Name, x.Seq, describe.New(state.New()).Line(x))
			}
		}
	}
}

// onlySays reports whether an event comes from the engine's own course, and contains nothing that a later line
// repeats.
func onlySays(kind adk.Kind) bool {
	caused := slices.ContainsFunc(adk.Kinds(), func(k adk.Kind) bool { return slices.Contains(k.Causes(), kind) })
	return kind.Class() == adk.ClassEvent && !caused && !kind.Names(adk.MadeID) && !kind.Names(adk.Iteration)
}

func emits(x *adk.Crossing) bool { return x.Kind.Emits() }

// hasEffect reports whether a line changes anything that the engine records afterwards.
func hasEffect(x *adk.Crossing) bool {
	switch x.Kind {
	case adk.KindRemove, adk.KindUnregister:
		return x.Flag
	case adk.KindStash:
		return x.Value != nil
	case adk.KindSettle:
		return x.Status != adk.GateRefused
	case adk.KindIterationEnd, adk.KindPrune, adk.KindCall:
		return false // the collection may be empty anyway
	}
	return true
}

// seenLater reports whether a state after a crossing shows what the crossing's call sees.
func seenLater(told []*adk.Crossing, i int) bool {
	f, _ := folded(told)
	for _, x := range told[i:] {
		if x.Kind == adk.KindState && f.Seen(x.Call) == f.Seen(told[i].Call) {
			return true
		}
	}
	return told[i].Kind.Class() != adk.ClassOperation
}

// digestOfEnd returns the digest of the fold's state at the end.
func digestOfEnd(told []*adk.Crossing) adk.Digest {
	f, _ := folded(told)
	return f.StateDigest(1).Digest()
}

// renumbered returns copies that are numbered without gaps, so that only what the crossings mean can
// show that something is wrong.
func renumbered(told []*adk.Crossing) []*adk.Crossing {
	all := make([]*adk.Crossing, len(told))
	for i, x := range told {
		one := *x
		one.Seq = i + 1
		all[i] = &one
	}
	return all
}

// tamperings each change one thing in the recorded weather turn.
var tamperings = []struct {
	name   string
	tamper func(told []*adk.Crossing)
	says   string
}{
	{"another record is added", func(told []*adk.Crossing) {
		tracetest.Find(told, adk.KindAdd, adk.Whole).Record = tracetest.AMessage("msg-7f3a", adk.RoleUser, "What is the weather in Rome?")
	}, "leads to the digest"},
	{"a record of the dispatch is another", func(told []*adk.Crossing) {
		tracetest.Find(told, adk.KindStore, adk.Begin).Record = tracetest.AToolCall("call_9x", "Oslo", "40 °C")
	}, "leads to the digest"},
	{"a storage refused", func(told []*adk.Crossing) {
		tracetest.Find(told, adk.KindStore, adk.Done).Err = fmt.Errorf("no")
	}, "leads to the digest"},
	{"the prompt is another", func(told []*adk.Crossing) { told[0].Text += "!" }, "leads to the digest"},
	{"a delta is another", func(told []*adk.Crossing) {
		tracetest.Find(told, adk.KindReportMessage, adk.Whole).Text = "It is 5 °C "
	}, `Delta: expected "It is 5 °C ", got "It is 4 °C "`},
	{"an argument is another", func(told []*adk.Crossing) {
		tracetest.Find(told, adk.KindExecute, adk.Begin).Args = `{"city":"Rome"}`
	}, "callId: expected"},
	{"an event is later", func(told []*adk.Crossing) {
		x := tracetest.Find(told, adk.KindTurnEnd, adk.Whole)
		x.At = x.At.Add(1)
	}, "EndedAt: expected"},
	{"an iteration is counted twice", func(told []*adk.Crossing) {
		tracetest.Find(told, adk.KindDispatchEnd, adk.Whole).N = 3
	}, "iterations: expected 2, got 3"},
	{"an event is of another turn", func(told []*adk.Crossing) {
		x := tracetest.Find(told, adk.KindLogEvent, adk.Whole)
		e := x.Payload.(adk.LogEvent)
		e.TurnID = "other"
		x.Payload = e
	}, `TurnID: expected "id-1", got "other"`},
	{"an event changes its payload's number kind", func(told []*adk.Crossing) {
		x := tracetest.Find(told, adk.KindLogEvent, adk.Whole)
		e := x.Payload.(adk.LogEvent)
		e.Payload = map[string]any{"in": 42.0, "out": 7}
		x.Payload = e
	}, "Payload: expected"},
	{"a tool says that it failed", func(told []*adk.Crossing) {
		tracetest.Find(told, adk.KindToolExecutionEnd, adk.Whole).IsError = true
	}, "isError: expected false, got true"},
	{"an event is of another type", func(told []*adk.Crossing) {
		tracetest.Find(told, adk.KindMessageEvent, adk.Whole).Payload = adk.ThoughtEvent{}
	}, "payload: expected adk.MessageEvent, got adk.ThoughtEvent"},
	{"two operations change places", func(told []*adk.Crossing) {
		for i, x := range told {
			if x.Kind == adk.KindIterationEnd {
				told[i], told[i+1] = told[i+1], told[i]
				return
			}
		}
	}, "iteration: expected"},
	{"a call returns that never began", func(told []*adk.Crossing) {
		tracetest.Find(told, adk.KindReturn, adk.Whole).ID = 99
	}, "of call 99, which is not open"},
	{"an operation is done that never began", func(told []*adk.Crossing) {
		tracetest.Find(told, adk.KindNext, adk.Done).Op = 99
	}, "operation 99 has not begun here"},
	{"a record is said to have been there", func(told []*adk.Crossing) {
		tracetest.Find(told, adk.KindAdd, adk.Whole).Flag = true
	}, "says true of whether the key was in messages"},
}

// The fold notices every tampering (DET-8, DET-6).
func TestFoldNoticesTampering(t *testing.T) {
	for _, one := range tamperings {
		t.Run(one.name, func(t *testing.T) {
			told := tracetest.AllTurns[0].Run(t)
			one.tamper(told)
			_, faults := folded(renumbered(told))
			require.NotEmpty(t, faults)
			assert.Contains(t, faults[0].Error(), one.says)
		})
	}
}

// A fold continues after a crossing that it cannot explain, without a panic: it takes suffixes of a run and
// single crossings.
func TestFoldTakesAnything(t *testing.T) {
	t.Parallel()
	for _, turn := range tracetest.AllTurns {
		told := turn.Run(t)
		for i, x := range told {
			folded(told[i:])
			empty := transcript.New(&bytes.Buffer{})
			require.NoError(t, empty.Write(x))
			require.NoError(t, empty.Write(&adk.Crossing{Kind: x.Kind, Phase: x.Phase, Call: 1}))
			require.NoError(t, empty.Close())
		}
	}
}

// A call that is its own parent, and a second outermost call, still have a view, so that later crossings of the
// call can be applied.
func TestFoldTakesCallsFromNowhere(t *testing.T) {
	for name, above := range map[string]int{"below itself": 2, "a second first": 0} {
		f := state.New()
		require.NoError(t, f.Apply(&adk.Crossing{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}}))
		require.Error(t, f.Apply(&adk.Crossing{Kind: adk.KindCall, ID: 2, Call: above}), name)
		require.NoError(t, f.Apply(&adk.Crossing{Kind: adk.KindAdd, Call: 2, Collection: adk.Messages, Record: tracetest.AMessage("m", adk.RoleUser, "x")}))
		assert.Len(t, f.Seen(2).Records(adk.Messages), 1, name)
	}
}

// Several goroutines may report through one call (RUN-11). Their events are told apart by time and, in a
// run, by their payload.
func TestFoldTellsReportsOfOneCallApart(t *testing.T) {
	f := state.New()
	require.NoError(t, f.Apply(&adk.Crossing{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelDispatch}}))
	update := func(id string) adk.MessageEvent {
		return adk.MessageEvent{ID: id, Delta: id, Full: id, CreatedAt: tracetest.FoldStart, UpdatedAt: tracetest.FoldStart}
	}
	for _, id := range []string{"a", "b", "c"} {
		require.NoError(t, f.Apply(&adk.Crossing{Kind: adk.KindReportMessage, Call: 1, Name: id, Text: id, At: tracetest.FoldStart}))
	}
	for _, id := range []string{"b", "c", "a"} {
		event := &adk.Crossing{Kind: adk.KindMessageEvent, Call: 1, At: tracetest.FoldStart, Payload: update(id)}
		require.NoError(t, f.CheckPayload(event))
		require.NoError(t, f.Apply(event))
	}
	assert.Zero(t, f.Untold())
}

// HLP-5: folding and checking a delta does not copy the text of its stream so
// far.
func TestFoldOfAStreamIsLinear(t *testing.T) {
	const deltas = 20_000
	delta := strings.Repeat("x", 50)
	f := state.New()
	require.NoError(t, f.Apply(&adk.Crossing{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelDispatch}}))
	allocated := allocs.Bytes(func() {
		for i := range deltas {
			report := adk.Crossing{Kind: adk.KindReportMessage, Call: 1, Name: "m", Text: delta, Flag: i == deltas-1}
			event := adk.Crossing{Kind: adk.KindMessageEvent, Call: 1}
			err := f.Apply(&report)
			event.Payload = f.Payload(&event)
			if err = errors.Join(err, f.CheckPayload(&event), f.Apply(&event)); err != nil {
				t.Fatal(err)
			}
		}
	})
	assert.Less(t, allocated, uint64(100<<20), "copies of the text would be ten gigabytes")
}

// HLP-3, TOL-4: the call that was parsed last is not parsed again, and is not mistaken for another one: not for a
// call of another tool or with other arguments, and not after Reset.
func TestCallsAreKnownByToolAndArguments(t *testing.T) {
	f := state.New()
	for _, text := range []string{`{}`, `{"city":"Oslo"}`, `{"city":5}`} {
		for _, tool := range []string{"peek", "peek", "weather", "", "peek"} {
			f.Reset()
			args, id, err := f.Called(tool, text)
			require.NoError(t, err)
			want, err := canonical.Object(text)
			require.NoError(t, err)
			assert.Equal(t, want, args, "%s(%s)", tool, text)
			if tool == "" {
				assert.Empty(t, id)
				continue
			}
			checksum, err := canonical.Checksum(tool, want)
			require.NoError(t, err)
			assert.Equal(t, checksum, id, "%s(%s)", tool, text)
		}
	}
	_, _, err := f.Called("peek", `[]`)
	assert.ErrorContains(t, err, "object")
}
