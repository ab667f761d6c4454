package gen

import (
	"context"

	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// Exploring is a property for rapid.Check and rapid.MakeFuzz: whatever is drawn of
// inputs, a history, a prompt or what a model says, the agent that open makes of it is
// explored, and nothing is violated. A failure prints the violation with the schedule
// that shows it, and rapid makes what was drawn as small as it gets; for each smaller
// input the schedules are tried anew, those with less wrong first.
//
//	func TestAgent(t *testing.T) {
//		rapid.Check(t, gen.Exploring(histories, func(all []*adk.Message) turn.Instance {
//			return agentOn(fakes.NewStorage(all...))
//		}, explore.Options{Schedules: 100}))
//	}
//
// open is called once a run, and makes everything fresh that a run changes. An
// exploration of one input takes as long as one of any subject: Options.Schedules bounds
// it.
func Exploring[V any](inputs *rapid.Generator[V], open func(input V) turn.Instance, options explore.Options) func(*rapid.T) {
	return func(t *rapid.T) {
		input := inputs.Draw(t, "input")
		subject := turn.Subject{Name: "drawn", Open: func(context.CancelCauseFunc) turn.Instance { return open(input) }}
		result, err := explore.Explore(context.Background(), subject, options)
		if err != nil {
			t.Fatalf("%v", err)
		}
		for _, b := range result.Violations {
			t.Fatalf("%s", b)
		}
	}
}
