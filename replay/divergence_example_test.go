package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
)

// A program decides by the class, the fields and the crossings of a divergence, never by the lines
// that are meant for people.
func ExampleDivergence() {
	agent := func(says string) adk.Config {
		script := fakes.Script{{fakes.Say(says), fakes.Ack()}}
		return adk.Config{Executor: script.Executor("model"), Storage: fakes.NewStorage().Storage()}
	}
	var recorded bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(agent("Hello."), replay.Record(&recorded)))
	if err != nil {
		log.Fatal(err)
	}
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "You are polite."}); err != nil {
		log.Fatal(err)
	}
	report, err := replay.Verify(context.Background(), &recorded, replay.LiveExecutor(agent("Go away.").Executor.Run))
	if err != nil {
		log.Fatal(err)
	}
	d := report.Divergence
	fmt.Println(d.Class, d.Fields[0].Field)
	fmt.Printf("%s: %q is %q\n", d.Evidence.Recorded.Kind, d.Evidence.Recorded.Text, d.Evidence.Replayed.Text)
	// Output:
	// changed input delta
	// report-message: "Hello." is "Go away."
}
