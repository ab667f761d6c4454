package golden_test

import (
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay/golden"
)

// weather builds the turn: a model that asks for the weather and reports it.
func weather() (adk.Config, adk.RawTurn) {
	tool := fakes.NewTool("weather", "Tells the weather of a city.", "4 °C, rain")
	return adk.Config{
		Executor: fakes.Script{
			{fakes.Call("weather", `{"city":"Oslo"}`)},
			{fakes.Say("It is 4 °C and raining in Oslo."), fakes.Ack()},
		}.Executor("model"),
		Storage: fakes.NewStorage().Storage(),
		Tools:   []*adk.Tool{tool.Tool()},
	}, adk.RawTurn{SystemPrompt: "Be brief."}
}

// A real test passes its *testing.T to the check; this example passes a value that prints. It
// prints nothing, as the turn equals testdata/weather.golden.
func ExampleTurn() {
	var t golden.TB = printed{}
	golden.Turn(t, "weather", weather)
	// Output:
}

// printed is a test that prints its failures.
type printed struct{}

func (printed) Helper()                         {}
func (printed) Name() string                    { return "ExampleTurn" }
func (printed) Logf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (printed) Errorf(format string, args ...any) {
	fmt.Printf(format+"\n", args...)
}
