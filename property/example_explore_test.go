package property_test

import (
	"context"
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property"
)

// A middleware takes a seat, and gives it back when everything downstream has
// ended. It forgets that asking for the conversation may fail.
func ExampleExplore() {
	seats := 1
	seat := adk.TurnMiddleware{Name: "seat", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		seats--
		if _, err := tc.Messages().Fetch(ctx); err != nil {
			return err
		}
		next(ctx)
		seats++
		return nil
	}}
	subject := property.Subject{Name: "concierge", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		seats = 1
		return adk.Config{
			TurnInput: []adk.TurnMiddleware{seat},
			Executor:  fakes.Script{{fakes.Say("Yes."), fakes.Ack()}}.Executor("model"),
			Storage:   fakes.NewStorage().Storage(),
		}, adk.RawTurn{SystemPrompt: "Help."}
	}}
	free := func(property.Run) error {
		if seats != 1 {
			return fmt.Errorf("%d seats are free", seats)
		}
		return nil
	}

	result, err := property.Explore(context.Background(), subject, property.Options{Check: free, Workers: 1, // seats is one for all
		Faults: []property.FaultKind{property.Cancel, property.StorageBefore, property.Cut}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, breach := range result.Violations {
		again, err := property.Reproduce(context.Background(), subject, breach.Schedule, property.Options{Check: free})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %s\n%s", breach.Schedule, breach.Text, again.Violations[0].Stretch)
	}
	// Output:
	// storage-before@5: 0 seats are free
	//   fetch messages → storage/messages.fetch → error: broken by the explorer
	// … 5 crossings
	// run returns
}
