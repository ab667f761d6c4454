package property_test

import (
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/property"
)

// A trace is held against what is true of every turn, and against what is likely a mistake.
func ExampleExamine() {
	trace, err := fixtures.Traces.Open("gates-aborted.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	defer trace.Close()
	found, err := property.Examine(trace)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(found.Violations), "violations")
	fmt.Println(found.Hints[0].Advice, "at crossing", found.Hints[0].Crossing)
	// Output:
	// 0 violations
	// gate-without-timeout at crossing 22
}
