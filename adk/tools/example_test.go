package tools_test

import (
	"fmt"

	"github.com/adkreplay/adkreplay/adk/tools"
)

// An agent that is given all of them offers them to its model by name.
func ExampleAll() {
	all := tools.All(tools.Options{})
	fmt.Println(len(all), "tools")
	for _, tool := range all {
		if tool.Name() == "calculate" {
			fmt.Println(tool.Name(), tool.Effect().MayWrite())
		}
	}
	// Output:
	// 56 tools
	// calculate false
}
