package zoo_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/turn"
)

// atOnce are the families of bugs in work that several strands or goroutines do concurrently.
var atOnce = []family{
	{"results paired by the order in which they come", true, func(broken bool) turn.Instance {
		storage := conversation()
		look := tool("look", adk.EffectReads, func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			if _, err := dc.Retrievables().Fetch(ctx); err != nil {
				return nil, err
			}
			return adk.Text("of " + args["city"].(string)), nil
		})
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			cities := []string{"Oslo", "Rome"}
			var mu sync.Mutex
			var came []adk.ToolResult
			byCity := map[string]adk.ToolResult{}
			err := parallel(ctx, dc, 2, func(ctx context.Context, dc *adk.DispatchContext, n int) error {
				result, err := dc.Execute(ctx, look, map[string]any{"city": cities[n]})
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				came = append(came, result)
				byCity[cities[n]] = result
				return nil
			})
			if err != nil {
				return err
			}
			for n, city := range cities {
				result := byCity[city]
				if broken {
					result = came[n]
				}
				if err := dc.ToolCalls().Store(ctx, call(dc, fmt.Sprintf("c%d", n), "look", map[string]any{"city": city}, result, false)); err != nil {
					return err
				}
			}
			return dc.Ack()
		}, look)
		i.Check = func(turn.Run) error {
			for _, c := range storage.ToolCalls() {
				if got := c.Results().(*adk.Tokenizable).String(); got != "of "+c.Args()["city"].(string) {
					return fmt.Errorf("look(%s) gave %q", c.Args()["city"], got)
				}
			}
			return nil
		}
		return i
	}},
	{"a lost update", false, func(broken bool) turn.Instance {
		storage := conversation()
		var mu sync.Mutex
		count := 0
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			err := parallel(ctx, dc, 2, func(ctx context.Context, dc *adk.DispatchContext, _ int) error {
				if !broken {
					mu.Lock()
					defer mu.Unlock()
				}
				was := count
				if _, err := dc.Memories().Fetch(ctx); err != nil {
					return err
				}
				count = was + 1
				return nil
			})
			if err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			if acked(r) && count != 2 {
				return fmt.Errorf("two were counted as %d", count)
			}
			return nil
		}
		return i
	}},
	{"check, then act on a quota", false, func(broken bool) turn.Instance {
		storage := conversation()
		var spent tally
		var mu sync.Mutex
		left := 1
		take := func() bool {
			mu.Lock()
			defer mu.Unlock()
			left--
			return left >= 0
		}
		isLeft := func() bool {
			mu.Lock()
			defer mu.Unlock()
			return left > 0
		}
		spend := tool("spend", adk.EffectWrites, func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			spent.note("spent %v", args["on"])
			return adk.Text("spent"), nil
		})
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			err := parallel(ctx, dc, 2, func(ctx context.Context, dc *adk.DispatchContext, n int) error {
				switch {
				case broken && !isLeft(), !broken && !take():
					return nil
				}
				if _, err := dc.Execute(ctx, spend, map[string]any{"on": n}); err != nil {
					return err
				}
				if broken {
					take()
				}
				return nil
			})
			if err != nil {
				return err
			}
			return dc.Ack()
		}, spend)
		i.Check = func(turn.Run) error {
			if n := spent.count("spent"); n > 1 {
				return fmt.Errorf("a quota of 1 was spent %d times", n)
			}
			return nil
		}
		return i
	}},
	{"locks in two orders", true, func(broken bool) turn.Instance {
		storage := conversation()
		var index, cache sync.Mutex
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			err := parallel(ctx, dc, 2, func(ctx context.Context, dc *adk.DispatchContext, n int) error {
				first, second := &index, &cache
				if broken && n == 1 {
					first, second = second, first
				}
				first.Lock()
				defer first.Unlock()
				if _, err := dc.Retrievables().Fetch(ctx); err != nil {
					return err
				}
				second.Lock()
				defer second.Unlock()
				return nil
			})
			if err != nil {
				return err
			}
			return dc.Ack()
		})
		return i
	}},
	{"who ends last decides what is left", false, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			var mu sync.Mutex
			best := 0
			err := parallel(ctx, dc, 3, func(ctx context.Context, dc *adk.DispatchContext, n int) error {
				if _, err := dc.Retrievables().Fetch(ctx); err != nil {
					return err
				}
				if broken {
					return dc.Memories().Mutate(ctx, memory("best", fmt.Sprint(n)))
				}
				mu.Lock()
				defer mu.Unlock()
				best = max(best, n)
				return nil
			})
			if err == nil && !broken {
				err = dc.Memories().Mutate(ctx, memory("best", fmt.Sprint(best)))
			}
			if err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			if m := storage.Memories(); acked(r) && m[0].Content().String() != "2" {
				return fmt.Errorf("the best is said to be %s", m[0].Content())
			}
			return nil
		}
		return i
	}},
	{"a goroutine that nobody waits for", true, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			results := make(chan string)
			if !broken {
				results = make(chan string, 1)
			}
			go func() { results <- "found" }()
			if _, err := dc.Memories().Fetch(ctx); err != nil {
				return err // the broken goroutine then blocks for ever in its send
			}
			<-results
			return dc.Ack()
		})
		return i
	}},
	{"a channel that is full when its reader has left", true, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			pieces, gone := make(chan string), make(chan struct{})
			reader, err := dc.Fork(ctx, "reader", func(ctx context.Context, dc *adk.DispatchContext) error {
				defer close(gone)
				for range pieces {
					if _, err := dc.Memories().Fetch(ctx); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			for n := range 3 {
				if broken {
					pieces <- fmt.Sprint(n)
					continue
				}
				select {
				case pieces <- fmt.Sprint(n):
				case <-gone:
				}
			}
			close(pieces)
			if err := reader.Wait(); err != nil {
				return err
			}
			return dc.Ack()
		})
		return i
	}},
	{"the last of five comes first", false, func(broken bool) turn.Instance {
		storage := conversation()
		var mu sync.Mutex
		var ended []int
		window := -1
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			err := parallel(ctx, dc, 5, func(ctx context.Context, dc *adk.DispatchContext, n int) error {
				if _, err := dc.Retrievables().Fetch(ctx); err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				ended = append(ended, n)
				return nil
			})
			if err != nil {
				return err
			}
			window = 4 + ended[4] - ended[0] // pieces between the first and the last to end
			if !broken {
				window = max(1, window)
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			if window == 0 {
				return errors.New("the window is empty")
			}
			return nil
		}
		return i
	}},
}
