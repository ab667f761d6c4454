package adk_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// TOL-7, TOL-8: tools for one dispatch are forged, merged with those of the context,
// and bound: the ack prunes them.
func ExampleToolSet_Merge() {
	peek := fakes.NewTool("peek", "Gives the first line of the report.", "All is well.")
	peek.Init.Ephemeral = true
	model := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		forged, errForged := adk.NewRegistry(peek.Tool())
		tools, errMerged := dc.Tools().Merge(adk.CollisionReplace, forged)
		if err := errors.Join(errForged, errMerged); err != nil {
			return err
		}
		if _, err := tools.Bind(dc); err != nil {
			return err
		}
		fmt.Println("offered:", tools.Len())
		chosen, _ := tools.Get("peek")
		result, err := dc.Execute(ctx, chosen, "{}")
		if err != nil {
			return err
		}
		fmt.Println("peek:", result)
		err = dc.Ack()
		fmt.Println("left:", tools.Len())
		return err
	}
	runner, err := adk.NewRunner(adk.Config{Executor: adk.Executor{Name: "model", Run: model}, Storage: fakes.NoOpStorage(),
		Tools: []*adk.Tool{fakes.NewTool("weather", "Tells the weather.", "4 °C").Tool()}})
	if err != nil {
		log.Fatal(err)
	}
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "You read reports."}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// offered: 2
	// peek: All is well.
	// left: 1
}
