package zoo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/turn"
)

// production are the families of bugs in agents that work for a long time, until, for example, a page
// fails, a refund is made twice, or a cursor moves on.
var production = []family{
	{"a sum that goes on where the failed attempt began", false, func(broken bool) turn.Instance {
		pages, told := [][]int{{3, 4}, {5}}, -1
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			total := 0
			for attempt := range 3 {
				if !broken {
					total = 0
				}
				err := error(nil)
				for n := range pages {
					var page []int
					page, err = adk.Ask(ctx, "orders", n, func(_ context.Context, n int) ([]int, error) { return pages[n], nil })
					if err != nil {
						break
					}
					for _, one := range page {
						total += one
					}
				}
				if err == nil {
					break
				}
				if attempt == 2 || ctx.Err() != nil {
					return err
				}
			}
			told = total
			if err := say(ctx, dc, h, "m0", fmt.Sprintf("You have ordered for %d.", total)); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			if told > 12 {
				return fmt.Errorf("%d was told, of 12", told)
			}
			return nil
		}
		return i
	}},
	{"a refund that comes twice", false, func(broken bool) turn.Instance {
		budget := 100
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) (err error) {
			budget -= 10
			defer func() {
				if err != nil {
					budget += 10
				}
			}()
			text, err := adk.Ask(ctx, "model", "What now?", func(context.Context, string) (string, error) { return "Tea.", nil })
			if err != nil {
				if broken {
					budget += 10 // the ask failed, so no budget was used
				}
				return err
			}
			if err := say(ctx, dc, h, "m0", text); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			if budget > 100 {
				return fmt.Errorf("the budget has grown to %d", budget)
			}
			return nil
		}
		return i
	}},
	{"a key in what the user is told", true, func(broken bool) turn.Instance {
		key := "sk-" + strings.Repeat("5d1f", 6)
		said := ""
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			text, err := adk.Ask(ctx, "weather", "Oslo", func(context.Context, string) (string, error) { return "Rain.", nil })
			if err != nil {
				if ctx.Err() != nil {
					return err
				}
				text = "The weather service does not answer."
				if broken {
					text = fmt.Sprintf("GET https://weather.example/?key=%s: %v", key, err)
				}
			}
			said = text
			if err := say(ctx, dc, h, "m0", text); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			if strings.Contains(said, key) {
				return errors.New("the user reads the key")
			}
			return nil
		}
		return i
	}},
	{"a cursor moved past what failed", true, func(broken bool) turn.Instance {
		sent, cursor := map[int]bool{}, 0
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			var failed error
			for n := 1; n <= 3; n++ {
				_, err := adk.Ask(ctx, "mail", n, func(_ context.Context, n int) (string, error) { sent[n] = true; return "sent", nil }, adk.AskOptions{Effect: adk.EffectWrites})
				if err != nil {
					failed = errors.Join(failed, err)
					if !broken {
						break
					}
					continue
				}
				cursor = n
			}
			if failed != nil {
				return failed
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			for n := 1; n <= cursor; n++ {
				if !sent[n] {
					return fmt.Errorf("mail %d was never sent, and the cursor stands at %d", n, cursor)
				}
			}
			return nil
		}
		return i
	}},
}
