package adk_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// page is what a cache holds. It knows nothing of agents, and has its time from the context: in a
// turn that is the turn's, which a replay gives back, and elsewhere the machine's.
type page struct{ fetched time.Time }

func (p page) isFresh(ctx context.Context) bool { return adk.Now(ctx).Sub(p.fetched) < time.Hour }

func ExampleNow() {
	agent := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		p := page{fetched: adk.Now(ctx)}
		fmt.Println("fresh:", p.isFresh(ctx))
		if err := adk.Sleep(ctx, 2*time.Hour); err != nil { // by the turn's clock
			return err
		}
		fmt.Println("fresh two hours later:", p.isFresh(ctx))
		return dc.Ack()
	}
	config := adk.Config{Executor: adk.Executor{Name: "agent", Run: agent}, Storage: fakes.NoOpStorage()}
	runner, err := adk.NewRunner(fakes.Deterministic(config, nil))
	if err != nil {
		log.Fatal(err)
	}
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Look it up."}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// fresh: true
	// fresh two hours later: false
}
