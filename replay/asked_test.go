package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// WLD-1, WLD-4, WLD-5: asks are recorded, and a replay makes them again without asking
// anybody: overlapping ones, those left in their midst, refused, late and open ones.
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

// world is a model that must not be asked while live is set.
type world struct {
	t    *testing.T
	live bool
}

func (w *world) ask(_ context.Context, request map[string]any) (string, error) {
	assert.False(w.t, w.live, "%s was asked", request)
	return fmt.Sprint("answer to ", request["messages"]), nil
}

// asking is a turn that asks one request after the other.
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

// saying is a request whose messages say some texts.
func saying(texts ...any) map[string]any {
	return map[string]any{"model": "m", "temperature": 0.5, "messages": texts}
}

// WLD-6: live code is answered with what was recorded and nobody is asked. A changed
// request is answered with what is most like it, the report says by member what
// changed, and is never green; what is like nothing is unanswered.
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
	assert.Equal(t, stub.ErrUnanswered.Error(), answers[1])
}

// WLD-6: each member of a request that changes is named.
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
		"request.messages[0].content": func(r map[string]any) { messages(r)[0].(map[string]any)["content"] = "You remember nothing." },
		"request.messages":            func(r map[string]any) { r["messages"] = messages(r)[1:] },
		"request.temperature":         func(r map[string]any) { r["temperature"] = 0.7 },
		"request.model":               func(r map[string]any) { r["model"] = "n" },
		"request.tools[0].strict":     func(r map[string]any) { r["tools"].([]any)[0].(map[string]any)["strict"] = false },
		"request.messages[1].role":    func(r map[string]any) { m := messages(r); m[0], m[1] = m[1], m[0] },
		"request.stream":              func(r map[string]any) { r["stream"] = true },
	}
	for member, change := range changes {
		changed := request()
		change(changed)
		report, answers := live(nil, changed)
		require.NotNil(t, report.Divergence, member)
		assert.Equal(t, replay.ChangedInput, report.Divergence.Class, member)
		first := strings.Join(strings.SplitN(report.String(), "\n", 11)[:10], "\n")
		assert.Contains(t, first, member)
		assert.Contains(t, answers[0], "answer to", "it is answered all the same")
	}
}

// WLD-6: whom Outside names is asked for real, and nobody else; Strict answers equal
// requests alone.
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
	assert.Equal(t, stub.ErrUnanswered.Error(), run(true, "hello you"))
	assert.Zero(t, asked)
}

// WLD-6: whichever requests come, in whatever order, dropped, doubled and changed: an
// equal one never gets the answer of another.
func TestEqualRequestsGetTheirOwnAnswers(t *testing.T) {
	texts := []string{"one fish in the sea", "two fish in the sea", "red fish in the sea", "blue fish in the sky"}
	var all []map[string]any
	for _, text := range texts {
		all = append(all, saying("you are kind", text))
	}
	_, live := asking(t, all...)
	rapid.Check(t, func(t *rapid.T) {
		var requests []map[string]any
		var equal []string // what the first of each is to get
		seen := map[string]bool{}
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, len(texts)-1), 1, 6).Draw(t, "requests") {
			text, want := texts[n], ""
			if rapid.Bool().Draw(t, "changed") {
				text += " again"
			} else if !seen[text] {
				seen[text], want = true, fmt.Sprintf("answer to [you are kind %s]", text)
			}
			requests, equal = append(requests, saying("you are kind", text)), append(equal, want)
		}
		report, answers := live(nil, requests...)
		for i, want := range equal {
			if want != "" {
				assert.Equal(t, want, answers[i])
			}
		}
		same := len(requests) == len(all)
		for i := range requests {
			same = same && fmt.Sprint(requests[i]) == fmt.Sprint(all[i])
		}
		assert.Equal(t, same, report.Divergence == nil, "%v", requests)
	})
}

// WLD-6: an id that live code made is another one in every run, also inside a text that
// is asked; what is merely like one is not.
func TestIDsInsideRequestsAreRenamed(t *testing.T) {
	made := 0
	suffix := ""
	run := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		made++
		id := fmt.Sprintf("note-%06d", made)
		_ = tracetest.Must(h.ReportMessage(id, "noted", true))
		_, err := adk.Ask(ctx, "model", "see "+id+suffix+", please", func(_ context.Context, text string) (string, error) { return "seen", nil })
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
}
