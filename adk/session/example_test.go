package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
)

var visits, errVisits = session.NewKey[int](session.KeyInit{Name: "example.visits"})

// noRecords is a channel whose payloads leave no record.
type noRecords struct{ state json.RawMessage }

func (c noRecords) State() (json.RawMessage, error) { return c.state, nil }

func (noRecords) Deliver(context.Context, *adk.TurnContext, session.Delivery) error { return nil }

func ExampleHost() {
	if errVisits != nil {
		log.Fatal(errVisits)
	}
	kept, err := memory.New(storage.Config{})
	if err != nil {
		log.Fatal(err)
	}
	host, err := session.NewHost(session.Config{
		Agent: adk.Config{
			Storage: kept.Storage(),
			Executor: adk.Executor{Name: "greeter", Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				n, err := visits.Ensure(dc, func() int { return 0 })
				if err != nil {
					return err
				}
				fmt.Println("visit", n+1)
				if err := visits.Set(dc, n+1); err != nil {
					return err
				}
				return dc.Ack()
			}},
		},
		Store: kept.Sessions(),
		Keys:  []session.AnyKey{visits},
		Channels: map[string]func(json.RawMessage) (session.Channel, error){
			"door": func(state json.RawMessage) (session.Channel, error) { return noRecords{state}, nil },
		},
		Prompt: func(session.Seed) (string, []string, error) { return "You greet.", nil, nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range []string{"monday", "tuesday", "tuesday"} {
		outcome, err := host.Deliver(context.Background(), session.Delivery{Session: "ada", ID: id, Kind: "door", Payload: json.RawMessage(`{}`)})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(id, outcome.State, outcome.Revision, outcome.Duplicate)
	}
	// Output:
	// visit 1
	// monday committed 1 false
	// visit 2
	// tuesday committed 2 false
	// tuesday committed 2 true
}
