package explore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// strandActs are things that a strand can do, by name. Each ends with a look at the shared state that
// makes no crossing, so that an order that changes the outcome is visible.
var strandActs = map[string]func(ctx context.Context, dc *adk.DispatchContext, me string) error{
	"store": func(ctx context.Context, dc *adk.DispatchContext, me string) error {
		m, err := adk.NewMessage(adk.MessageInit{ID: me, Role: adk.RoleUser, Content: me, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
		if err != nil {
			return err
		}
		return dc.Messages().Store(ctx, m)
	},
	"fetch": func(ctx context.Context, dc *adk.DispatchContext, me string) error {
		found, err := dc.Messages().Fetch(ctx)
		return look(dc, me, len(found), err)
	},
	"stash": func(_ context.Context, dc *adk.DispatchContext, me string) error { return dc.Stash().Set("last", me) },
	"sleep": func(ctx context.Context, dc *adk.DispatchContext, me string) error {
		return dc.Sleep(ctx, time.Duration(len(me))*time.Second)
	},
	"log": func(_ context.Context, dc *adk.DispatchContext, me string) error {
		dc.Helpers().Log(adk.LevelInfo, "strand", me, nil)
		return nil
	},
	"report": func(_ context.Context, dc *adk.DispatchContext, me string) error {
		update, err := dc.Helpers().ReportMessage("shared", me, false)
		return look(dc, me, update.Full, err)
	},
	"own report": func(_ context.Context, dc *adk.DispatchContext, me string) error {
		update, err := dc.Helpers().ReportMessage(me, "x", false)
		return look(dc, me, update.Full, err)
	},
	"new id": func(_ context.Context, dc *adk.DispatchContext, me string) error { return look(dc, me, dc.NewID()) },
	"tool": func(ctx context.Context, dc *adk.DispatchContext, me string) error {
		tool, _ := dc.Tools().Get("counter")
		result, err := dc.Execute(ctx, tool, map[string]any{})
		return look(dc, me, fmt.Sprint(result), err)
	},
	"gate": func(ctx context.Context, dc *adk.DispatchContext, me string) error {
		_, err := dc.WaitFor(ctx, adk.Gate{ID: "the only one", Reason: me, Timeout: time.Second})
		return look(dc, me, err)
	},
	"read": func(_ context.Context, dc *adk.DispatchContext, me string) error {
		return look(dc, me, dc.Messages().Len(), dc.IsAcked(), dc.Stash().Get("last", nil))
	},
	"abort": func(_ context.Context, dc *adk.DispatchContext, _ string) error { return dc.Abort(errBoom) },
	"ack":   func(_ context.Context, dc *adk.DispatchContext, me string) error { return look(dc, me, dc.Ack()) },
}

// look stores what the strand me saw under its own name.
func look(dc *adk.DispatchContext, me string, saw ...any) error {
	for i, one := range saw {
		if err, failed := one.(error); failed {
			saw[i] = err.Error()
		}
	}
	return dc.Stash().Set("saw."+me, fmt.Sprint(saw...))
}

// strands returns a turn whose executor forks a strand for each list of acts, and at its end logs all
// shared state.
func strands(acts [][]string) turn.Subject {
	return turn.Subject{Name: "strands", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		counter := fakes.NewTool("counter", "Counts.", "one", "two", "three", "four", "five", "six")
		return adk.Config{
			Storage: fakes.NewStorage().Storage(),
			Tools:   []*adk.Tool{counter.Tool()},
			Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				var begun []*adk.Strand
				for i, list := range acts {
					s, err := dc.Fork(ctx, fmt.Sprint("s", i), func(ctx context.Context, dc *adk.DispatchContext) error {
						for k, act := range list {
							if err := strandActs[act](ctx, dc, fmt.Sprintf("s%d-%d", i, k)); err != nil {
								return err
							}
						}
						return nil
					})
					if err != nil {
						return err
					}
					begun = append(begun, s)
				}
				var ends []string
				for _, s := range begun {
					ends = append(ends, fmt.Sprint(s.Wait()))
				}
				var stored []string
				for _, m := range dc.Messages().All() {
					stored = append(stored, m.ID())
				}
				h.Log(adk.LevelInfo, "end", fmt.Sprint(ends, stored, dc.Stash().All(), dc.Aborted(), dc.IsAcked()), nil)
				if dc.IsSignalled() {
					return nil
				}
				return dc.Nack(nil)
			}},
		}, adk.RawTurn{SystemPrompt: "Help."}
	}}
}

// mostOrders is the number of orders of one turn that a test waits for.
const mostOrders = 800

// orderEndings returns all endings that the turn has without a fault, and the number of orders that
// were tried to find them.
func orderEndings(t require.TestingT, s turn.Subject, all bool) (found map[string]bool, orders int) {
	found = map[string]bool{}
	s.Scripted = true // the strands meet only at visible operations, so no random orders are needed
	result, err := explore.Explore(context.Background(), checked(s, func(r turn.Run) error {
		var end strings.Builder
		for x := range r.Crossings {
			switch x.Kind {
			case adk.KindReportLog:
				if x.Name == "end" {
					end.WriteString(x.Text)
				}
			case adk.KindDispatchEnd:
				end.WriteString(" " + x.Status)
			case adk.KindErrorEvent:
				end.WriteString(" " + x.Err.Error())
			}
		}
		found[end.String()] = true
		return nil
	}), explore.Options{Workers: 1, AllOrders: all, Faults: []turn.FaultKind{}, Schedules: mostOrders, UsualInput: true})
	require.NoError(t, err)
	require.Empty(t, result.Violations, result)
	require.Equal(t, result.Schedules, result.Table.Orders+1)
	return found, result.Table.Orders + 1
}

// Leaving out orders is sound: small turns have the same endings when all orders
// are tried.
func TestReductionIsSound(t *testing.T) {
	acts := make([]string, 0, len(strandActs))
	for _, act := range []string{"store", "fetch", "stash", "sleep", "log", "report", "own report", "new id", "tool", "gate", "read", "abort", "ack"} {
		require.Contains(t, strandActs, act)
		acts = append(acts, act)
	}
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) (list []string) {
		for range n {
			list = append(list, acts[random.IntN(len(acts))])
		}
		return list
	}
	subjects, tried, possible := 0, 0, 0
	for range thorough.Of(20, 12, 8) {
		lists := [][]string{draw(1 + random.IntN(2)), draw(1 + random.IntN(2))}
		if random.IntN(4) == 0 {
			lists = [][]string{draw(1), draw(1), draw(1)}
		}
		s := strands(lists)
		want, all := orderEndings(t, s, true)
		if all >= mostOrders {
			continue
		}
		got, some := orderEndings(t, s, false)
		require.Equal(t, want, got, "%v", lists)
		subjects, tried, possible = subjects+1, tried+some, possible+all
	}
	t.Logf("%d turns: %d orders instead of %d", subjects, tried, possible)
	assert.Greater(t, subjects, thorough.Of(10, 5, 2))
	assert.Less(t, tried, possible/4)
}

// Strands that share nothing are tried in one order. Strands that share something are tried in every
// order of the operations on it.
func TestOrders(t *testing.T) {
	for _, c := range []struct {
		acts    [][]string
		endings int
		orders  int
	}{
		{[][]string{{"log", "sleep"}, {"log", "sleep"}}, 1, 1},
		{[][]string{{"own report"}, {"log", "log", "log"}}, 1, 0},
		{[][]string{{"store"}, {"store"}}, 2, 0},
		{[][]string{{"tool"}, {"tool"}, {"tool"}}, 6, 0},
		{[][]string{{"stash", "stash"}, {"stash"}}, 2, 0},
	} {
		found, orders := orderEndings(t, strands(c.acts), false)
		assert.Len(t, found, c.endings, "%v", c.acts)
		if c.orders > 0 {
			assert.Equal(t, c.orders, orders, "%v", c.acts)
		}
	}
}
