package whatif_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/livetest"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/replay/transcript"
	"github.com/adkreplay/adkreplay/replay/whatif"
	"github.com/adkreplay/adkreplay/scenarios"
)

// suppose applies overrides to an embedded trace.
func suppose(t *testing.T, name string, sets ...string) *whatif.Report {
	t.Helper()
	var answers []whatif.Override
	for _, set := range sets {
		answers = append(answers, tracetest.Must(whatif.ParseOverride(set)))
	}
	return supposeAnswers(t, name, answers...)
}

func supposeAnswers(t *testing.T, name string, answers ...whatif.Override) *whatif.Report {
	t.Helper()
	trace := tracetest.Must(fixtures.Traces.ReadFile(name + ".jsonl"))
	report, err := whatif.Run(t.Context(), bytes.NewReader(trace), replay.Live{}, answers)
	require.NoError(t, err)
	var again bytes.Buffer
	_ = tracetest.Must(report.Trace.WriteTo(&again))
	verified, err := replay.Verify(t.Context(), &again, replay.Live{})
	require.NoError(t, err)
	assert.Nil(t, verified.Divergence, "the new trace is one like any other: %s", verified)
	return report
}

// whatIfTranscript is the new run as a transcript.
func whatIfTranscript(t *testing.T, r *whatif.Report) string {
	t.Helper()
	var trace, text bytes.Buffer
	_ = tracetest.Must(r.Trace.WriteTo(&trace))
	require.NoError(t, transcript.Write(&text, &trace))
	return text.String()
}

// What the engine does with each kind of override.
func TestWhatIf(t *testing.T) {
	for _, test := range []struct {
		name, trace string
		sets        []string
		says        []string // in the report
		happens     []string // in the transcript of the new run
		not         []string // and not there
	}{
		{"a tool's result", "tool-round-trip", []string{"22.result=cold"},
			[]string{`result.text: "4 °C, rain" → "cold"`, "answered something else: executor/model#0 at 19"},
			[]string{`tool/weather {"city":"Oslo"} → "cold"`}, nil},
		{"a tool's result, from its execute", "tool-round-trip", []string{`19.result={"temperature":4}`},
			[]string{"set 22.result in tool/weather"}, []string{`→ "{\"temperature\":4}"`}, nil},
		{"arguments that the schema refuses", "tool-round-trip", []string{"19.args.city=7"}, // TOL-2
			[]string{"err: nothing → {\"code\":\"E_INVALID_TOOL_ARGS\"", "answered something else: executor/model#0 at 19"},
			[]string{`execute weather {"city":7} → error E_INVALID_TOOL_ARGS`}, []string{"tool/weather {", "toolExecutionStart"}},
		{"other arguments that it takes", "tool-round-trip", []string{"19.args.city=Bergen"},
			[]string{"asked something else: tool/weather at 21", `args.city: "Oslo" → "Bergen"`},
			[]string{`tool/weather {"city":"Bergen"} → "4 °C, rain"`}, nil},
		{"a tool that fails", "tool-round-trip", []string{"tool/weather.error=503"},
			[]string{`set 22.err`, `result: {"text":"4 °C, rain"} → nothing`},
			[]string{"E_TOOL_DOWNSTREAM_ERROR: tool weather failed: 503", "toolExecutionEnd weather failed"}, nil},
		{"a tool that panics", "tool-round-trip", []string{`22.error={"panic":"boom"}`},
			[]string{`outcome: "ok" → "panic"`}, []string{"E_TOOL_DOWNSTREAM_ERROR"}, nil},
		{"what a storage has", "hydration", []string{`storage/messages.fetch.records[0].content=Who is there?`},
			[]string{"answered something else: turn-input/"}, []string{`"Who is there?"`}, nil},
		{"what a storage has, by key", "tool-round-trip", []string{`6.records[q1].content=Who is there?`},
			[]string{`message q1.content: "What is the weather in Oslo?" → "Who is there?"`}, []string{`add m1 user "What is the weather in Oslo?"`}, nil},
		{"a storage that has nothing", "tool-round-trip", []string{"6.records=[]"},
			[]string{"answered something else: turn-input/hydrate at 4"}, []string{"storage/messages.fetch → nothing"}, nil},
		{"a record that is added, and the one in the set", "tool-round-trip", []string{"8.record.content=Who is there?"},
			[]string{"shown something else: executor/model#0", `messages q1.content: "What is the weather in Oslo?" → "Who is there?"`}, nil, nil},
		{"a storage that fails", "tool-round-trip", []string{"29.error=the disk is full"},
			[]string{"answered something else: executor/model#0 at 27"}, []string{"store call1", "error: the disk is full"},
			[]string{"1 tool call (call1)"}}, // DEL-1
		{"a gate that is denied", "gate-approved", []string{"24.error=no"},
			[]string{`result: "resolved" → "rejected"`}, []string{"gate1 is rejected by approver: no"}, nil},
		{"a gate by its name", "gate-approved", []string{"gate1.error=no"},
			[]string{`result: "resolved" → "rejected"`}, []string{"gate1 is rejected by approver: no"}, nil},
		{"a gate that refuses, and times out", "gate-approved", []string{`24.value={"approved":"perhaps"}`},
			[]string{`result: "resolved" → "refused"`, "set 24.value in tool/delete\n"},
			[]string{"E_INVALID_TURN_GATE_RESOLUTION", "gate1 times out"}, nil},
		{"a gate that refuses, and that nobody else settles", "gate-approved", []string{`24.value={"approved":"perhaps"}`, "22.timeout=0s"},
			[]string{"without an answer in the recording\n  tool/delete at 25 of b"}, []string{"gate1 is rejected by replay"}, nil},
		{"a gate whose time is over before it is settled", "gate-approved", []string{"24.at=2h"},
			[]string{`at: "0s" → "2h0m0s"`, "did not come to pass"}, []string{"gate1 times out"}, []string{"gate1 is resolved"}},
		{"a longer time for a gate", "gate-timeout", []string{"22.timeout=2h"},
			[]string{`at: "1h0m0s" → "2h0m0s"`}, []string{"within 2h0m0s"}, nil},
		{"a sleep that another strand now overtakes", "parallel-tools", []string{"36.for=40ms"},
			[]string{`for: "10ms" → "40ms"`}, nil, nil},
		{"an executor that fails", "tool-round-trip", []string{"executor/model#1.error=rate limited"}, // DSP-6
			[]string{`status: "ack" → "nack"`, "1 follow"}, []string{"E_LLM_EXECUTION_EXECUTOR_ERROR", "rate limited", "1 change discarded"}, nil},
		{"an executor that fails before it is done", "tool-round-trip", []string{"executor/model#0.error=rate limited"},
			[]string{"only in a"}, []string{"nack after 1 iteration"}, []string{"executor/model#1"}},
		{"an executor that goes on", "abort-by-error", []string{"executor/model#0.error=null"}, nil, nil, nil},
		{"a cancel", "tool-round-trip", []string{"36.cancel=the user has left"}, // ABT-7
			[]string{`cancel: nothing → {"text":"the user has left"}`, "note: scripted seams do not heed a cancel"},
			[]string{"cancelled from outside: the user has left", "aborted after 2 iterations"}, nil},
		{"a cancel before all", "hello", []string{"1.cancel=too late"}, // ABT-12
			[]string{"only in a"}, []string{"turnStart", "turnEnd"}, []string{"executor"}},
		{"another reason", "abort-from-outside", []string{"25.cause=ctrl-c"},
			[]string{`cause.text: "the user has left" → "ctrl-c"`}, []string{"from outside: ctrl-c"}, nil},
		{"the prompt", "tool-round-trip", []string{"run.prompt=42"},
			[]string{"shown something else: executor/model#0", `prompt: "You are a helpful assistant." → "42"`}, []string{`run "42"`}, nil},
		{"a tool of the run", "tool-round-trip", []string{`1.records[weather].inputSchema.properties.city.type=integer`},
			[]string{"answered something else: executor/model#0 at 19"}, []string{"E_INVALID_TOOL_ARGS: /city: type, want integer"}, nil},
		{"an id", "tool-round-trip", []string{"2.turn=other"}, []string{"the same", "other name in b: 1"}, nil, nil},
		{"several", "tool-round-trip", []string{"22.result=cold", "25.results=cold", `27.record.results={"text":"cold"}`},
			[]string{"asked something else: storage/toolCalls.store"}, []string{`call1 gave "cold" complete`, `gave "cold" in toolCalls`}, []string{"4 °C, rain"}},
		{"one that is not reached any more", "tool-round-trip", []string{"19.args.city=7", "22.result=cold"},
			[]string{"set 22.result in tool/weather, which did not come to pass"}, nil, []string{"cold"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := suppose(t, test.trace, test.sets...)
			text, happens := r.String(), whatIfTranscript(t, r)
			for _, says := range test.says {
				assert.Contains(t, text, says)
			}
			for _, line := range test.happens {
				assert.Contains(t, happens, line)
			}
			for _, line := range test.not {
				assert.NotContains(t, happens, line)
			}
			if t.Failed() {
				t.Logf("\n%s\n%s", text, happens)
			}
		})
	}
}

// An executor that asks once more than recorded gets no answer, and the report says so.
func TestWhatIfThereIsNoAnswer(t *testing.T) {
	r := suppose(t, "abort-by-error", "executor/model#0.error=null")
	require.Len(t, r.Unanswered, 1, "%s", r)
	assert.Equal(t, "executor/model#1", r.Unanswered[0].Seam)
	assert.Contains(t, whatIfTranscript(t, r), stub.ErrUnanswered.Error())
}

// An override that sets what is already there changes nothing, wherever it is: if no answer is
// new, the turn is as recorded.
func TestWhatIfNothingIsOther(t *testing.T) {
	for _, s := range scenarios.All() {
		t.Run(s.Name, func(t *testing.T) {
			trace := tracetest.Must(fixtures.Traces.ReadFile(s.Name + ".jsonl"))
			answers := whatif.Settable(t, trace)
			require.NotEmpty(t, answers)
			r, err := whatif.Run(t.Context(), bytes.NewReader(trace), replay.Live{}, answers)
			require.NoError(t, err)
			assert.True(t, r.Diff.Same(), "%s", r)
			assert.Empty(t, r.AsRecorded, "%s", r)
			assert.Empty(t, r.Unanswered)
			assert.Empty(t, r.Notes)
			for _, set := range r.Set {
				assert.Empty(t, set.Fields, set.Path)
				assert.True(t, set.Reached, set.Path)
			}
		})
	}
}

// Whatever is removed, or fails, the turn ends and is a valid turn. A normal run tries a sixth of
// the overrides.
func TestWhatIfEndsWhateverIsSet(t *testing.T) {
	t.Parallel()
	every := tracetest.AllMutants()
	for _, name := range []string{"gate-invalid-then-valid", "parallel-tools", "planner", "read-image",
		"gates-aborted", "ephemeral-tools", "abort-from-outside"} {
		t.Run(name, func(t *testing.T) {
			trace := tracetest.Must(fixtures.Traces.ReadFile(name + ".jsonl"))
			n, ran := 0, 0
			for _, a := range whatif.Settable(t, trace) {
				for _, value := range []any{nil, "x", json.RawMessage(`{"panic":"boom"}`), json.RawMessage(`"goexit"`)} {
					if n++; n%6 != 0 && !every {
						continue
					}
					r, err := whatif.Run(t.Context(), bytes.NewReader(trace), replay.Live{}, []whatif.Override{{Path: a.Path, Value: value}})
					if err != nil {
						require.ErrorIs(t, err, whatif.ErrOverride)
						continue
					}
					var again bytes.Buffer
					_ = tracetest.Must(r.Trace.WriteTo(&again))
					verified, err := replay.Verify(t.Context(), &again, replay.Live{})
					require.NoError(t, err, "%s=%s", a.Path, value)
					assert.Nil(t, verified.Divergence, "%s=%s: %s", a.Path, value, verified)
					ran++
				}
			}
			assert.Greater(t, ran, n/20)
		})
	}
}

// Overrides may be Go values: an error keeps what errors.Is finds, records and results are taken
// whole, and plain data is used as it is.
func TestWhatIfTakesValues(t *testing.T) {
	at := time.Date(2024, 12, 31, 0, 0, 0, 0, time.UTC)
	question := tracetest.Must(adk.NewMessage(adk.MessageInit{ID: "q9", Role: adk.RoleUser, Content: "And in Bergen?", CreatedAt: at, UpdatedAt: at}))
	r := supposeAnswers(t, "tool-round-trip",
		whatif.Override{Path: "6.records", Value: []adk.Record{question, question}},
		whatif.Override{Path: "8.record", Value: question},
		whatif.Override{Path: "19.args", Value: map[string]any{"city": "Bergen"}},
		whatif.Override{Path: "22.result", Value: adk.Bytes("wet")},
		whatif.Override{Path: "executor/model#1.error", Value: fmt.Errorf("reading: %w", io.ErrUnexpectedEOF)})
	text := whatIfTranscript(t, r)
	assert.Contains(t, text, `→ m1 user "And in Bergen?", m1`)
	assert.Contains(t, text, `tool/weather {"city":"Bergen"} → 3 bytes "wet"`)
	assert.Contains(t, text, "reading: unexpected EOF")
	for _, line := range r.Trace.Lines() {
		if line.Kind == adk.KindReturn && line.Err != nil {
			assert.ErrorIs(t, line.Err, io.ErrUnexpectedEOF)
		}
	}
	for _, set := range r.Set {
		assert.True(t, set.Reached, set.Path)
	}
}

// A live seam reacts to the new answer of a recorded one.
func TestWhatIfLiveCodeReacts(t *testing.T) {
	d := livetest.NewDesk()
	trace := d.Record(t)
	config := d.Config()
	model := config.Executor.Run
	failed := 0
	config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		err := model(ctx, dc, h)
		if errors.Is(err, adk.E_TOOL_DOWNSTREAM_ERROR) {
			failed++
			return dc.Nack(errors.New("the shop cannot be reached"))
		}
		return err
	}
	tool := 0
	for x := range transcript.Expand(bytes.NewReader(trace)) {
		if x.Kind == "return" && x.Seam == "tool/order_status" {
			tool = x.Crossing
		}
	}
	live := replay.Live{Config: config, Seams: []string{replay.Executor}}
	r, err := whatif.Run(t.Context(), bytes.NewReader(trace), live, []whatif.Override{{Path: fmt.Sprintf("%d.error", tool), Value: "503"}})
	require.NoError(t, err)
	assert.Equal(t, 1, failed)
	assert.Contains(t, r.String(), "the shop cannot be reached")
	assert.Empty(t, r.AsRecorded, "%s", r)
	assert.Equal(t, []string{"network, files and memory of executor/model"}, r.Notes)

	_, err = whatif.Run(t.Context(), bytes.NewReader(trace), live, []whatif.Override{{Path: "executor/model#1.error", Value: "x"}})
	assert.ErrorIs(t, err, whatif.ErrOverride)
	assert.ErrorContains(t, err, "that is said by live code")
}

// An override that cannot be applied is refused, and the error names what can be set.
func TestWhatIfRefuses(t *testing.T) {
	for _, test := range []struct{ trace, set, says string }{
		{"tool-round-trip", "0.result=x", "there is no crossing 0: the trace has 1 to 50"},
		{"tool-round-trip", "51.result=x", "there is no crossing 51: the trace has 1 to 50"},
		{"tool-round-trip", "99999999999999999999.result=x", "there is no crossing 99999999999999999999"},
		{"tool-round-trip", "22=x", "22 names no field: what can be set is 22.outcome, 22.err, 22.result"},
		{"tool-round-trip", "22.resutl=x", `has no resutl; what can be set is 22.outcome, 22.err, 22.result`},
		{"tool-round-trip", "15.digest=x", "digest of state is the engine's own; nothing of crossing 15 (state: prompt, 1 message (m1), 1 tool (weather)) can be set; the nearest that can is 31.outcome"},
		{"tool-round-trip", "50.outcome=error", "how the run ended is the engine's own; what can be set is 1.prompt"},
		{"tool-round-trip", "46.error=x", "how the dispatch ended is the engine's own"},
		{"tool-round-trip", "21.args={}", "what tool/weather is handed is the engine's own; what can be set is 22.outcome"},
		{"tool-round-trip", "8.of=memories", "of says which add it is"},
		{"tool-round-trip", "8.replaced=true", "replaced of add is the engine's own; what can be set is 8.record"},
		{"tool-round-trip", "31.result=x", "executor/model#0 gives no result"},
		{"tool-round-trip", "31.records=[]", "executor/model#0 gives no records"},
		{"tool-round-trip", "45.status=nack", "status of dispatchEnd is the engine's own"},
		{"tool-round-trip", "executor/gpt.error=x", "begins neither with the number of a crossing nor with a seam that was called, or a gate: those are run, turn-input/hydrate"},
		{"parallel-tools", "tool/weather.result=x", "tool/weather is there 3 times: give the number of the crossing, which is one of"},
		{"gate-invalid-then-valid", "22.value=x", "several crossings have that: give the number of one of 24 ("},
		{"gate-approved", "gate2.value=x", "tool/delete, gate1"},
		{"gate-timeout", "25.value=x", "the engine settled the gate, and nobody outside"},
		{"gate-approved", "24.result=timeout", "somebody outside can make it resolved, rejected or aborted"},
		{"abort-from-outside", "25.by=stage", "who cancels is a crossing of its own"},
		{"abort-by-middleware", "cancel", "has no value"},
		{"abort-from-outside", "30.cancel=x", "the recorded run is cancelled before that already"},
		{"tool-round-trip", "30.cancel=null", "a cancel needs a reason"},
		{"tool-round-trip", "30.cancel.text=x", `cancel is one value, and ".text" is not in it`},
		{"tool-round-trip", "30.at=soon", "no time since the crossing before"},
		{"tool-round-trip", "30.at=-1s", "is before the crossing before"},
		{"tool-round-trip", "22.outcome=error", "needs what it says: set the error"},
		{"tool-round-trip", "22.outcome=fine", "outcome"},
		{"tool-round-trip", "6.records[3].content=x", `a list of 1 has no "[3].content"`},
		{"tool-round-trip", "6.records[0].role=robot", "role"},
		{"tool-round-trip", "6.records=7", "7"},
		{"tool-round-trip", "17.args.city.name=x", `a text has no ".name"`},
		{"tool-round-trip", "17.complete=perhaps", "true or false"},
		{"tool-round-trip", "run.prompt=null", "1.prompt: the engine refuses the run with that: E_INVALID_TURN_CONTEXT"},
		{"tool-round-trip", `1.records[weather].name=`, "name"},
		{"read-image", "run.prompt.x=y", `a text has no ".x"`},
	} {
		t.Run(test.set, func(t *testing.T) {
			trace := tracetest.Must(fixtures.Traces.ReadFile(test.trace + ".jsonl"))
			answer, err := whatif.ParseOverride(test.set)
			if err == nil {
				_, err = whatif.Run(t.Context(), bytes.NewReader(trace), replay.Live{}, []whatif.Override{answer})
				assert.ErrorIs(t, err, whatif.ErrOverride)
			}
			assert.ErrorContains(t, err, test.says)
		})
	}
}

// Two overrides of the same answer are refused, however their paths are written, since one of them would be lost.
func TestWhatIfAnsweredTwice(t *testing.T) {
	trace := tracetest.Must(fixtures.Traces.ReadFile("tool-round-trip.jsonl"))
	twice := []whatif.Override{{Path: "1.prompt", Value: "Be kind."}, {Path: "run.prompt", Value: "Be brief."}}
	_, err := whatif.Run(t.Context(), bytes.NewReader(trace), replay.Live{}, twice)
	assert.ErrorIs(t, err, whatif.ErrOverride)
	assert.EqualError(t, err, "replay: run.prompt: it is answered twice, and only one of the answers can be given")
}

// A trace that breaks off, or holds no run, is not run.
func TestWhatIfOfNoTrace(t *testing.T) {
	whole := tracetest.Must(fixtures.Traces.ReadFile("hello.jsonl"))
	header, _, _ := bytes.Cut(whole, []byte("\n"))
	for _, recorded := range [][]byte{nil, whole[:len(whole)/2], append(header, '\n')} {
		r, err := whatif.Run(t.Context(), bytes.NewReader(recorded), replay.Live{}, nil, trace.Options{File: "hello.jsonl"})
		assert.Nil(t, r)
		assert.ErrorAs(t, err, new(*trace.FormatError))
	}
}

// A run that is interrupted has no report.
func TestWhatIfInterrupted(t *testing.T) {
	trace := tracetest.Must(fixtures.Traces.ReadFile("hello.jsonl"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := whatif.Run(ctx, bytes.NewReader(trace), replay.Live{}, nil)
	assert.Nil(t, r)
	assert.ErrorIs(t, err, context.Canceled)
}

func ExampleRun() {
	trace, err := fixtures.Traces.Open("tool-round-trip.jsonl")
	if err != nil {
		panic(err)
	}
	defer trace.Close()
	r, err := whatif.Run(context.Background(), trace, replay.Live{}, []whatif.Override{{Path: "19.args.city", Value: 7}})
	if err != nil {
		panic(err)
	}
	for _, c := range r.Diff.Changes {
		if c.LineB != "" {
			fmt.Println(c.LineB)
		}
	}
	for _, a := range r.AsRecorded {
		fmt.Println(a.Seam, "was", a.Was, "something else, and did as recorded")
	}
	// Output:
	// execute weather {"city":7}
	// execute done → error E_INVALID_TOOL_ARGS: /city: type, want string
	// executor/model#0 was answered something else, and did as recorded
}

// A trace that holds no run is refused with its file and its line.
func TestImpossibleTraceHasItsPlace(t *testing.T) {
	lines := []string{tracetest.HeaderLine, `{"kind":"call","id":1,"seam":"executor/m#0"}`}
	_, err := whatif.Run(t.Context(), bytes.NewReader(tracetest.Seal(lines, "")), replay.Live{}, []whatif.Override{{Path: "1.cancel", Value: "now"}}, trace.Options{File: "t.jsonl"})
	require.ErrorContains(t, err, "t.jsonl:2: impossible trace: it begins with the call of executor/m#0 and not of run")
}
