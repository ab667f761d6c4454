package zoo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// keeping are the families of bugs around what is stored and what is not.
var keeping = []family{
	{"a call left open by a cancel", false, func(broken bool) turn.Instance {
		storage := conversation()
		look := tool("look", adk.EffectReads, func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("4 °C"), nil
		})
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if dc.Iteration() > 0 {
				if err := say(ctx, dc, h, "m1", "It is cold."); err != nil {
					return err
				}
				return dc.Ack()
			}
			args := map[string]any{"city": "Oslo"}
			if broken { // stores the model's words first, and the result only once there is one
				if err := say(ctx, dc, h, "m0", "Let me call look(Oslo)."); err != nil {
					return err
				}
			}
			result, err := dc.Execute(ctx, look, args)
			if err != nil {
				result = adk.Text("it failed: " + err.Error())
			}
			if !broken {
				ctx = context.WithoutCancel(ctx)
				if err := dc.ToolCalls().Store(ctx, call(dc, "c0", "look", args, result, err != nil)); err != nil {
					return err
				}
				return say(ctx, dc, h, "m0", "Let me call look(Oslo).")
			}
			return dc.ToolCalls().Store(ctx, call(dc, "c0", "look", args, result, err != nil))
		}, look)
		i.Check = func(turn.Run) error {
			if kept(storage, "m0") && !kept(storage, "c0") {
				return errors.New("the history has the model's call, and no result of it")
			}
			return nil
		}
		return i
	}},
	{"half a record", false, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if err := say(ctx, dc, h, "m0", "Your order is noted."); err != nil {
				return err
			}
			first, second := memory("order-index", "order"), memory("order", "one bicycle")
			if broken {
				first, second = second, first
			}
			for _, m := range []*adk.Memory{first, second} {
				if err := dc.Memories().Store(ctx, m); err != nil {
					return err
				}
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			if kept(storage, "order") && !kept(storage, "order-index") {
				return errors.New("there is an order that no index knows")
			}
			return nil
		}
		return i
	}},
	{"an ack before the write", true, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if broken {
				if err := dc.Ack(); err != nil {
					return err
				}
				_ = say(ctx, dc, h, "m0", "Done.")
				return nil
			}
			if err := say(ctx, dc, h, "m0", "Done."); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			if acked(r) && !kept(storage, "m0") {
				return errors.New("acked, and the answer is not there")
			}
			return nil
		}
		return i
	}},
	{"a memory of a turn that failed", false, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if broken {
				if err := dc.Memories().Store(ctx, memory("likes", "The user likes tea.")); err != nil {
					return err
				}
			}
			if err := say(ctx, dc, h, "m0", "Tea it is."); err != nil {
				return err
			}
			return dc.Ack()
		})
		if !broken {
			i.Config.TurnOutput = []adk.TurnMiddleware{{Name: "remember", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
				if err := tc.Memories().Store(ctx, memory("likes", "The user likes tea.")); err != nil {
					return err
				}
				next(ctx)
				return nil
			}}}
		}
		i.Check = func(r turn.Run) error {
			if kept(storage, "likes") && !acked(r) {
				return errors.New("a turn that failed is remembered")
			}
			return nil
		}
		return i
	}},
	{"a stale cache", false, func(broken bool) turn.Instance {
		storage := fakes.NewStorage(memory("plan", "walk"))
		var cache sync.Map
		cache.Store("plan", "walk")
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if broken {
				cache.Store("plan", "cycle")
			}
			if err := dc.Memories().Mutate(ctx, memory("plan", "cycle")); err != nil {
				h.Log(adk.LevelWarn, "plan", "the plan stays as it was", nil)
			} else if !broken {
				cache.Store("plan", "cycle")
			}
			plan, _ := cache.Load("plan")
			if err := say(ctx, dc, h, "m0", "You will "+plan.(string)+"."); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			for _, m := range storage.Messages() {
				if m.Content().String() == "You will cycle." && storage.Memories()[0].Content().String() != "cycle" {
					return errors.New("the answer says what storage does not")
				}
			}
			return nil
		}
		return i
	}},
	{"a failure kept to itself", true, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if err := dc.Thoughts().Store(ctx, must(adk.NewThought(adk.ThoughtInit{ID: "t0", Content: "hm", CreatedAt: dc.Now(), UpdatedAt: dc.Now()}))); err != nil && !broken {
				h.Log(adk.LevelWarn, "thoughts", "not kept: "+err.Error(), nil)
			}
			if err := say(ctx, dc, h, "m0", "I have thought about it."); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			logged := false
			for x := range r.Crossings {
				logged = logged || x.Kind == adk.KindReportLog
			}
			if acked(r) && len(storage.Thoughts()) == 0 && !logged {
				return errors.New("the thought was lost without a word")
			}
			return nil
		}
		return i
	}},
	{"a lost tail of a stream", true, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			text := ""
			for n, piece := range []string{"Once ", "upon ", "a ", "time."} {
				if err := ctx.Err(); err != nil {
					if !broken && text != "" {
						err = errors.Join(err, dc.Messages().Store(context.WithoutCancel(ctx), message(dc, "m0", text)))
					}
					return err
				}
				text += piece
				if _, err := h.ReportMessage("m0", piece, n == 3); err != nil {
					return err
				}
			}
			if !broken {
				ctx = context.WithoutCancel(ctx)
			}
			if err := dc.Messages().Store(ctx, message(dc, "m0", text)); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			shown, failed := false, false
			for x := range r.Crossings {
				shown = shown || x.Kind == adk.KindReportMessage
				failed = failed || x.Kind == adk.KindReturn && x.Err != nil && strings.Contains(x.Err.Error(), "broken by the explorer")
			}
			if shown && !failed && !kept(storage, "m0") && aborted(r) {
				return errors.New("the user saw an answer, and it is not there")
			}
			return nil
		}
		return i
	}},
	{"the wrong tenant", false, func(broken bool) turn.Instance {
		storage := conversation()
		var tenant atomic.Value // shared, but atomic: the bug is not a data race
		var seen tally
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			err := parallel(ctx, dc, 2, func(ctx context.Context, dc *adk.DispatchContext, n int) error {
				own := fmt.Sprintf("tenant%d", n)
				tenant.Store(own)
				if _, err := dc.Retrievables().Fetch(ctx); err != nil {
					return err
				}
				if broken {
					own = fmt.Sprint(tenant.Load())
				}
				seen.note("%d as %s", n, own)
				return dc.Memories().Store(ctx, memory(fmt.Sprintf("of%d", n), own))
			})
			if err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			for _, m := range storage.Memories() {
				if m.Content().String() != "tenant"+m.ID()[2:] {
					return fmt.Errorf("%s was stored as %s", m.ID(), m.Content())
				}
			}
			return nil
		}
		return i
	}},
	{"two records under one key", false, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			id := "answer"
			store := func() error {
				if broken {
					id = dc.NewID() // wrong: each attempt gets a new id
				}
				return dc.Messages().Store(ctx, message(dc, id, "Yes."))
			}
			if err := store(); err != nil {
				if err := store(); err != nil {
					return dc.Nack(err)
				}
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			answers := 0
			for _, m := range storage.Messages() {
				if m.Content().String() == "Yes." {
					answers++
				}
			}
			if answers > 1 {
				return fmt.Errorf("one answer is stored %d times", answers)
			}
			return nil
		}
		return i
	}},
	{"a crash between two rows", false, func(broken bool) turn.Instance {
		storage := fakes.NewStorage(memory("from", "10"), memory("to", "0"))
		amount := func(id string) string {
			for _, m := range storage.Memories() {
				if m.ID() == id {
					return m.Content().String()
				}
			}
			return ""
		}
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if !broken {
				if err := dc.Memories().Store(ctx, memory("journal", "10 from to")); err != nil {
					return err
				}
			}
			if err := dc.Memories().Mutate(ctx, memory("from", "0")); err != nil {
				return err
			}
			if err := dc.Memories().Mutate(ctx, memory("to", "10")); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Next = func() (adk.Config, adk.RawTurn) {
			again := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				if kept(storage, "journal") { // does the work again: the journal holds the new values, not the differences
					err := errors.Join(dc.Memories().Mutate(ctx, memory("from", "0")), dc.Memories().Mutate(ctx, memory("to", "10")))
					if err != nil {
						return err
					}
				}
				return dc.Ack()
			})
			return again.Config, again.Raw
		}
		i.Check = func(r turn.Run) error {
			if from, to := amount("from"), amount("to"); from == to {
				return fmt.Errorf("there were 10, and now there are %s and %s", from, to)
			}
			return nil
		}
		return i
	}},
}
