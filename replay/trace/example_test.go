package trace_test

import (
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// A trace is read whole, and its crossings are data.
func ExampleRead() {
	file, err := fixtures.Traces.Open("tool-round-trip.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	recorded, err := trace.Read(file)
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range recorded.Lines() {
		if line.Kind == adk.KindCall && line.Seam.Label == adk.LabelTool {
			fmt.Println(line.Seam, line.Args)
		}
	}
	// Output: tool/weather map[city:Oslo]
}
