package zoo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// lasting are the families of bugs around failures that last for a while or concern only one customer or call.
var lasting = []family{
	{"the success of the last attempt taken for a failure", false, func(broken bool) turn.Instance {
		answered, gaveUp := false, false
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			const attempts = 4
			for attempt := 1; ; attempt++ {
				_, err := dc.Retrievables().Fetch(ctx)
				answered = answered || err == nil
				if err == nil && !(broken && attempt == attempts) {
					return dc.Ack()
				}
				if attempt == attempts {
					gaveUp = true
					return dc.Nack(errors.New("the search is down"))
				}
				if err := dc.Sleep(ctx, time.Duration(attempt)*time.Second); err != nil {
					return err
				}
			}
		})
		i.Check = func(turn.Run) error {
			if answered && gaveUp {
				return errors.New("the search has answered, and the agent says that it is down")
			}
			return nil
		}
		return i
	}},
	{"too many requests, again and again", true, func(broken bool) turn.Instance {
		world := fakes.NewTransport(fakes.Converse(fakes.Reply{ContentType: "application/json", Body: finalReply}))
		client := &http.Client{Transport: adkhttp.NewTransport(world)}
		return agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for attempt := 1; broken || attempt <= 5; attempt++ {
				resp, err := post(ctx, client, `{"messages":[]}`)
				if err != nil {
					return err
				}
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil {
					return err
				}
				switch resp.StatusCode {
				case http.StatusOK:
					return dc.Ack()
				case http.StatusTooManyRequests:
					if err := dc.Sleep(ctx, time.Second); err != nil {
						return err
					}
				default:
					return errors.New(resp.Status)
				}
			}
			return dc.Nack(errors.New("there are too many requests"))
		})
	}},
	{"one customer's failures shut out all", false, func(broken bool) turn.Instance {
		failed, refused := map[string]int{}, map[string]bool{}
		charge := tool("charge", adk.EffectWrites, func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("charged"), nil
		})
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			all := 0
			for n, customer := range []string{"Ada", "Bob", "Ada", "Bob"} {
				if failed[customer] >= 2 || broken && all >= 2 {
					refused[customer] = true
					continue
				}
				if _, err := dc.Execute(ctx, charge, map[string]any{"customer": customer, "order": fmt.Sprint(n)}); err != nil {
					h.Log(adk.LevelError, "charge", err.Error(), nil)
					failed[customer]++
					all++
				}
			}
			return dc.Ack()
		}, charge)
		i.Check = func(r turn.Run) error {
			for customer := range refused {
				if failed[customer] == 0 && !aborted(r) {
					return fmt.Errorf("%s is refused, for whom nothing has failed", customer)
				}
			}
			return nil
		}
		return i
	}},
	{"attempts of one call counted against the next", false, func(broken bool) turn.Instance {
		const most = 3
		early := ""
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			failed := 0
			for _, what := range []string{"weather", "news", "mail"} {
				if !broken {
					failed = 0
				}
				for own := 1; ; own++ {
					_, err := adk.Ask(ctx, what, "today", func(context.Context, string) (string, error) { return "nothing new", nil })
					if err == nil {
						break
					}
					if failed++; failed == most || ctx.Err() != nil {
						if own < most && ctx.Err() == nil {
							early = fmt.Sprintf("%s was asked %d times and not %d", what, own, most)
						}
						return err
					}
				}
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			if early != "" {
				return errors.New(early)
			}
			return nil
		}
		return i
	}},
}
