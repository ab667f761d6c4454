package property_test

import (
	"errors"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/property"
)

// Every scenario satisfies every invariant.
func TestFixturesHold(t *testing.T) {
	for _, r := range recordings(t) {
		assert.Empty(t, property.Violations(r.info, r.told()), r.name)
	}
}

// Each invariant names the rule of the contract that it follows from, and says in one sentence what
// goes wrong without it.
func TestInvariantsSayWhy(t *testing.T) {
	contract, err := os.ReadFile("../CONTRACT.md")
	require.NoError(t, err)
	names := map[string]bool{}
	for _, invariant := range property.Invariants() {
		assert.False(t, names[invariant.Name], "%s is there twice", invariant.Name)
		names[invariant.Name] = true
		assert.Regexp(t, `^[a-z]+(-[a-z]+)*$`, invariant.Name)
		assert.Contains(t, string(contract), "\n- **"+invariant.Rule+"**", "%s: the rule is in the contract", invariant.Name)
		assert.Regexp(t, `^[A-Z][^.]+\.$`, invariant.Breaks, invariant.Name)
		assert.NotEmpty(t, property.KindsOf(invariant), invariant.Name)
		assert.NotNil(t, hands[invariant.Name], "%s: a hand that breaks it", invariant.Name)
	}
	assert.Len(t, hands, len(names), "each hand breaks an invariant that there is")
}

// hand is an edit of a fixture that breaks one invariant and no other.
type hand struct {
	fixture string
	edit    func(r *recording)
	says    string
}

var hands = map[string]*hand{
	"turn-bounds": {fixture: "hello", edit: func(r *recording) { r.drop(r.find(adk.KindTurnStart, adk.Whole, 0)) }, says: "is told before turnStart"},
	"calls-nest":  {fixture: "hello", edit: func(r *recording) { r.at(adk.KindAdd, adk.Whole, 0).Strand = 7 }, says: "add says strand 7"},
	"strands-joined": {fixture: "parallel-tools", edit: func(r *recording) { r.at(adk.KindFork, adk.Whole, 1).Name = "other" },
		says: "was forked as strand/other"},
	"operations-pair": {fixture: "hello", edit: func(r *recording) { r.drop(r.find(adk.KindAck, adk.Done, 0)) }, says: "executor/model#0 returns, and its ack is never done"},
	"handles-end": {fixture: "hello", edit: func(r *recording) {
		r.insert(r.find(adk.KindDispatchEnd, adk.Whole, 0), adk.Crossing{Kind: adk.KindNow, Call: r.lines[r.called(adk.LabelExecutor, 0)].ID})
	}, says: "now on a handle of executor/model#0, which has returned"},
	"nothing-after-end": {fixture: "hello", edit: func(r *recording) { r.insert(len(r.lines)-1, adk.Crossing{Kind: adk.KindNow, Call: 1}) }, says: "now comes after the end"},
	"ids-unique": {fixture: "hello", edit: func(r *recording) {
		r.at(adk.KindDispatchStart, adk.Whole, 0).Name = r.at(adk.KindTurnStart, adk.Whole, 0).Name
	}, says: "was given out before"},
	"times-monotonic": {fixture: "hello", edit: func(r *recording) { r.lines[9].At = r.lines[9].At.Add(-time.Second) }, says: "the time goes back by 1s"},

	"stages-in-order":    {fixture: "hello", edit: func(r *recording) { r.info.TurnOutput = []string{"memorize"} }, says: "without its output, although the dispatch was acked"},
	"pipelines-in-order": {fixture: "hello", edit: func(r *recording) { r.info.TurnInput = []string{"other"} }, says: `turn-input/hydrate is called as middleware 1, and the pipeline is ["other"]`},
	"loop-in-order":      {fixture: "hello", edit: func(r *recording) { r.info.Executor = "other" }, says: `the executor of the dispatch is "other"`},
	"iterations-counted": {fixture: "hello", edit: func(r *recording) { r.at(adk.KindDispatchEnd, adk.Whole, 0).N++ }, says: "counts 2 iterations, and 1 were started"},
	"one-error":          {fixture: "executor-panic", edit: func(r *recording) { r.drop(r.find(adk.KindErrorEvent, adk.Whole, 0)) }, says: "no error was told"},
	"one-status":         {fixture: "planner-nacked", edit: func(r *recording) { r.at(adk.KindDispatchEnd, adk.Whole, 0).Err = nil }, says: "nack and without an error"},
	"states-told":        {fixture: "hello", edit: func(r *recording) { r.drop(r.find(adk.KindState, adk.Whole, 1)) }, says: "1 states of the run were told"},

	"first-signal-wins": {fixture: "late-signal", edit: func(r *recording) { r.at(adk.KindNack, adk.Whole, 0).Err = nil }, says: "a second signal is accepted"},
	"nacks-kept": {fixture: "refused-answer", edit: func(r *recording) { r.at(adk.KindDispatchEnd, adk.Whole, 0).Err = errors.New("something else") },
		says: "the dispatch was nacked with no answer at all, and ends with something else"},
	"signal-ends-loop": {fixture: "tool-round-trip", edit: func(r *recording) {
		r.drop(r.find(adk.KindAck, adk.Done, 0))
		r.drop(r.find(adk.KindAck, adk.Begin, 0))
		first := r.lines[r.called(adk.LabelExecutor, 0)].ID
		for i, op := range r.lines { // those after it are later ones
			if op.Op > 4 {
				r.lines[i].Op += 10
			}
		}
		r.insert(r.find(adk.KindIterationEnd, adk.Whole, 0)-1,
			adk.Crossing{Kind: adk.KindAck, Phase: adk.Begin, Op: 5, Call: first}, adk.Crossing{Kind: adk.KindAck, Phase: adk.Done, Op: 5, Call: first})
	}, says: "the iteration ends as if the dispatch went on"},
	"abort-starts-nothing": {fixture: "abort-by-middleware", edit: func(r *recording) {
		policy := r.lines[r.called(adk.LabelTurnInput, 1)].ID
		r.insert(r.find(adk.KindNext, adk.Begin, 1)+1,
			adk.Crossing{Kind: adk.KindCall, Call: policy, ID: 99, Seam: adk.Seam{Label: adk.LabelTurnInput, Name: "hydrate"}},
			adk.Crossing{Kind: adk.KindReturn, Call: policy, ID: 99, Outcome: adk.OutcomeOK})
	}, says: "turn-input/hydrate is entered although the run is aborted"},
	"abort-asks-nothing": {fixture: "abort-while-asking", edit: func(r *recording) {
		at, call := r.find(adk.KindCancel, adk.Whole, 0)+1, r.lines[r.called(adk.LabelExecutor, 0)].ID
		for i, x := range r.lines {
			if x.Op >= 90 {
				r.lines[i].Op += 100
			}
		}
		r.insert(at, adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, Op: 90, Call: call, Name: "model"},
			adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, Op: 90, Call: call, JSON: []byte(`"yes"`)})
	}, says: "although the run was aborted before"},
	"pieces-within-asks": {fixture: "asks-a-model", edit: func(r *recording) {
		at := r.find(adk.KindPiece, adk.Whole, 0)
		r.insert(r.find(adk.KindAsk, adk.Done, 0)+1, r.lines[at])
	}, says: "which is no ask that is open"},
	"asks-end-with-calls": {fixture: "asks-a-model", edit: func(r *recording) {
		at := r.find(adk.KindAsk, adk.Done, 0)
		done, call := r.lines[at], r.lines[at].Call
		r.drop(at)
		for i, x := range r.lines {
			if x.Kind == adk.KindReturn && x.ID == call {
				r.insert(i+1, done)
				return
			}
		}
	}, says: "the end of what it asked was not told before"},
	"abort-told-once": {fixture: "abort-after-ack", edit: func(r *recording) {
		at := r.find(adk.KindCancel, adk.Whole, 0)
		r.insert(at+1, r.lines[at])
	}, says: "cancelled a second time"},
	"on-ack-once": {fixture: "ephemeral-tools", edit: func(r *recording) { r.lines[r.called(adk.LabelOnAck, 0)].Seam.Name = "other" },
		says: "on-ack handler other runs where prune-ephemeral is the next one"},
	"ephemeral-pruned": {fixture: "ephemeral-tools", edit: func(r *recording) {
		r.drop(r.find(adk.KindPrune, adk.Whole, 0))
	}, says: "the ephemeral tool peek is still there"},

	"streams-sealed": {fixture: "sealed-stream", edit: func(r *recording) { r.at(adk.KindReportMessage, adk.Whole, 1).Err = errors.New("no") },
		says: "is answered with no, and the stream is sealed"},
	"reports-told": {fixture: "streamed-reply", edit: func(r *recording) { r.drop(r.find(adk.KindMessageEvent, adk.Whole, 3)) }, says: "1 of the reports"},
	"emits-as-given": {fixture: "refused-answer", edit: func(r *recording) {
		at := r.find(adk.KindNack, adk.Whole, 0)
		review, given := r.lines[at].Call, adk.MessageEvent{ID: "m", Delta: "a"}
		told := given
		told.TurnID = "t"
		r.insert(at, adk.Crossing{Kind: adk.KindEmitMessage, Phase: adk.Begin, Op: 99, Call: review, Payload: given},
			adk.Crossing{Kind: adk.KindMessageEvent, Call: review, Payload: told},
			adk.Crossing{Kind: adk.KindEmitMessage, Phase: adk.Done, Op: 99, Call: review})
	}, says: "and what was emitted is"},
	"tools-settled": {fixture: "tool-round-trip", edit: func(r *recording) { r.at(adk.KindToolExecutionEnd, adk.Whole, 0).IsError = true }, says: "and the handler ended with \"ok\""},
	"call-ids":      {fixture: "tool-round-trip", edit: func(r *recording) { r.at(adk.KindToolExecutionStart, adk.Whole, 0).Key = "0" }, says: "is not the checksum 0666dc0b"},
	"gates-settle-once": {fixture: "gate-approved", edit: func(r *recording) { r.drop(r.find(adk.KindTurnGateClosed, adk.Whole, 0)) },
		says: "turnGateClosed was not told"},

	"storage-receipt": {fixture: "hello", edit: func(r *recording) { r.lines[r.called(adk.LabelStorage, 1)].Seam.Name = "messages.mutate" },
		says: "storage/messages.mutate is called, and executor/model#0 has no such operation open"},
	"bodies-as-marked": {fixture: "artifact-grep", edit: func(r *recording) {
		done := r.at(adk.KindOpenMedia, adk.Done, 0)
		done.Value = append([]byte("x"), done.Value.([]byte)...)
	}, says: "what was read of an artifact is not what its mark says"},
	"questions-change-nothing": {fixture: "artifact-grep", edit: func(r *recording) {
		at := r.find(adk.KindOpenMedia, adk.Begin, 0)
		r.insert(at, adk.Crossing{Kind: adk.KindRemove, Call: r.lines[at].Call, Collection: adk.Messages, Key: "unknown"})
	}, says: "a question to an artifact makes a remove"},
	"flush-in-order": {fixture: "write-behind", edit: func(r *recording) {
		r.lines[r.called(adk.LabelStorage, 1)].Record = r.at(adk.KindStore, adk.Begin, 1).Record
	}, says: "is called by the flush, and the change of messages is the next one"},
	"sets-keyed": {fixture: "hello", edit: func(r *recording) { r.at(adk.KindAdd, adk.Whole, 0).Flag = true }, says: "says true of whether the key was in messages"},
	"deltas-whole": {fixture: "executor-panic", edit: func(r *recording) {
		r.looks(1, func(s *adk.StateDigest, _ *state.Fold) {
			messages := s.Of(adk.Messages)
			*messages = append(*messages, r.at(adk.KindStore, adk.Begin, 0).Record.Digest())
		})
	}, says: "the turn holds 1 of 1 changes of a failed iteration"},
	"stored-mirrored": {fixture: "hello", edit: func(r *recording) {
		first := func(s *adk.StateDigest, _ *state.Fold) { messages := s.Of(adk.Messages); *messages = (*messages)[:1] }
		r.looks(1, first)
		r.looks(2, first)
	}, says: "the turn holds none of 1 changes that were stored and flushed"},
	"stash-apart": {fixture: "stash", edit: func(r *recording) {
		r.looks(1, func(s *adk.StateDigest, f *state.Fold) {
			s.Stash = adk.StashDigest(f.Seen(r.lines[r.called(adk.LabelDispatch, 0)].ID).Stash())
		})
	}, says: "the stash that is seen in run is that of dispatch"},
	"states-fold": {fixture: "hello", edit: func(r *recording) { r.at(adk.KindState, adk.Whole, 0).Digest[0]++ }, says: "the engine gives"},
}

// looks changes the digest of the n-th state.
func (r *recording) looks(n int, delta func(*adk.StateDigest, *state.Fold)) {
	at := r.find(adk.KindState, adk.Whole, n)
	f := state.New()
	for i := range at {
		_ = f.Apply(&r.lines[i])
	}
	state := f.StateDigest(r.lines[at].Call)
	delta(&state, f)
	r.lines[at].Digest = state.Digest()
}

// Each invariant is broken by an edit that breaks no other invariant, and the violation says what is
// wrong.
func TestEachInvariantAlone(t *testing.T) {
	thorough.Long(t)
	thorough.OneGoroutine(t)
	for name, hand := range hands {
		t.Run(name, func(t *testing.T) {
			r := recorded(t, hand.fixture)
			hand.edit(&r)
			found := property.Violations(r.info, r.told())
			require.NotEmpty(t, found)
			for _, v := range found {
				assert.Equal(t, name, v.Invariant, v.Text)
				assert.True(t, slices.IsSorted(v.Related))
				if len(v.Related) > 0 {
					assert.Less(t, v.Related[len(v.Related)-1], v.Crossing)
				}
			}
			assert.Contains(t, found[0].Text, hand.says)
		})
	}
}

// ABT-7: an ask that is marked as made in spite of the abort may be answered.
func TestAsksAfterAnAbortAreAnswered(t *testing.T) {
	hand := hands["abort-asks-nothing"]
	r := recorded(t, hand.fixture)
	hand.edit(&r)
	for i := range r.lines {
		if x := &r.lines[i]; x.Kind == adk.KindAsk && x.Phase == adk.Begin && x.Op == 90 {
			x.Flag = true
		}
	}
	assert.Empty(t, property.Violations(r.info, r.told()))
}

// ABT-7: an ask with that mark is a violation if the run was not aborted before it.
func TestAsksThatWereNoneAfterAnAbort(t *testing.T) {
	said := 0
	for _, r := range recordings(t) {
		for i := range r.lines {
			switch x := &r.lines[i]; {
			case x.Kind == adk.KindCancel:
				continue
			case x.Kind != adk.KindAsk || x.Phase != adk.Begin || slices.ContainsFunc(r.lines[:i], func(x adk.Crossing) bool { return x.Kind == adk.KindCancel }):
				continue
			}
			lines := slices.Clone(r.lines)
			lines[i].Flag = true
			one := recording{info: r.info, lines: lines}
			found := property.Violations(one.info, one.told())
			require.Len(t, found, 1)
			assert.Equal(t, "abort-asks-nothing", found[0].Invariant)
			said++
		}
	}
	assert.Positive(t, said)
}

// Edits of whole lines are noticed by some invariant, in at least these shares of all cases. Edits that
// are not noticed are legal: mostly, they swap two steps that a plain goroutine could have taken in the
// other order, or two equal states, or concern a step without an effect, such as setting the stash to the
// value that it has.
func TestEditsAreNoticed(t *testing.T) {
	thorough.Long(t)
	thorough.OneGoroutine(t)
	floors := map[string]float64{"dropped": 0.98, "twice": 0.98, "swapped": 0.79}
	tried, noticed := map[string]int{}, map[string]int{}
	for _, r := range recordings(t) {
		edited := func(what string, lines []adk.Crossing) {
			tried[what]++
			one := recording{info: r.info, lines: lines}
			if len(property.Violations(one.info, one.told())) > 0 {
				noticed[what]++
			}
		}
		for i := range r.lines {
			edited("dropped", slices.Delete(slices.Clone(r.lines), i, i+1))
			edited("twice", slices.Insert(slices.Clone(r.lines), i, r.lines[i]))
			if i+1 < len(r.lines) && !eitherWay(&r.lines[i], &r.lines[i+1]) {
				swapped := slices.Clone(r.lines)
				swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
				edited("swapped", swapped)
			}
		}
	}
	for what, floor := range floors {
		share := float64(noticed[what]) / float64(tried[what])
		t.Logf("%s: %d tried, %d noticed (%.1f %%)", what, tried[what], noticed[what], 100*share)
		assert.GreaterOrEqual(t, share, floor, what)
	}
}

// eitherWay reports whether two crossings may come in either order. That is so for steps of two strands, and
// for the pieces of answers, which come whenever the world sends them.
func eitherWay(a, b *adk.Crossing) bool {
	return a.Strand != b.Strand || a.Kind == adk.KindPiece || b.Kind == adk.KindPiece
}

// Every prefix of a turn satisfies the invariants for partial turns: nothing counts as missing because the
// end is missing.
func TestPrefixesHold(t *testing.T) {
	for _, r := range recordings(t) {
		for n := range r.lines {
			assert.Empty(t, property.ViolationsInPart(r.info, inOrder(r.lines[:n])), "%s, of which %d crossings are known", r.name, n)
		}
	}
}

// Crossings of any kind and in any order are examined without a panic.
func TestViolationsTakeAnything(t *testing.T) {
	thorough.OneGoroutine(t)
	for _, r := range recordings(t) {
		for i := range r.lines {
			property.Violations(adk.RunInfo{}, inOrder(r.lines[i:]))
			property.Hints(adk.RunInfo{}, inOrder(r.lines[i:]))
		}
	}
	for _, kind := range adk.Kinds() {
		for _, phase := range []adk.Phase{adk.Whole, adk.Begin, adk.Done} {
			for _, call := range []int{0, 1, -1, math.MaxInt} {
				bare := []adk.Crossing{{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}}, {Kind: kind, Phase: phase, Call: call, ID: call, Op: call}}
				property.Violations(adk.RunInfo{}, inOrder(bare))
				property.Violations(adk.RunInfo{}, inOrder(bare[1:]))
				property.Hints(adk.RunInfo{}, inOrder(bare))
			}
		}
	}
	assert.Empty(t, property.Violations(adk.RunInfo{}, inOrder(nil)))
}

// If an invariant is broken everywhere, only its first few violations are reported.
func TestViolationsAreBounded(t *testing.T) {
	r := recorded(t, "parallel-tools")
	for i := range r.lines {
		r.lines[i].At = r.lines[i].At.Add(-time.Duration(i) * time.Hour)
	}
	assert.Len(t, property.Violations(r.info, r.told()), property.MostOfOne)
}

// The listeners of a stream hear what its deltas add up to (HLP-1). A trace does not store this, but derives
// it, so a run can be compared with it.
func TestStreamsAreHeard(t *testing.T) {
	r := recorded(t, "streamed-reply")
	fold, events := state.New(), 0
	for i := range r.lines {
		if x := &r.lines[i]; x.Kind == adk.KindMessageEvent {
			x.Payload = fold.Payload(x)
			events++
		}
		require.NoError(t, fold.Apply(&r.lines[i]))
	}
	require.Greater(t, events, 3)
	assert.Empty(t, property.Violations(r.info, r.told()))
	x := r.at(adk.KindMessageEvent, adk.Whole, 2)
	e := x.Payload.(adk.MessageEvent)
	e.Full = strings.ToUpper(e.Full)
	x.Payload = e
	found := property.Violations(r.info, r.told())
	require.Len(t, found, 1)
	assert.Equal(t, "streams-sealed", found[0].Invariant)
	assert.Regexp(t, regexp.MustCompile(`which are not what its deltas make$`), found[0].Text)
}

func BenchmarkViolations(b *testing.B) {
	for _, name := range []string{"short-circuit-turn-input", "hello", "parallel-tools"} {
		b.Run(name, func(b *testing.B) {
			r := recorded(b, name)
			all := r.told()
			b.ReportAllocs()
			for b.Loop() {
				property.Violations(r.info, all)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(r.lines)), "ns/crossing")
		})
	}
}
