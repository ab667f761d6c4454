package explore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// remembering returns a subject that begins with a conversation of size messages and passes the messages it
// was given to run.
func remembering(name string, size int, run func(given []*adk.Message) error) turn.Subject {
	return turn.Subject{Name: name, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		var all []adk.Record
		for i := range size {
			role := adk.RoleUser
			if (size-i)%2 == 0 {
				role = adk.RoleAssistant
			}
			m, err := adk.NewMessage(adk.MessageInit{ID: fmt.Sprint("u", i), Role: role, Content: fmt.Sprint("text ", i), CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
			if err != nil {
				panic(err)
			}
			all = append(all, m)
		}
		return adk.Config{Storage: fakes.NewStorage(all...).Storage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			given, err := dc.Messages().Fetch(ctx)
			if err == nil {
				err = run(given)
			}
			if err != nil {
				return err
			}
			return dc.Ack()
		}}}, adk.RawTurn{SystemPrompt: "Help."}
	}}
}

// Code that is right for five messages may be wrong for six, and no fault shows that. So a turn also
// runs with other conversations, and the schedule says which one.
func TestOtherConversations(t *testing.T) {
	s := remembering("five", 5, func(given []*adk.Message) error {
		if len(given) > 5 {
			_ = given[len(given)]
		}
		return nil
	})
	s.Check = func(r turn.Run) error {
		for x := range r.Crossings {
			if x.Kind == adk.KindReturn && x.Outcome == adk.OutcomePanic && strings.Contains(x.Err.Error(), "index out of range") {
				return errors.New("it panics")
			}
		}
		return nil
	}
	result := explored(t, s, explore.Options{})
	found := says(result, "it panics")
	require.Len(t, found, 1, result)
	assert.Equal(t, "older@1", found[0].Schedule.String())
	assert.Equal(t, []string{"older@1: the turn begins with 1 older message before those that the storage has"}, found[0].Where)
	again, err := explore.RunSchedule(t.Context(), s, found[0].Schedule, explore.Options{})
	require.NoError(t, err)
	assert.Len(t, says(again, "it panics"), 1)
	assert.Empty(t, explored(t, s, explore.Options{UsualInput: true}).Violations)
	both, err := explore.RunSchedule(t.Context(), s, turn.MustSchedule("older@1,cancel@3"), explore.Options{})
	require.NoError(t, err)
	assert.Equal(t, 2, both.Bound)
}

// The other conversations are those of the storage, with more messages at the beginning or before the
// newest, or the newest alone. Each begins with a role that may begin one, and the roles take turns.
func TestConversationsGiven(t *testing.T) {
	given := map[string]bool{}
	s := remembering("given", 3, func(all []*adk.Message) error {
		text := ""
		for _, m := range all {
			if m.ID()[0] == 'u' {
				text += m.ID() + " "
			} else {
				text += string(m.Role()) + " "
			}
		}
		given[text] = true
		return nil
	})
	explored(t, s, explore.Options{Workers: 1, Faults: []turn.FaultKind{}})
	for _, want := range []string{
		"u0 u1 u2 ", "u2 ", "assistant u0 u1 u2 ", "user assistant u0 u1 u2 ", "u0 u1 user u2 ", "u0 u1 user assistant u2 ",
	} {
		assert.True(t, given[want], "%q of %v", want, given)
	}
	assert.Len(t, given, 15)
}

// A message that the explorer added can be deleted like one of the storage, but the storage is never
// asked to delete it.
func TestOtherConversationsAreKeptApart(t *testing.T) {
	s := remembering("deletes", 2, nil)
	build := s.Build
	s.Build = func(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		config, raw := build(cancel)
		config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			all, err := dc.Messages().Fetch(ctx)
			for _, m := range all {
				err = errors.Join(err, dc.Messages().Delete(ctx, m.ID()))
			}
			left, again := dc.Messages().Fetch(ctx)
			if err = errors.Join(err, again); err != nil {
				return err
			}
			dc.Log(adk.LevelInfo, "left", fmt.Sprint(len(left)), nil)
			return dc.Ack()
		}
		return config, raw
	}
	s.Check = func(r turn.Run) error {
		for x := range r.Crossings {
			if x.Kind == adk.KindReportLog && x.Text != "0" {
				return fmt.Errorf("%s are left", x.Text)
			}
		}
		return nil
	}
	result := explored(t, s, explore.Options{})
	assert.Empty(t, says(result, "are left"), result)
	assert.Equal(t, 27, result.Table.Inputs)
}

// A schedule with an impossible conversation is refused with the reason.
func TestOtherConversationsRefused(t *testing.T) {
	nothing := executing("nothing", func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() })
	_, err := explore.RunSchedule(t.Context(), nothing, turn.MustSchedule("older@3"), explore.Options{})
	assert.ErrorContains(t, err, "older@3 cannot happen: the storage gives no messages")
	three := remembering("three", 3, func([]*adk.Message) error { return nil })
	_, err = explore.RunSchedule(t.Context(), three, turn.MustSchedule("newest@7"), explore.Options{})
	assert.ErrorContains(t, err, "newest@7 cannot happen: the storage gives 3 messages")
	_, err = explore.RunSchedule(t.Context(), three, turn.MustSchedule("older@7"), explore.Options{})
	assert.NoError(t, err)
}

// For each number of bytes, the other conversations contain a text that would be cut within a letter
// at that length.
func TestConversationsHaveLettersOfManyBytes(t *testing.T) {
	for _, cut := range []int{1, 3, 10, 64, 100, 255} {
		s := remembering("cuts", 1, func(given []*adk.Message) error {
			for _, m := range given {
				if text := m.Content().String(); !utf8.ValidString(text[:min(cut, len(text))]) {
					_ = given[len(given)]
				}
			}
			return nil
		})
		result := explored(t, s, explore.Options{Faults: []turn.FaultKind{}})
		assert.NotEmpty(t, result.Violations, "%d bytes", cut)
	}
}

// A system prompt may contain text that code takes for a template. When a violation with such a prompt
// is shortened and reproduced, its schedule says so.
func TestOddPrompts(t *testing.T) {
	said := map[string]bool{}
	s := remembering("prompts", 0, nil)
	build := s.Build
	s.Build = func(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		config, raw := build(cancel)
		config.Executor.Run = func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			dc.Log(adk.LevelInfo, "prompt", dc.SystemPrompt().String(), nil)
			return dc.Ack()
		}
		raw.SystemPrompt = "You help."
		return config, raw
	}
	s.Check = func(r turn.Run) error {
		for x := range r.Crossings {
			if x.Kind == adk.KindReportLog {
				said[x.Text] = true
				if strings.Contains(x.Text, "%s") {
					return errors.New("a form")
				}
			}
		}
		return nil
	}
	result := explored(t, s, explore.Options{Workers: 1, Faults: []turn.FaultKind{}})
	assert.Len(t, said, 6, "as it is, with four odd ends, and with a plain one")
	found := says(result, "a form")
	require.Len(t, found, 1, result)
	assert.Equal(t, "prompt@1", found[0].Schedule.String())
	assert.Contains(t, found[0].Where[0], "a system prompt that says")
	assert.Contains(t, found[0].Stretch, "%s %d", "what was done with it is shown")
	_, err := explore.RunSchedule(t.Context(), s, turn.MustSchedule("prompt@5"), explore.Options{})
	assert.ErrorContains(t, err, "there are 4 odd ones")
}
