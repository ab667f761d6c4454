package gen

import (
	"context"

	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// Exploring returns a property for rapid.Check and rapid.MakeFuzz: for every input that is drawn,
// for example a history, a prompt or a model's answer, the agent that open makes of it is explored
// without violations. A failure prints the violation and the schedule that shows it, and rapid
// makes the input as small as possible. For each smaller input all schedules are tried again, those
// with fewer faults first.
//
//	func TestAgent(t *testing.T) {
//		rapid.Check(t, gen.Exploring(histories, func(all []*adk.Message) turn.Instance {
//			return agentOn(fakes.NewStorage(all...))
//		}, explore.Options{Schedules: 100}))
//	}
//
// open is called once for each run, and must make anew everything that a run changes. The
// exploration of one input takes as long as that of any subject; Options.Schedules limits it.
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
