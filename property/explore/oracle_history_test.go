package explore

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// replying returns a subject whose executor is answer. The turn that follows loads the messages that the
// storage holds then.
func replying(name string, answer func(ctx context.Context, dc *adk.DispatchContext) error) turn.Subject {
	return turn.Subject{Name: name, Open: func(context.CancelCauseFunc) turn.Instance {
		storage := fakes.NewStorage(spoken("u0", adk.RoleUser, "Hello."))
		load := adk.TurnMiddleware{Name: "load", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			all, err := tc.Messages().Fetch(ctx)
			for _, m := range all {
				_, added := tc.Messages().Add(m)
				err = errors.Join(err, added)
			}
			if err == nil {
				next(ctx)
			}
			return err
		}}
		config := func(run func(ctx context.Context, dc *adk.DispatchContext) error) adk.Config {
			return adk.Config{Storage: storage.Storage(), TurnInput: []adk.TurnMiddleware{load},
				Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return run(ctx, dc) }}}
		}
		raw := adk.RawTurn{SystemPrompt: "Help."}
		return turn.Instance{Config: config(answer), Raw: raw, Next: func() (adk.Config, adk.RawTurn) {
			return config(func(_ context.Context, dc *adk.DispatchContext) error { return dc.Ack() }), raw
		}}
	}}
}

func spoken(id string, role adk.Role, text string) *adk.Message {
	m, err := adk.NewMessage(adk.MessageInit{ID: id, Role: role, Content: text, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
	if err != nil {
		panic(err)
	}
	return m
}

// breaches returns the texts of the violations, or hints, in list that this oracle found.
func breaches(list []Breach, oracle string) (texts []string) {
	for _, b := range list {
		if b.Invariant == oracle {
			texts = append(texts, b.Text)
		}
	}
	return texts
}

// An agent that stores its answer again after a failed store leaves it twice, under two keys, if the second
// store uses a new key. The next turn then shows the model two answers in a row. With the same key the
// answer is stored once.
func TestTwoAnswersInARow(t *testing.T) {
	retrying := func(id func(dc *adk.DispatchContext) string) func(ctx context.Context, dc *adk.DispatchContext) error {
		return func(ctx context.Context, dc *adk.DispatchContext) error {
			store := func() error { return dc.Messages().Mutate(ctx, spoken(id(dc), adk.RoleAssistant, "Hello!")) }
			if err := store(); err != nil && store() != nil {
				return dc.Nack(err)
			}
			return dc.Ack()
		}
	}
	explored := func(s turn.Subject) *Exploration {
		result, err := Explore(t.Context(), s, Options{})
		require.NoError(t, err)
		return result
	}
	twice := explored(replying("twice", retrying(func(dc *adk.DispatchContext) string { return dc.NewID() })))
	require.Len(t, breaches(twice.Violations, "a conversation is one that providers take"), 1, twice)
	assert.Contains(t, breaches(twice.Violations, "a conversation is one that providers take")[0], "in the turn that followed: the model is asked with two answers in a row")
	assert.Len(t, breaches(twice.Hints, "a record has one key"), 1, twice)

	once := explored(replying("once", retrying(func(*adk.DispatchContext) string { return "m0" })))
	assert.Empty(t, once.Violations, once)
	assert.Empty(t, once.Hints, once)
}

// A request that providers are certain to refuse is also reported if there is no fault.
func TestRefusedWithoutAnyFault(t *testing.T) {
	asking := func(request string) turn.Subject {
		return turn.Subject{Name: "asks", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
			return adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				if _, err := adk.Ask(ctx, "model", json.RawMessage(request), func(context.Context, json.RawMessage) (string, error) { return "Tea.", nil }); err != nil {
					return err
				}
				return dc.Ack()
			}}}, adk.RawTurn{SystemPrompt: "Help."}
		}}
	}
	const call, result = `{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"look"}}]}`, `{"role":"tool","tool_call_id":"c1","content":"4 °C"}`
	for messages, says := range map[string]string{
		result:              `model is asked with a result without its call, "c1"`,
		call:                `model is asked with a call without its result, "c1"`,
		call + "," + result: "",
	} {
		explored, err := Explore(t.Context(), asking(`{"messages":[`+messages+`]}`), Options{})
		require.NoError(t, err)
		if says == "" {
			assert.Empty(t, explored.Violations, explored)
			continue
		}
		require.Len(t, explored.Violations, 1, explored)
		assert.Contains(t, explored.Violations[0].Text, says)
		assert.Equal(t, "undisturbed", explored.Violations[0].Schedule.String())
	}
}

// If strands write the same record, so that the strand that ends last wins, that is a hint. It is none
// if they write the same text, or each strand writes its own record.
func TestOrderOfStrandsDecides(t *testing.T) {
	writing := func(key, text func(n int) string) turn.Subject {
		return replying("strands", func(ctx context.Context, dc *adk.DispatchContext) error {
			var strands []*adk.Strand
			for n := range 2 {
				s, err := dc.Fork(ctx, "writer", func(ctx context.Context, dc *adk.DispatchContext) error {
					return dc.Messages().Mutate(ctx, spoken(key(n), adk.RoleUser, text(n)))
				})
				if err != nil {
					return err
				}
				strands = append(strands, s)
			}
			return errors.Join(strands[0].Wait(), strands[1].Wait(), dc.Ack())
		})
	}
	own := func(n int) string { return string(rune('a' + n)) }
	same := func(int) string { return "m" }
	for name, c := range map[string]struct {
		key, text func(int) string
		want      int
	}{"last wins": {same, own, 1}, "alike": {same, same, 0}, "apart": {own, own, 0}} {
		result, err := Explore(t.Context(), writing(c.key, c.text), Options{Faults: []turn.FaultKind{}})
		require.NoError(t, err)
		assert.Len(t, breaches(result.Hints, "the order of strands leaves the same"), c.want, "%s: %s", name, result)
	}
}

// A runtime panic in user code is reported with the line that panics. A panic with a value of the author's
// own is on purpose, and is not reported.
func TestCodeThatCrashes(t *testing.T) {
	crash := func(do func(given int)) *Exploration {
		s := replying("crashes", func(ctx context.Context, dc *adk.DispatchContext) error {
			do(len(dc.Messages().All()))
			return dc.Ack()
		})
		result, err := Explore(t.Context(), s, Options{})
		require.NoError(t, err)
		return result
	}
	found := breaches(crash(func(given int) {
		if given > 1 {
			_ = make([]int, 1)[given]
		}
	}).Violations, "code does not crash")
	require.Len(t, found, 1)
	assert.Regexp(t, `^runtime error: index out of range \[2\] with length 1, in .*TestCodeThatCrashes.* at property/explore/oracle_history_test.go:\d+\n`, found[0])
	always := crash(func(given int) { _ = make([]int, given)[given] })
	require.Len(t, breaches(always.Violations, "code does not crash"), 1, always)
	assert.Equal(t, "undisturbed", always.Violations[0].Schedule.String(), "the undisturbed turn")
	assert.Empty(t, crash(func(given int) {
		if given > 1 {
			panic("too many")
		}
	}).Violations)
}
