package explore_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// came explores s with these faults. It returns the texts that runs with a fault logged, each with a
// schedule that leads to it.
func came(t *testing.T, s turn.Subject, kinds ...turn.FaultKind) map[string]string {
	t.Helper()
	said := map[string]string{}
	s.Check = func(r turn.Run) error {
		for x := range r.Crossings {
			if x.Kind == adk.KindReportLog && len(r.Schedule.Faults) > 0 && said[x.Text] == "" {
				said[x.Text] = r.Schedule.String()
			}
		}
		return nil
	}
	explored(t, s, explore.Options{Workers: 1, Faults: kinds, UsualInput: true})
	return said
}

func keysOf(m map[string]string) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// outcomes notes whether each of several attempts failed (x) or succeeded (.).
type outcomes string

func (o *outcomes) note(err error) {
	if err != nil {
		*o += "x"
	} else {
		*o += "."
	}
}

// An operation that an agent tries five times fails once, twice, three times, four times, and every time,
// because an agent that tries three times behaves differently after three failures than after two.
func TestFailuresLastAsLongAsItMatters(t *testing.T) {
	five := func(try func(ctx context.Context, dc *adk.DispatchContext) error) turn.Subject {
		return executing("five times", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			var said outcomes
			for range 5 {
				err := try(ctx, dc)
				if said.note(err); err == nil {
					break
				}
			}
			h.Log(adk.LevelInfo, "said", string(said), nil)
			return dc.Ack()
		})
	}
	ask := func(ctx context.Context, dc *adk.DispatchContext) error {
		_, err := adk.Ask(ctx, "search", "tea", func(context.Context, string) (string, error) { return "Assam", nil })
		return err
	}
	want := []string{"x.", "xx.", "xxx.", "xxxx.", "xxxxx"}
	stored := came(t, five(func(ctx context.Context, dc *adk.DispatchContext) error {
		return dc.Memories().Mutate(ctx, noted("a", "x"))
	}), turn.StorageBefore, turn.Flaky, turn.Down)
	assert.Equal(t, want, keysOf(stored))
	assert.Regexp(t, `^flaky@\d+\*4$`, stored["xxxx."])
	asked := came(t, five(ask), turn.AskRefused, turn.AskDown)
	assert.Equal(t, want, keysOf(asked))
	assert.Regexp(t, `^ask-refused@\d+\*2$`, asked["xx."])
	again := came(t, five(ask), turn.AskTimeout)
	assert.Equal(t, []string{"x.", "xxxx.", "xxxxx"}, keysOf(again), "what may come of itself lasts once it was asked for again")
	assert.Regexp(t, `^ask-timeout@\d+\*all$`, again["xxxxx"])
}

// If three operations are tried three times each, each fails twice: an agent that counts the attempts of
// all operations together gives up too early.
func TestFailuresOfEach(t *testing.T) {
	look, err := adk.NewTool(adk.ToolInit{Name: "look", Description: "Looks.", InputSchema: json.RawMessage(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("found"), nil
		}})
	require.NoError(t, err)
	for kind, c := range map[turn.FaultKind]struct {
		down turn.FaultKind
		try  func(ctx context.Context, dc *adk.DispatchContext, what string) error
	}{
		turn.AskRefused: {turn.AskDown, func(ctx context.Context, _ *adk.DispatchContext, what string) error {
			_, err := adk.Ask(ctx, what, "tea", func(context.Context, string) (string, error) { return "Assam", nil })
			return err
		}},
		turn.Flaky: {turn.Down, func(ctx context.Context, dc *adk.DispatchContext, what string) error {
			if what == "c" {
				_, err := dc.Execute(ctx, look, map[string]any{}) // not the storage
				return err
			}
			return dc.Memories().Mutate(ctx, noted(what, "x"))
		}},
	} {
		s := executing("three times each", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			var said outcomes
			for _, what := range []string{"a", "b", "c"} {
				for range 3 {
					err := c.try(ctx, dc, what)
					if said.note(err); err == nil {
						break
					}
				}
			}
			h.Log(adk.LevelInfo, "said", string(said), nil)
			return dc.Ack()
		})
		want := map[turn.FaultKind]string{turn.AskRefused: "xx.xx.xx.", turn.Flaky: "xx.xx.."}[kind]
		assert.Regexp(t, `^`+kind.String()+`@\d+\*\d-each$`, came(t, s, kind, c.down)[want])
	}
}

// A tool can fail for just one customer of those that the agent works for, even if the tool was never
// registered. A service that is asked can too, and so can a storage, for keys with the same text before
// a separator.
func TestDownForOne(t *testing.T) {
	charge, err := adk.NewTool(adk.ToolInit{Name: "charge", Description: "Charges.", InputSchema: json.RawMessage(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("done"), nil
		}})
	require.NoError(t, err)
	type order struct {
		Customer string
		Order    int
	}
	for name, c := range map[string]struct {
		work func(ctx context.Context, dc *adk.DispatchContext, o order) error
		kind turn.FaultKind
		want string
	}{
		"a tool": {func(ctx context.Context, dc *adk.DispatchContext, o order) error {
			_, err := dc.Execute(ctx, charge, map[string]any{"customer": o.Customer, "order": float64(o.Order)})
			return err
		}, turn.DownOne, `^down-one@\d+=customer$`},
		"who is asked": {func(ctx context.Context, _ *adk.DispatchContext, o order) error {
			_, err := adk.Ask(ctx, "bank", o, func(context.Context, order) (string, error) { return "done", nil })
			return err
		}, turn.AskDownOne, `^ask-down-one@\d+=Customer$`},
		"a storage": {func(ctx context.Context, dc *adk.DispatchContext, o order) error {
			return dc.Memories().Mutate(ctx, noted(o.Customer+"/"+string(rune('a'+o.Order)), "x"))
		}, turn.DownOne, `^down-one@\d+=id/$`},
	} {
		t.Run(name, func(t *testing.T) {
			s := executing(name, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				var said outcomes
				for n, customer := range []string{"Ada", "Bob", "Ada", "Bob", "Ada"} {
					said.note(c.work(ctx, dc, order{customer, n}))
				}
				h.Log(adk.LevelInfo, "said", string(said), nil)
				return dc.Ack()
			})
			got := came(t, s, c.kind)
			assert.Regexp(t, c.want, got["x.x.x"], got)
			assert.Regexp(t, c.want, got[".x.x."], got)
			assert.Contains(t, got, "..x..", "and for one order alone")
			assert.NotContains(t, got, "xxxxx")
		})
	}
}

// A schedule that names a member that does not exist cannot happen, and the error says so.
func TestDownForNobody(t *testing.T) {
	s := executing("notes", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		var said outcomes
		said.note(dc.Memories().Mutate(ctx, noted("a", "x")))
		h.Log(adk.LevelInfo, "said", string(said), nil)
		return dc.Ack()
	})
	schedule := came(t, s, turn.DownOne)["x"]
	require.NotEmpty(t, schedule)
	_, err := explore.RunSchedule(t.Context(), s, turn.MustSchedule(schedule+"=customer"), explore.Options{})
	assert.ErrorContains(t, err, schedule+`=customer cannot happen: there is no member "customer"`)
}
