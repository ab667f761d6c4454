package transcript_test

import (
	"log"
	"os"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

// A run in words: here the stretch in which the model speaks.
func ExampleWriteRange() {
	file, err := fixtures.Traces.Open("hello.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	if err := transcript.WriteRange(os.Stdout, file, 16, 22); err != nil {
		log.Fatal(err)
	}
	// Output:
	// executor/model#0
	//       report-message m2 "Hello, Ada!" complete  * message
	//       store m2 assistant "Hello, Ada!" in messages → storage/messages.store
}
