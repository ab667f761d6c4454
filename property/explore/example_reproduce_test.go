package explore_test

import (
	"context"
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// A middleware takes a seat, and gives it back when everything downstream has
// ended. It forgets that asking for the conversation may fail. An exploration named
// the schedule that shows it; run again, it shows where.
func ExampleRunSchedule() {
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
	subject := turn.Subject{Name: "concierge", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		seats = 1
		return adk.Config{
			TurnInput: []adk.TurnMiddleware{seat},
			Executor:  fakes.Script{{fakes.Say("Yes."), fakes.Ack()}}.Executor("model"),
			Storage:   fakes.NewStorage().Storage(),
		}, adk.RawTurn{SystemPrompt: "Help."}
	}}
	free := func(turn.Run) error {
		if seats != 1 {
			return fmt.Errorf("%d seats are free", seats)
		}
		return nil
	}

	subject.Check = free
	result, err := explore.RunSchedule(context.Background(), subject, turn.MustSchedule("storage-before@5"), explore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, breach := range result.Violations {
		fmt.Printf("%s: %s\n%s", breach.Schedule, breach.Text, breach.Stretch)
	}
	// Output:
	// storage-before@5: 0 seats are free
	//   fetch messages → storage/messages.fetch → error: broken by the explorer  ← storage-before
	// … 5 crossings
	// run returns
}
