package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// WLD-1, WLD-4, WLD-5: asks are recorded, and a replay repeats them without asking anyone. This
// covers overlapping, abandoned, refused, late and unfinished asks.
func TestAsksAreVerified(t *testing.T) {
	var trace bytes.Buffer
	turn := tracetest.SampleTurn{Name: "asks", Prepare: func(t *tracetest.SampleKit) {
		tracetest.AsksTurn(t)
		t.Config.Probe = adk.MultiProbe(t.Config.Probe, replay.Record(&trace))
	}}
	told := turn.Run(t)
	for _, of := range []string{"profiles", "beside", "search", "audit", "tokens", "one", "two", "refused"} {
		assert.Contains(t, trace.String(), `"of":"`+of+`"`)
	}
	assert.Contains(t, trace.String(), `"request":{"n":1.5,"user":"u1"},"effect":"reads"`)
	assert.Contains(t, trace.String(), `"kind":"piece"`)
	report, err := replay.Verify(t.Context(), &trace, replay.Live{})
	require.NoError(t, err)
	assert.Nil(t, report.Divergence, "%s", report)
	assert.Equal(t, len(told), report.Crossings)
}

// world is a fake model. A request to it while live is set is a mistake.
type world struct {
	t    *testing.T
	live bool
}

func (w *world) ask(_ context.Context, request map[string]any) (string, error) {
	assert.False(w.t, w.live, "%s was asked", request)
	return fmt.Sprint("answer to ", request["messages"]), nil
}

// asking is a turn that makes the requests one after the other.
func asking(t *testing.T, requests ...map[string]any) (trace []byte, live func([]string, ...map[string]any) (*replay.Report, []string)) {
	w, now := &world{t: t}, requests
	var answers []string
	run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for _, request := range now {
			answer, err := adk.Ask(ctx, "model", request, w.ask)
			answers = append(answers, answer)
			if err != nil {
				answers[len(answers)-1] = err.Error()
			}
		}
		return dc.Ack()
	}
	var out bytes.Buffer
	tracetest.SampleTurn{Name: "asks", Prepare: func(t *tracetest.SampleKit) {
		t.Config.Executor.Run, t.Config.Probe = run, replay.Record(&out)
	}}.RunUnobserved(t)
	w.live = true
	return out.Bytes(), func(outside []string, requests ...map[string]any) (*replay.Report, []string) {
		now, answers, w.live = requests, nil, outside == nil
		l := replay.LiveExecutor(run)
		l.Outside = outside
		report, err := replay.Verify(t.Context(), bytes.NewReader(out.Bytes()), l)
		require.NoError(t, err)
		return report, answers
	}
}

// saying is a request with one message for each text.
func saying(texts ...any) map[string]any {
	return map[string]any{"model": "m", "temperature": 0.5, "messages": texts}
}

// WLD-6: live code gets its answers from the recording, and no real request is made. A changed
// request gets the answer of the most similar recorded request; the report names the changed
// members, and is never green. A request that resembles no recorded one gets no answer.
func TestLiveCodeAsksTheRecording(t *testing.T) {
	hello, more := saying("you are kind", "hello there"), saying("you are kind", "hello there", "answer one", "and the weather in Oslo today")
	_, live := asking(t, hello, more)
	report, answers := live(nil, hello, more)
	assert.Nil(t, report.Divergence, "%s", report)
	assert.Equal(t, []string{"answer to [you are kind hello there]", "answer to [you are kind hello there answer one and the weather in Oslo today]"}, answers)

	report, answers = live(nil, hello, saying("you are kind", "hello there", "answer one", "and the weather in Rome today"))
	require.NotNil(t, report.Divergence)
	assert.Equal(t, replay.ChangedInput, report.Divergence.Class)
	assert.Contains(t, report.String(), `request.messages[3]`)
	assert.Equal(t, "answer to [you are kind hello there answer one and the weather in Oslo today]", answers[1])

	report, answers = live(nil, hello, map[string]any{"messages": "nothing like it"})
	require.NotNil(t, report.Divergence)
	assert.Equal(t, replay.Unanswered, report.Divergence.Class)
	assert.Equal(t, replay.ErrUnanswered.Error(), answers[1])
}

// WLD-6: a random id that live code puts into a request differs in each run and is not reported as a change;
// other changes are reported without it. An id that came from the recording is not treated as random.
func TestRandomIDsOfRequestsAreTheirOwn(t *testing.T) {
	request := func(key, text string) map[string]any {
		return map[string]any{"key": key, "messages": []any{"you are kind", text}}
	}
	const first, second, third, fourth = "0b6f0f0e-6c2e-4a54-9d36-0a2f3f0f8a11", "5d1c2b7a-93c8-4f0f-8e56-7b1d0c9e4f22", "9e8d7c6b-5a49-4382-b716-05f4e3d2c133", "c2d3e4f5-0a1b-4c2d-9e3f-4a5b6c7d8e44"
	const given = "1f2e3d4c-5b6a-4798-8a9b-0c1d2e3f4a55"
	hello := "hello there"
	_, live := asking(t, request(first, hello), request(first, hello), request(second, hello)) // the second is a retry
	report, answers := live(nil, request(third, hello), request(third, hello), request(fourth, hello))
	assert.Nil(t, report.Divergence, "%s", report)
	assert.Len(t, answers, 3)
	assert.Contains(t, report.String(), "2 UUIDs")

	report, _ = live(nil, request(third, hello), request(fourth, hello), request(second, hello))
	assert.NotNil(t, report.Divergence, "it is no retry any more")

	report, _ = live(nil, request(third, hello), request(third, hello), request(fourth, "hello you"))
	require.NotNil(t, report.Divergence)
	require.Len(t, report.Divergence.Fields, 1)
	assert.Equal(t, "request.messages[1]", report.Divergence.Fields[0].Field)

	echoed := fmt.Sprintf("answer to [you are kind %s]", third)
	_, live = asking(t, saying("you are kind", third), request(third, echoed))
	report, _ = live(nil, saying("you are kind", third), request(fourth, echoed))
	require.NotNil(t, report.Divergence, "it is that of the first request, which stands for itself")
	assert.Equal(t, "request.key", report.Divergence.Fields[0].Field)
	_, live = asking(t, saying("you are kind", given), request(first, hello))
	report, _ = live(nil, saying("you are kind", given), request(given, hello))
	require.NotNil(t, report.Divergence, "it is recorded")
}

// WLD-6: even when most of a request is dropped or cut, the rest is enough to recognize it: it is
// answered like any other changed request. A request that only shares a few words with a recorded
// one is a different request.
func TestCutRequestsAreChangedOnes(t *testing.T) {
	long := strings.Repeat("the ferry to Bergen leaves at noon and ", 200)
	_, live := asking(t, saying("you are kind", "hello there", long))
	for name, c := range map[string]struct {
		messages []any
		member   string
	}{
		"cut":     {[]any{"you are kind", "hello there", long[:20]}, "request.messages[2]"},
		"dropped": {[]any{"you are kind", "hello there"}, "request.messages[2]"},
	} {
		report, answers := live(nil, saying(c.messages...))
		require.NotNil(t, report.Divergence, name)
		assert.Equal(t, replay.ChangedInput, report.Divergence.Class, "%s", report)
		assert.Equal(t, c.member, report.Divergence.Fields[0].Field)
		assert.Equal(t, "answer to [you are kind hello there "+long+"]", answers[0])
	}
	_, live = asking(t, saying("you are kind", "hello there"))
	report, _ := live(nil, saying("you are kind", "hello there", long))
	assert.Equal(t, replay.ChangedInput, report.Divergence.Class, "and so the other way round")
	report, _ = live(nil, map[string]any{"messages": []any{"you may", "name all the ships that ever sailed"}})
	assert.Equal(t, replay.Unanswered, report.Divergence.Class)
}

// WLD-6: the report names each member of a request that changed.
func TestChangedRequestsAreNamed(t *testing.T) {
	request := func() map[string]any {
		return map[string]any{"model": "m", "temperature": 0.5, "tools": []any{map[string]any{"name": "weather", "strict": true}},
			"messages": []any{map[string]any{"role": "system", "content": "You remember: the user likes tea."}, map[string]any{"role": "user", "content": "Hello there."}}}
	}
	_, live := asking(t, request())
	report, _ := live(nil, request())
	require.Nil(t, report.Divergence, "%s", report)
	messages := func(r map[string]any) []any { return r["messages"].([]any) }
	changes := map[string]func(map[string]any){
		"request.messages[0].content":               func(r map[string]any) { messages(r)[0].(map[string]any)["content"] = "You remember nothing." },
		"request.messages":                          func(r map[string]any) { r["messages"] = messages(r)[1:] },
		"request.temperature":                       func(r map[string]any) { r["temperature"] = 0.7 },
		"request.model":                             func(r map[string]any) { r["model"] = "n" },
		"request.tools[0].strict":                   func(r map[string]any) { r["tools"].([]any)[0].(map[string]any)["strict"] = false },
		`request.messages[0]: "Hello there." moved`: func(r map[string]any) { m := messages(r); m[0], m[1] = m[1], m[0] },
		"request.stream":                            func(r map[string]any) { r["stream"] = true },
	}
	for member, change := range changes {
		changed := request()
		change(changed)
		report, answers := live(nil, changed)
		require.NotNil(t, report.Divergence, member)
		assert.Equal(t, replay.ChangedInput, report.Divergence.Class, member)
		first := strings.Join(strings.SplitN(report.String(), "\n", 15)[:14], "\n")
		assert.Contains(t, first, member)
		assert.Contains(t, answers[0], "answer to", "it is answered all the same")
	}
}

// WLD-6: only the services that Outside names are asked for real. With Strict, only requests that
// equal a recorded one are answered.
func TestWhoMayBeAsked(t *testing.T) {
	hello := saying("hello there")
	_, live := asking(t, hello)
	_, answers := live([]string{"mod*"}, saying("hello"))
	assert.Equal(t, []string{"answer to [hello]"}, answers)
	asked := 0
	run := func(strict bool, text string) string {
		var got error
		l := replay.LiveExecutor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			_, got = adk.Ask(ctx, "model", saying(text), func(context.Context, map[string]any) (string, error) { asked++; return "", nil })
			return dc.Ack()
		})
		l.Strict, l.Outside = strict, []string{"somebody"}
		trace, _ := asking(t, hello)
		_, err := replay.Verify(t.Context(), bytes.NewReader(trace), l)
		require.NoError(t, err)
		return fmt.Sprint(got)
	}
	assert.Equal(t, "<nil>", run(true, "hello there"))
	assert.Equal(t, "<nil>", run(false, "hello you"))
	assert.Equal(t, replay.ErrUnanswered.Error(), run(true, "hello you"))
	assert.Zero(t, asked)
}

// WLD-6: from a given crossing on, services that may be asked are asked for real. Requests before
// that crossing are answered from the recording.
func TestOutsideFrom(t *testing.T) {
	one, two, three := saying("hello one"), saying("hello two"), saying("hello three")
	trace, _ := asking(t, one, two, three)
	second := 0
	for n, line := range strings.Split(string(trace), "\n") {
		if second == 0 && strings.Contains(line, `"kind":"ask"`) && strings.Contains(line, "hello two") {
			second = n // the header is a line too, and crossings count from 1
		}
	}
	ask := func(from int, outside ...string) (asked []any, report *replay.Report, err error) {
		run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			for _, request := range []map[string]any{one, two, {"messages": []any{"like nothing"}}, three} {
				_, _ = adk.Ask(ctx, "model", request, func(_ context.Context, request map[string]any) (string, error) {
					asked = append(asked, request["messages"].([]any)...)
					return fmt.Sprint("answer to ", request["messages"]), nil
				})
			}
			return dc.Ack()
		}
		l := replay.LiveExecutor(run)
		l.Outside, l.OutsideFrom = outside, from
		report, err = replay.Verify(t.Context(), bytes.NewReader(trace), l)
		return asked, report, err
	}
	asked, report, err := ask(second, "model")
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	assert.Equal(t, replay.Extra, report.Divergence.Class, "the world has answered it")
	assert.Equal(t, []any{"hello two", "like nothing", "hello three"}, asked)
	asked, _, err = ask(second+1, "model")
	require.NoError(t, err)
	assert.Equal(t, []any{"hello three"}, asked)
	asked, _, err = ask(second, "somebody else")
	require.NoError(t, err)
	assert.Empty(t, asked)
	_, _, err = ask(second)
	assert.ErrorContains(t, err, "Outside names nobody")
}

// WLD-6: requests may be permuted, dropped, repeated or edited. A request that equals a recorded
// one gets that one's answers, in their order, and never another's. Repeats beyond the recorded
// number are not answered. The report is green only if all requests are the same.
func TestEqualRequestsGetTheirOwnAnswers(t *testing.T) {
	texts := []string{"one fish in the sea", "two fish in the sea", "red fish in the sea", "blue fish in the sky"}
	drawn := rapid.SliceOfN(rapid.SampledFrom(texts), 1, 5)
	rapid.Check(t, func(rt *rapid.T) {
		recorded := drawn.Draw(rt, "recorded")
		asked := edited(rt, recorded)
		own := map[string][]string{}
		for i, text := range recorded {
			own[text] = append(own[text], fmt.Sprint("answer ", i+1))
		}
		report, answers := askedAgain(t, recorded, asked)
		for i, text := range asked {
			switch left, equal := own[text]; {
			case !equal:
			case len(left) == 0:
				assert.Equal(rt, replay.ErrUnanswered.Error(), answers[i], "%q of %q", text, asked)
			default:
				assert.Equal(rt, left[0], answers[i], "%q of %q", text, asked)
				own[text] = left[1:]
			}
		}
		assert.Equal(rt, slices.Equal(recorded, asked), report.Divergence == nil, "%q", asked)
	})
}

// edited returns the texts with some of the changes that today's agent may make to them.
func edited(t *rapid.T, texts []string) (asked []string) {
	for _, text := range rapid.Permutation(texts).Draw(t, "permuted") {
		switch rapid.SampledFrom([]string{"kept", "kept", "dropped", "doubled", "edited"}).Draw(t, "how") {
		case "kept":
			asked = append(asked, text)
		case "doubled":
			asked = append(asked, text, text)
		case "edited":
			asked = append(asked, text+" again")
		}
	}
	return asked
}

// askedAgain records a turn that asks for the texts in recorded, each with an answer of its own,
// and replays it with a turn that asks for the texts in asked.
func askedAgain(t *testing.T, recorded, asked []string) (*replay.Report, []string) {
	n, now := 0, recorded
	var answers []string
	run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for _, text := range now {
			answer, err := adk.Ask(ctx, "model", saying("you are kind", text), func(context.Context, map[string]any) (string, error) {
				n++
				return fmt.Sprint("answer ", n), nil
			})
			if err != nil {
				answer = err.Error()
			}
			answers = append(answers, answer)
		}
		return dc.Ack()
	}
	var out bytes.Buffer
	tracetest.SampleTurn{Name: "asks", Prepare: func(t *tracetest.SampleKit) {
		t.Config.Executor.Run, t.Config.Probe = run, replay.Record(&out)
	}}.RunUnobserved(t)
	now, answers = asked, nil
	report, err := replay.Verify(t.Context(), &out, replay.LiveExecutor(run))
	require.NoError(t, err)
	assert.Equal(t, len(recorded), n, "nobody is asked in a replay")
	return report, answers
}

// WLD-6: every client gets the same code for an unanswered ask, so that it can stop asking. If it
// retries anyway, the retries belong to the same finding.
func TestUnansweredAsksAreOneFinding(t *testing.T) {
	assert.ErrorIs(t, replay.ErrUnanswered, adk.E_UNANSWERED)
	hello, strange := saying("hello there"), map[string]any{"nothing": "like it"}
	_, live := asking(t, hello)
	once, _ := live(nil, hello, strange)
	report, answers := live(nil, hello, strange, strange, strange)
	require.NotNil(t, report.Divergence)
	assert.Equal(t, replay.Unanswered, report.Divergence.Class)
	assert.Equal(t, []string{"answer to [hello there]", replay.ErrUnanswered.Error(), replay.ErrUnanswered.Error(), replay.ErrUnanswered.Error()}, answers)
	assert.Contains(t, report.String(), "asked without an answer: expected never, got 3 times")
	assert.NotContains(t, once.String(), "times")
	assert.Zero(t, report.Divergence.After.Own)
}

// WLD-6: a request that pairs results with the wrong calls is a changed request, however many words
// it shares with the recorded one. The same two requests in the other order are an order divergence.
func TestSwappedResultsAreChanges(t *testing.T) {
	written := func(call, text string) map[string]any {
		return map[string]any{"role": "tool", "call": call, "messages": text}
	}
	const one, two = "error: there is no file no.go", "error: ../../etc/passwd is outside the project"
	_, live := asking(t, written("b", one), written("c", two))
	report, _ := live(nil, written("b", two), written("c", one))
	require.NotNil(t, report.Divergence)
	assert.Equal(t, replay.ChangedInput, report.Divergence.Class, report)
	assert.Contains(t, report.String(), "request.messages")
	report, _ = live(nil, written("c", two), written("b", one))
	require.NotNil(t, report.Divergence)
	assert.Equal(t, replay.Order, report.Divergence.Class, report)
}

// WLD-6: if a changed request is equally similar to two recorded ones, it gets the answer of the
// first, and the report says that the match is ambiguous.
func TestTiesAreAmbiguous(t *testing.T) {
	const said = "ambiguous"
	one, two := saying("hello you there one"), saying("hello you there two")
	_, live := asking(t, one, two)
	report, answers := live(nil, saying("hello you there three"))
	assert.Equal(t, []string{"answer to [hello you there one]"}, answers)
	require.NotNil(t, report.Divergence)
	require.Len(t, report.Divergence.Candidates, 1)
	assert.Contains(t, report.Divergence.Candidates[0].Text, "ask")
	assert.Contains(t, report.String(), said)
	report, _ = live(nil, saying("hello you there one three"))
	assert.NotContains(t, report.String(), said)
	_, live = asking(t, one, one)
	report, _ = live(nil, saying("hello you there three"))
	assert.NotContains(t, report.String(), said, "the answer of either is of the same request")
}

// WLD-6: an id that live code made differs in each run. It is renamed also inside the text of a
// request, whatever surrounds it; a string that only resembles the id is not renamed.
func TestIDsInsideRequestsAreRenamed(t *testing.T) {
	for _, text := range []string{"see %s, please", "%s", "a line\n%s\tand more", `{"of":"%s"}`, "é%sé", "a \\%s", "%[1]s/%[1]s"} {
		t.Run(text, func(t *testing.T) {
			made, suffix := 0, ""
			run := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				made++
				id := fmt.Sprintf("note-%06d", made)
				_ = tracetest.Must(h.ReportMessage(id, "noted", true))
				_, err := adk.Ask(ctx, "model", fmt.Sprintf(text, id+suffix), func(_ context.Context, text string) (string, error) { return "seen", nil })
				return errors.Join(err, dc.Ack())
			}
			var out bytes.Buffer
			tracetest.SampleTurn{Name: "asks", Prepare: func(t *tracetest.SampleKit) {
				t.Config.Executor.Run, t.Config.Probe = run, replay.Record(&out)
			}}.RunUnobserved(t)
			for want, with := range map[bool]string{true: "", false: "x"} {
				suffix = with
				report, err := replay.Verify(t.Context(), bytes.NewReader(out.Bytes()), replay.LiveExecutor(run))
				require.NoError(t, err)
				assert.Equal(t, want, report.Divergence == nil, "%s", report)
			}
		})
	}
}

// WLD-6, RUN-7: ids that the engine made, and checksums of calls whose arguments hold an id of
// live code, differ in each run. Requests that differ only in them are the same.
func TestMadeIDsInsideRequests(t *testing.T) {
	made := 0
	look := tracetest.Must(adk.NewTool(adk.ToolInit{Name: "look", Description: "looks", InputSchema: json.RawMessage(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("seen"), nil
		}}))
	for name, say := range map[string]func(context.Context, *adk.DispatchContext) (string, error){
		"a new id": func(_ context.Context, dc *adk.DispatchContext) (string, error) { return dc.NewID(), nil },
		"of the turn": func(_ context.Context, dc *adk.DispatchContext) (string, error) {
			return dc.TurnID() + " " + dc.DispatchID(), nil
		},
		"a checksum": func(ctx context.Context, dc *adk.DispatchContext) (string, error) {
			made++
			id := fmt.Sprintf("note-%06d", made)
			_ = tracetest.Must(dc.Helpers().ReportMessage(id, "noted", true))
			args := map[string]any{"of": id}
			tool, _ := dc.Tools().Get("look")
			_, err := dc.Execute(ctx, tool, args)
			return tracetest.Must(adk.NewToolCall(adk.ToolCallInit{ID: "c", Tool: "look", Args: args, Results: adk.Text("seen"),
				CreatedAt: tracetest.TestStart, UpdatedAt: tracetest.TestStart, CompletedAt: tracetest.TestStart})).Checksum(), err
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				said, err := say(ctx, dc)
				if err != nil {
					return err
				}
				_, err = adk.Ask(ctx, "model", "of "+said, func(_ context.Context, text string) (string, error) { return "seen", nil })
				return errors.Join(err, dc.Ack())
			}
			var out bytes.Buffer
			runner := tracetest.Must(adk.NewRunner(adk.Config{Storage: fakes.NoOpStorage(), Tools: []*adk.Tool{look}, Probe: replay.Record(&out), Executor: adk.Executor{Name: "model", Run: run}}))
			require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
			report, err := replay.Verify(t.Context(), bytes.NewReader(out.Bytes()), replay.LiveExecutor(run))
			require.NoError(t, err)
			assert.Nil(t, report.Divergence, "%s", report)
		})
	}
}

// WLD-5: a client reads answers on its own goroutines. Whether it reached the end of an answer
// before its call returned makes no difference; reading less of the answer does.
func TestEndsThatAreNotAwaited(t *testing.T) {
	answer := []json.RawMessage{json.RawMessage(`"head"`), json.RawMessage(`"event"`)}
	type reading struct {
		pieces int
		end    bool
	}
	executor := func(r reading) func(context.Context, *adk.DispatchContext, *adk.Helpers) error {
		return func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			x, err := adk.OpenExchange(ctx, "server", func() (json.RawMessage, error) { return json.RawMessage(`"what?"`), nil })
			if err != nil {
				return err
			}
			for n := range r.pieces {
				piece := answer[n]
				if x.Answered() {
					given, ok, err := x.Next()
					assert.True(t, ok, "%v", err)
					piece = given.Value
				}
				x.Piece(piece, false)
			}
			if r.end {
				var err error
				if x.Answered() {
					_, _, err = x.Next()
				}
				x.Done(nil, err)
			}
			return dc.Ack()
		}
	}
	for _, c := range []struct {
		recorded, today reading
		red             bool
	}{
		{reading{2, true}, reading{2, true}, false},
		{reading{2, true}, reading{2, false}, false},
		{reading{2, false}, reading{2, true}, false},
		{reading{2, false}, reading{2, false}, false},
		{reading{2, true}, reading{1, false}, true},
	} {
		var trace bytes.Buffer
		runner, err := adk.NewRunner(adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: executor(c.recorded)}, Probe: replay.Record(&trace)})
		require.NoError(t, err)
		require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
		report, err := replay.Verify(t.Context(), &trace, replay.LiveExecutor(executor(c.today)))
		require.NoError(t, err)
		assert.Equal(t, c.red, report.Divergence != nil, "%v: %s", c, report)
	}
}

// WLD-3: an answer that a replay serves fails with an error of the type that the real one had, so
// that code which examines the type takes the same branch.
func TestServedErrorsHaveTheirTypes(t *testing.T) {
	asked := 0
	run := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		_, err := adk.Ask(ctx, "model", "hi", func(context.Context, string) (string, error) {
			asked++
			return "", &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		})
		op, ok := errors.AsType[*net.OpError](err)
		if !ok || !errors.Is(err, syscall.ECONNREFUSED) {
			return fmt.Errorf("another error: %#v", err)
		}
		_ = tracetest.Must(h.ReportMessage("m", op.Op+" failed", true))
		return dc.Ack()
	}
	var out bytes.Buffer
	tracetest.SampleTurn{Name: "refused", Prepare: func(t *tracetest.SampleKit) {
		t.Config.Executor.Run, t.Config.Probe = run, replay.Record(&out)
	}}.RunUnobserved(t)
	report, err := replay.Verify(t.Context(), &out, replay.LiveExecutor(run))
	require.NoError(t, err)
	assert.Nil(t, report.Divergence, "%s", report)
	assert.Equal(t, 1, asked)
}

// WLD-6: asks from goroutines of user code have no order among them, and neither have concurrent
// asks: which one comes first is nondeterministic. Asks on the goroutine of a seam call have an
// order. All other differences are reported for every ask.
func TestAsksOfGoroutinesAreInNoOrder(t *testing.T) {
	ask := func(ctx context.Context, n int, do func(context.Context, int) (string, error)) {
		answer, err := adk.Ask(ctx, "model", n, do)
		assert.NoError(t, err)
		assert.Equal(t, fmt.Sprint("answer to ", n), answer)
	}
	answered := func(_ context.Context, n int) (string, error) { return fmt.Sprint("answer to ", n), nil }
	inTurn := func(ctx context.Context, order []int) {
		for _, n := range order {
			ask(ctx, n, answered)
		}
	}
	oneByOne := func(ctx context.Context, order []int) {
		for _, n := range order {
			var one sync.WaitGroup
			one.Go(func() { ask(ctx, n, answered) })
			one.Wait()
		}
	}
	within := func(ctx context.Context, order []int) { // each is open until the last is answered
		next := answered
		for _, n := range slices.Backward(order[1:]) {
			inner := next
			next = func(with context.Context, m int) (string, error) { ask(ctx, n, inner); return answered(with, m) }
		}
		ask(ctx, order[0], next)
	}
	for _, c := range []struct {
		name             string
		recording, today func(context.Context, []int)
		order            []int
		red              string
	}{
		{"one after the other", inTurn, inTurn, []int{1, 2, 3, 4}, ""},
		{"another order", inTurn, inTurn, []int{1, 3, 2, 4}, "order at crossing"},
		{"on goroutines", oneByOne, oneByOne, []int{4, 3, 1, 2}, ""},
		{"recorded on no goroutine", inTurn, oneByOne, []int{4, 3, 1, 2}, ""},
		{"open at once", within, inTurn, []int{3, 4, 2, 1}, ""},
		{"one less", oneByOne, oneByOne, []int{4, 3, 1}, "missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := func(asks func(context.Context, []int), order []int) func(context.Context, *adk.DispatchContext, *adk.Helpers) error {
				return func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
					asks(ctx, order)
					return dc.Ack()
				}
			}
			var recording bytes.Buffer
			tracetest.SampleTurn{Name: "asks", Prepare: func(t *tracetest.SampleKit) {
				t.Config.Executor.Run, t.Config.Probe = run(c.recording, []int{1, 2, 3, 4}), replay.Record(&recording)
			}}.RunUnobserved(t)
			report, err := replay.Verify(t.Context(), &recording, replay.LiveExecutor(run(c.today, c.order)))
			require.NoError(t, err)
			if c.red == "" {
				assert.Nil(t, report.Divergence, "%s", report)
				assert.Equal(t, !slices.IsSorted(c.order), slices.Contains(report.NotCompared, "the order of what goroutines of your own do at once"), "%s", report)
			} else {
				assert.Contains(t, report.String(), c.red)
			}
		})
	}
}

// WLD-6: a request to another path gets no answer. The difference names the path and everything
// else that changed. A request that shares nothing with a recorded one is not a changed request.
func TestAskOnAnotherPathIsNamed(t *testing.T) {
	of := func(at, text string) map[string]any {
		return map[string]any{"method": "POST", "path": "/answers/" + at, "body": map[string]any{"temperature": 0.5, "contents": []any{text}}}
	}
	_, live := asking(t, of("small", "How is the weather in Oslo today?"))
	report, _ := live(nil, of("large", "How is the weather in Oslo today?"))
	require.NotNil(t, report.Divergence)
	assert.Equal(t, replay.Unanswered, report.Divergence.Class)
	require.Len(t, report.Divergence.Fields, 1)
	assert.Equal(t, "request.path", report.Divergence.Fields[0].Field)
	report, _ = live(nil, of("large", "Tell me of all ships that sail the seven seas, and of whoever steers them."))
	assert.Equal(t, replay.Unanswered, report.Divergence.Class)
	assert.Empty(t, report.Divergence.Fields)
}

// WLD-6: another model, which some servers have in the path, is a changed request, and is answered.
func TestAnotherModelInThePathIsAChange(t *testing.T) {
	of := func(model string) map[string]any {
		return map[string]any{"method": "POST", "path": "/models/" + model + ":generate", "body": map[string]any{"contents": []any{"How is the weather in Oslo today?"}}}
	}
	_, live := asking(t, of("small"))
	report, answers := live(nil, of("large"))
	require.NotNil(t, report.Divergence)
	assert.Equal(t, replay.ChangedInput, report.Divergence.Class)
	require.Len(t, report.Divergence.Fields, 1)
	assert.Equal(t, "request.path", report.Divergence.Fields[0].Field)
	require.Len(t, answers, 1)
	assert.NotContains(t, answers[0], "E_UNANSWERED")
}

// WLD-6: a request to another service gets no answer either, and the difference names that service.
func TestAskOfSomebodyElseIsNamed(t *testing.T) {
	asks := func(of, text string) func(context.Context, *adk.DispatchContext, *adk.Helpers) error {
		return func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			_, _ = adk.Ask(ctx, of, text, func(context.Context, string) (string, error) { return "rain", nil })
			return dc.Ack()
		}
	}
	const question = "How is the weather in Oslo today?"
	var trace bytes.Buffer
	tracetest.SampleTurn{Name: "asks", Prepare: func(t *tracetest.SampleKit) {
		t.Config.Executor.Run, t.Config.Probe = asks("api.openai.com", question), replay.Record(&trace)
	}}.RunUnobserved(t)
	for other, fields := range map[string][]string{question: {"of"}, "Who steers?": nil} {
		report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), replay.LiveExecutor(asks("openrouter.ai", other)))
		require.NoError(t, err)
		require.NotNil(t, report.Divergence)
		assert.Equal(t, replay.Unanswered, report.Divergence.Class)
		var named []string
		for _, f := range report.Divergence.Fields {
			named = append(named, f.Field)
		}
		assert.Equal(t, fields, named, "%s", report)
	}
}

// WLD-8: a caller whose deadline had passed in the recorded run finds it passed in a replay. A
// caller that gives each of several attempts its own deadline waits for none of them.
func TestDeadlinesInAReplay(t *testing.T) {
	for attempts, takes := range map[int]time.Duration{1: time.Minute, 3: 0} {
		synctest.Test(t, func(t *testing.T) {
			run := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				for range attempts {
					short, cancel := context.WithTimeout(ctx, time.Minute)
					_, err := adk.Ask(short, "model", "?", func(ctx context.Context, _ string) (string, error) {
						<-ctx.Done()
						return "", ctx.Err()
					})
					over := attempts > 1 || short.Err() != nil
					h.Log(adk.LevelInfo, "asked", fmt.Sprint(err, over), nil)
					cancel()
				}
				return dc.Ack()
			}
			var trace bytes.Buffer
			runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: run}}, replay.Record(&trace)))
			require.NoError(t, err)
			require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
			began := time.Now()
			report, err := replay.Verify(t.Context(), &trace, replay.LiveExecutor(run))
			require.NoError(t, err)
			assert.Nil(t, report.Divergence, "%s", report)
			assert.Equal(t, takes, time.Since(began).Truncate(time.Second), attempts)
		})
	}
}

// The address of a test server differs in each run, and a tool that mentions it makes it part of
// the turn. If nothing else differs, the report says so.
func TestTheAddressOfATestsServer(t *testing.T) {
	const hint = "only an address of this machine differs"
	said := func(text string) map[string]any { return saying("use the tool", text) }
	_, live := asking(t, said("GET http://127.0.0.1:39217/x: 404 Not Found"))
	for text, hinted := range map[string]bool{
		"GET http://localhost:4433/x: 404 Not Found":        true,
		"GET http://127.0.0.1:39217/x: 500 Not Implemented": false,
	} {
		report, _ := live(nil, said(text))
		require.NotNil(t, report.Divergence)
		assert.Equal(t, hinted, strings.Contains(report.Divergence.String(), hint), "%s", report.Divergence)
	}
}
