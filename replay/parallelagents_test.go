package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// sub is a sub-agent that examines a question: it makes a request, runs a tool that waits, and
// reports what it found. It passes further questions on to sub-agents of its own.
func sub(question string, more ...string) adk.Executor {
	return adk.Executor{Name: "researcher", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		found, err := asksTheModel(ctx, question)
		said, failed := askedFor(ctx, dc, "read", 1)
		_, unsaid := h.ReportMessage(dc.NewID(), found+said, true)
		err = errors.Join(err, failed, unsaid, dc.Stash().Set("by-"+question, found)) // which the sub-agents below it see
		var below started
		for _, question := range more {
			below.Go(dispatched(ctx, dc, question))
		}
		return errors.Join(err, below.Wait(), dc.Ack())
	}}
}

func asksTheModel(ctx context.Context, question string) (string, error) {
	return adk.Ask(ctx, "model", question, func(_ context.Context, q string) (string, error) { return "all about " + q, nil })
}

// dispatched calls a sub-agent under the name that all of them share.
func dispatched(ctx context.Context, source adk.Source, question string, more ...string) func() error {
	return func() error {
		_, err := adk.Dispatch(ctx, adk.DispatchInput{Name: "research", Source: source, Executor: sub(question, more...)})
		return err
	}
}

// researching is an agent whose sub-agents, all of one name, examine the questions concurrently.
func researching(questions ...string) adk.Config {
	return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var all started
		for _, question := range questions {
			all.Go(dispatched(ctx, dc, question))
		}
		return errors.Join(all.Wait(), dc.Ack())
	}, working("read")...)
}

// byTheMachine records a turn of an agent on the machine's clock: a clock of a test would only
// wait for goroutines that sleep.
func byTheMachine(t *testing.T, agent adk.Config) []byte {
	t.Helper()
	var recorded bytes.Buffer
	agent.Probe = replay.Record(&recorded)
	require.NoError(t, tracetest.Must(adk.NewRunner(agent)).Run(t.Context(), adk.RawTurn{SystemPrompt: "Go."}))
	return recorded.Bytes()
}

// If goroutines dispatch sub-agents of one name concurrently, each is compared with the recorded
// one that did the same, whichever began first; and a recording of them replays.
func TestParallelSubAgentsFindTheirOwn(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	nested := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var all started
		all.Go(dispatched(ctx, dc, "go", "goroutines", "channels"))
		all.Go(dispatched(ctx, dc, "rust", "lifetimes", "traits"))
		return errors.Join(all.Wait(), dc.Ack())
	}, working("read")...)
	for name, now := range map[string]adk.Config{
		"four":         researching("go", "rust", "zig!!", "python"),
		"equal ones":   researching("go", "rust", "go", "rust"),
		"nested":       nested,
		"one after it": researching("go"),
	} {
		t.Run(name, func(t *testing.T) {
			for range thorough.Of(200, 4, 2) {
				recorded := byTheMachine(t, now)
				for _, live := range []replay.Live{{}, {Seams: []string{replay.Executor}}, {Seams: []string{replay.ToolCode}, Writes: true}, {Seams: []string{replay.Executor, replay.ToolCode}, Writes: true}} {
					live.Config = now
					d := inTime(t, recorded, live)
					require.Nil(t, d, "%v: %s\n%s", live.Seams, d, recorded)
				}
			}
		})
	}
}

// If one of them has changed, the report shows the difference of that one, and nothing of the others.
func TestChangedParallelSubAgentsAreTold(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	before := researching("what is go", "what is rust", "what is zig")
	for name, c := range map[string]struct {
		now  adk.Config
		says string
		code string
	}{
		"asks otherwise": {researching("what is go", "what is rust like", "what is zig"), `request: expected "what is rust", got "what is rust like"`, "asksTheModel"},
		"is dropped":     {researching("what is go", "what is zig"), `  - dispatch/research, which begins with ask model "what is rust"`, "researching"},
		"is new":         {researching("what is go", "what is rust", "what is zig", "or java"), `  + dispatch/research, which begins with ask model "or java"`, "dispatched"},
	} {
		t.Run(name, func(t *testing.T) {
			for range thorough.Of(100, 4, 2) {
				recorded := byTheMachine(t, before)
				d := inTime(t, recorded, replay.Live{Config: c.now, Seams: []string{replay.Executor}, Twice: true})
				require.NotNil(t, d)
				assert.Contains(t, d.String(), c.says)
				require.NotEmpty(t, d.Place)
				assert.Contains(t, d.Place, c.code)
				told, _, _ := strings.Cut(d.String(), "agreed before:") // from whichever came before
				assert.NotContains(t, told, "what is zig", "%s", recorded)
				if name == "is new" { // its tool gets no answer
					continue
				}
				var accepted bytes.Buffer
				_, err := replay.Rerecord(t.Context(), bytes.NewReader(recorded), &accepted, replay.Live{Config: c.now, Seams: []string{replay.Executor}, Outside: []string{"model"}})
				require.NoError(t, err)
				assert.Nil(t, inTime(t, accepted.Bytes(), replay.Live{Config: c.now, Seams: []string{replay.Executor}}))
			}
		})
	}
}

// A new sub-agent is recognized by its request, whenever it began. The recorded tool answers the
// others as it did.
func TestTheNewOneOfParallelSubAgents(t *testing.T) {
	t.Parallel()
	known := []string{"what is go", "what is rust", "what is zig"}
	recorded := byTheMachine(t, oneAfterTheOther(known...))
	late := sub("or java")
	for name, now := range map[string]adk.Config{
		"comes first": oneAfterTheOther(slices.Insert(slices.Clone(known), 0, "or java")...),
		"began first, and asks last": executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			var first started
			begun, others := make(chan struct{}), make(chan struct{})
			first.Go(func() error {
				_, err := adk.Dispatch(ctx, adk.DispatchInput{Name: "research", Source: dc, Executor: adk.Executor{Name: late.Name,
					Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
						close(begun)
						<-others
						return late.Run(ctx, dc, h)
					}}})
				return err
			})
			<-begun
			err := dispatchedInTurn(ctx, dc, known)
			close(others)
			return errors.Join(err, first.Wait(), dc.Ack())
		}, working("read")...),
	} {
		d := inTime(t, recorded, replay.Live{Config: now, Seams: []string{replay.Executor}})
		require.NotNil(t, d, name)
		assert.Contains(t, d.String(), `  + dispatch/research, which begins with ask model "or java"`, name)
		assert.Empty(t, d.Also, name)
		assert.Contains(t, d.String(), "after it: 90 equal", "%s: all that the others do", name)
	}
}

// If a sub-agent makes an id and does not use it, as for an invalid answer, the id is the recorded one too.
// So are the ids that it makes after it has been matched with a recorded sub-agent, wherever they occur.
func TestIDsOfParallelSubAgents(t *testing.T) {
	t.Parallel()
	writes := func(question string) adk.Executor {
		return adk.Executor{Name: "researcher", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			id := dc.NewID()
			found, err := asksTheModel(ctx, fmt.Sprint(question, dc.Iteration()))
			if err != nil || dc.Iteration() == 0 { // nothing to say yet
				return err
			}
			_, err = h.ReportMessage(id, found, true)
			note := dc.NewID()
			return errors.Join(err, dc.Stash().Set(question, "see note "+note), dc.Ack())
		}}
	}
	agent := func(questions ...string) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			var all started
			for _, question := range questions {
				all.Go(func() error {
					_, err := adk.Dispatch(ctx, adk.DispatchInput{Name: "research", Source: dc, Executor: writes(question)})
					return err
				})
			}
			return errors.Join(all.Wait(), dc.Ack())
		})
	}
	for range thorough.Of(50, 5, 3) {
		recorded := byTheMachine(t, agent("go", "rust", "zig"))
		for _, now := range []adk.Config{agent("go", "rust", "zig"), agent("zig", "go", "rust")} {
			d := inTime(t, recorded, replay.Live{Config: now, Seams: []string{replay.Executor}})
			require.Nil(t, d, "%s\n%s", d, recorded)
		}
	}
}

// dispatchedInTurn runs a sub-agent for each question, one after the other, each dispatched by a
// goroutine of its own.
func dispatchedInTurn(ctx context.Context, dc *adk.DispatchContext, questions []string) (err error) {
	for _, question := range questions {
		var one started
		one.Go(dispatched(ctx, dc, question))
		err = errors.Join(err, one.Wait())
	}
	return err
}

func oneAfterTheOther(questions ...string) adk.Config {
	return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		return errors.Join(dispatchedInTurn(ctx, dc, questions), dc.Ack())
	}, working("read")...)
}

// A changed request of a sub-agent is answered by the most similar recorded one, even if the
// changed one now comes first, and the recorded first sub-agent asked something similar too.
func TestChangedParallelSubAgentsHearTheirOwn(t *testing.T) {
	recorded := byTheMachine(t, oneAfterTheOther("what is zig", "what is rust"))
	d := inTime(t, recorded, replay.Live{Config: oneAfterTheOther("what is rust like", "what is zig"), Seams: []string{replay.Executor}})
	require.NotNil(t, d)
	assert.Contains(t, d.String(), `request: expected "what is rust", got "what is rust like"`)
	assert.NotContains(t, d.String(), "zig")
}
