package scenarios_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/scenarios"
)

// A scenario is run by its name, observed by any probe.
func ExampleNamed() {
	hello, found := scenarios.Named("hello")
	if !found {
		log.Fatal("it is gone")
	}
	var trace bytes.Buffer
	if err := hello.Run(context.Background(), replay.Record(&trace)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(bytes.Count(trace.Bytes(), []byte("\n")), "lines")
	// Output: 33 lines
}
