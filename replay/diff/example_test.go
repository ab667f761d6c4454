package diff_test

import (
	"fmt"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/replay/diff"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// A tool that fails: the same turn, with another answer from outside.
func ExampleTraces() {
	var traces [2]*trace.Trace
	for i, name := range []string{"tool-round-trip.jsonl", "tool-failure.jsonl"} {
		file, err := fixtures.Traces.Open(name)
		if err != nil {
			panic(err)
		}
		if traces[i], err = trace.Read(file); err != nil {
			panic(err)
		}
		file.Close()
	}
	d := diff.Traces(traces[0], traces[1])
	fmt.Println("the same:", d.Same())
	for _, c := range d.Changes[:2] {
		fmt.Println("-", c.LineA)
		fmt.Println("+", c.LineB)
		for _, f := range c.Fields {
			fmt.Printf("    %s: %q %q\n", f.Field, f.Want, f.Got)
		}
	}
	// Output:
	// the same: false
	// - tool/weather {"city":"Oslo"} → "4 °C, rain"
	// + tool/weather {"city":"Oslo"} → error: 503 from the weather service
	//     outcome: "\"ok\"" "\"error\""
	//     err: "" "{\"text\":\"503 from the weather service\"}"
	//     result: "{\"text\":\"4 °C, rain\"}" ""
	// - * toolExecutionEnd weather
	// + * toolExecutionEnd weather failed
	//     isError: "false" "true"
}
