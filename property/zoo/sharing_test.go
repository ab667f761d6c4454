package zoo_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// sharing are the families of bugs around locks, channels, waiting and state that strands share.
var sharing = []family{
	{"a strand's error that nobody reads", true, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			s, err := dc.Fork(ctx, "remember", func(ctx context.Context, dc *adk.DispatchContext) error {
				return dc.Memories().Store(ctx, memory("tea", "Likes tea."))
			})
			if err != nil {
				return err
			}
			if err := s.Wait(); err != nil && !broken {
				return err
			}
			if err := say(ctx, dc, h, "m0", "I shall remember."); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			if acked(r) && !kept(storage, "tea") {
				return errors.New("it said that it remembers, and it does not")
			}
			return nil
		}
		return i
	}},
	{"a lock kept when a wait is cancelled", true, func(broken bool) turn.Instance {
		var mu sync.Mutex
		return agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			err := parallel(ctx, dc, 2, func(ctx context.Context, dc *adk.DispatchContext, n int) error {
				mu.Lock()
				if err := dc.Sleep(ctx, time.Second); err != nil { // rate limit: one request a second
					if !broken {
						mu.Unlock()
					}
					return err
				}
				mu.Unlock()
				_, err := dc.Retrievables().Fetch(ctx)
				return err
			})
			if err != nil {
				return err
			}
			return dc.Ack()
		})
	}},
	{"a lock taken again on the way of an error", true, func(broken bool) turn.Instance {
		var mu sync.Mutex
		state := "fresh"
		reset := func() {
			mu.Lock()
			defer mu.Unlock()
			state = "fresh"
		}
		return agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			mu.Lock()
			state = "loading"
			_, err := dc.Memories().Fetch(ctx)
			if err != nil {
				if !broken {
					mu.Unlock()
				}
				reset()
				if broken {
					mu.Unlock()
				}
				return err
			}
			state = "loaded"
			mu.Unlock()
			h.Log(adk.LevelDebug, "memories", state, nil)
			return dc.Ack()
		})
	}},
	{"a WaitGroup that an error forgets", true, func(broken bool) turn.Instance {
		return agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			var wg sync.WaitGroup
			var strands []*adk.Strand
			for range 2 {
				wg.Add(1)
				s, err := dc.Fork(ctx, "worker", func(ctx context.Context, dc *adk.DispatchContext) error {
					if !broken {
						defer wg.Done()
					}
					if _, err := dc.Retrievables().Fetch(ctx); err != nil {
						return err
					}
					if broken {
						wg.Done()
					}
					return nil
				})
				if err != nil {
					return err
				}
				strands = append(strands, s)
			}
			wg.Wait()
			for _, s := range strands {
				if err := s.Wait(); err != nil {
					return err
				}
			}
			return dc.Ack()
		})
	}},
	{"a channel closed twice", true, func(broken bool) turn.Instance {
		return agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			done := make(chan struct{})
			closing := sync.OnceFunc(func() { close(done) })
			if broken {
				closing = func() { close(done) }
			}
			if _, err := dc.Memories().Fetch(ctx); err != nil {
				closing()
				h.Log(adk.LevelWarn, "memories", err.Error(), nil)
			}
			closing()
			<-done
			if err := ctx.Err(); err != nil {
				return err
			}
			return dc.Ack()
		})
	}},
	{"a seat given back at the end of the function", true, func(broken bool) turn.Instance {
		seats := make(chan struct{}, 3)
		return agent(conversation("One?", "One."), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			look := func() error {
				seats <- struct{}{}
				defer func() { <-seats }()
				_, err := dc.Retrievables().Fetch(ctx)
				return err
			}
			for range dc.Messages().All() {
				if broken {
					seats <- struct{}{}
					defer func() { <-seats }()
					if _, err := dc.Retrievables().Fetch(ctx); err != nil {
						return err
					}
				} else if err := look(); err != nil {
					return err
				}
			}
			return dc.Ack()
		})
	}},
	{"a count read and written back", false, func(broken bool) turn.Instance {
		storage := fakes.NewStorage(memory("count", "-"))
		var mu sync.Mutex
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			err := parallel(ctx, dc, 2, func(ctx context.Context, dc *adk.DispatchContext, n int) error {
				if !broken {
					mu.Lock()
					defer mu.Unlock()
				}
				all, err := dc.Memories().Fetch(ctx)
				if err != nil {
					return err
				}
				return dc.Memories().Mutate(ctx, memory("count", all[0].Content().String()+"I"))
			})
			if err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			if got := storage.Memories()[0].Content().String(); acked(r) && got != "-II" {
				return fmt.Errorf("two were counted as %q", got)
			}
			return nil
		}
		return i
	}},
}
