package replay_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

func send(ctx context.Context, text string) error {
	_, err := adk.Ask(ctx, "service", text, func(context.Context, string) (string, error) { return "ok", nil })
	return err
}

func sending(second string, stashes bool) adk.Config {
	return adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		err := errors.Join(send(ctx, "the question"), send(ctx, second))
		if stashes {
			err = errors.Join(err, dc.Stash().Set("asked", true))
		}
		return errors.Join(err, dc.Ack())
	}}}
}

// If an agent makes all its asks through one helper, the helper's line does not tell what changed.
// The report therefore names the helper's callers, also if something is missing after an ask.
func TestCallersOfAHelper(t *testing.T) {
	var trace bytes.Buffer
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(sending("its limit is ten words", true), replay.Record(&trace))))
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
	for begins, today := range map[string]adk.Config{
		"asked at ": sending("its limit is nine words", true),
		"after ":    sending("its limit is ten words", false),
	} {
		report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), replay.Live{Config: today, Seams: []string{replay.Executor}})
		require.NoError(t, err)
		require.NotNil(t, report.Divergence)
		assert.Regexp(t, `^`+begins+`replay/callers_test\.go:20 `, report.Divergence.Place)
		require.NotEmpty(t, report.Divergence.Callers)
		assert.Regexp(t, `^replay/callers_test\.go:26 `, report.Divergence.Callers[0])
		text := strings.Join(strings.Fields(report.Divergence.String()), " ")
		assert.Contains(t, text, "code: "+report.Divergence.Place+", called by "+report.Divergence.Callers[0])
	}
}

// twice makes its second ask in a function of its own, as an agent with a method for it does.
func twice(ctx context.Context, dc *adk.DispatchContext, second string) error {
	first := send(ctx, "the question")
	then := send(ctx, second) // this line
	return errors.Join(first, then, dc.Ack())
}

// A review marks neither the helper that makes all asks nor the line that runs the agent, but the
// nearest line between them that belongs to this ask alone.
func TestTheMarkIsOfThisAskAlone(t *testing.T) {
	agent := func(second string) adk.Config {
		return adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			return twice(ctx, dc, second)
		}}}
	}
	var trace bytes.Buffer
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(agent("its limit is ten words"), replay.Record(&trace))))
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
	report, err := replay.Verify(t.Context(), &trace, replay.Live{Config: agent("its limit is nine words"), Seams: []string{replay.Executor}})
	require.NoError(t, err)
	d := report.Divergence
	require.NotNil(t, d)
	assert.Contains(t, d.Place, "(replay_test.send)")
	require.Len(t, d.Callers, 2)
	assert.Equal(t, d.Callers[0], d.Mark)
	assert.Regexp(t, `^replay/callers_test\.go:\d+ \(replay_test\.twice\)$`, d.Mark)
}

// If there are many callers, a report shows only the innermost and the outermost ones.
func TestManyCallersAreFew(t *testing.T) {
	d := &replay.Divergence{Class: replay.Missing, Crossing: 7, Place: "http.go:1 (agent.do)",
		Callers: []string{"http.go:2 (agent.retry)", "http.go:3 (agent.post)", "model.go:4 (agent.chat)", "agent.go:5 (agent.run)"}}
	assert.Equal(t, []string{"code: http.go:1 (agent.do), called by http.go:2 (agent.retry), …,", "    model.go:4 (agent.chat), agent.go:5 (agent.run)"},
		strings.Split(d.String(), "\n")[1:3])
}

// A prompt has changed, and a later ask is no longer a write. The report mentions both, since the
// change of the ask does not follow from the prompt.
func TestAnAskThatIsNoWriteAnyMoreBehindAPrompt(t *testing.T) {
	agent := func(prompt string, effect adk.Effect) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			said := func(context.Context, string) (string, error) { return "done", nil }
			_, err := adk.Ask(ctx, "model", prompt, said)
			_, failed := adk.Ask(ctx, "trips", "save", said, adk.AskOptions{Effect: effect})
			return errors.Join(err, failed, dc.Ack())
		})
	}
	recorded := turnOf(t, agent("Be brief.", adk.EffectWrites), adk.RawTurn{})
	d := divergenceOf(t, recorded, replay.Live{Config: agent("Be short.", adk.EffectUnknown), Seams: []string{replay.Executor}})
	require.NotNil(t, d)
	assert.Contains(t, d.String(), `"Be short."`)
	require.Len(t, d.After.Apart, 1, "%s", d)
	assert.Equal(t, "changed input in executor/e: ask trips effect", d.After.Apart[0].What)
}

// If a call no longer does what it did first, the report names the place before the line of what
// it does first now. An ask that is no longer a write is reported as well. The missing id of its
// key is then not the only difference, which would hint at a package that makes its own ids.
func TestTheFirstOfACallIsMissing(t *testing.T) {
	agent := func(keyed bool, effect adk.Effect) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			key := ""
			if keyed {
				key = dc.NewID()
			}
			_, err := adk.Ask(ctx, "trips", "save", func(context.Context, string) (string, error) { return "saved", nil }, adk.AskOptions{Effect: effect, Key: key})
			return errors.Join(err, dc.Ack())
		})
	}
	var trace bytes.Buffer
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(agent(true, adk.EffectWrites), replay.Record(&trace))))
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
	for effect, beside := range map[adk.Effect][]string{adk.EffectWrites: nil, adk.EffectUnknown: {"changed input in executor/e: ask trips effect"}} {
		report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), replay.Live{Config: agent(false, effect), Seams: []string{replay.Executor}})
		require.NoError(t, err)
		d := report.Divergence
		require.NotNil(t, d)
		assert.Regexp(t, `^before replay/callers_test\.go:\d+ \(replay_test\.TestTheFirstOfACallIsMissing`, d.Place)
		var apart []string
		for _, a := range d.After.Apart {
			apart = append(apart, a.What)
		}
		assert.Equal(t, beside, apart)
		assert.Equal(t, beside == nil, strings.Contains(d.String(), "only this is missing"), "%s", d)
	}
}
