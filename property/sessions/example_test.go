package sessions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
	"github.com/adkreplay/adkreplay/property/sessions"
)

// till is a channel that books each payload, a number.
type till struct{ book func(amount int) }

func (till) State() (json.RawMessage, error) { return nil, nil }

func (t till) Deliver(_ context.Context, _ *adk.TurnContext, d session.Delivery) error {
	var amount int
	if err := json.Unmarshal(d.Payload, &amount); err != nil {
		return err
	}
	t.book(amount) // a mistake: what a turn does to the world is done again by the next attempt
	return nil
}

// An agent books what it is sent with somebody who does not tell a repeated request. That a
// crash books it twice is found by an assertion over the final state.
func ExampleExplore() {
	shop := sessions.Subject{
		Name: "shop",
		Deliveries: []session.Delivery{
			{Session: "till", ID: "monday", Kind: "till", Payload: json.RawMessage(`7`)},
		},
		Open: func() sessions.Instance {
			kept, err := memory.New(storage.Config{})
			if err != nil {
				log.Fatal(err)
			}
			booked := 0 // elsewhere, for good
			newTill := func(json.RawMessage) (session.Channel, error) {
				return till{func(amount int) { booked += amount }}, nil
			}
			return sessions.Instance{
				Releases: []sessions.Release{func(func() *session.Host) session.Config {
					return session.Config{
						Agent: adk.Config{
							Storage: kept.Storage(),
							Executor: adk.Executor{Name: "clerk", Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
								return dc.Ack()
							}},
						},
						Store:    kept.Sessions(),
						Channels: map[string]func(json.RawMessage) (session.Channel, error){"till": newTill},
						Prompt:   func(session.Seed) (string, []string, error) { return "You sell.", nil, nil },
					}
				}},
				Check: func(r sessions.Run) error {
					if most := 7 * len(r.Sessions); booked > most {
						return fmt.Errorf("%d was booked, want %d at most", booked, most)
					}
					return nil
				},
			}
		},
	}
	found, err := sessions.Explore(context.Background(), shop, sessions.Options{First: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, b := range found.Violations {
		fmt.Println(b.Text)
		for _, line := range b.Story {
			fmt.Println("-", line)
		}
		fmt.Println(b.Test)
	}
	// Output:
	// 14 was booked, want 7 at most
	// - host a delivers 1; stand at its call 3, Deliver
	// - as long passes as a lease has
	// - host b delivers 1
	// - then whatever stands goes on, and another host resumes until nothing is left
	// sessions.Reproduce(t, subject, "a:deliver@1+stand@3,expire,b:deliver@1")
}
