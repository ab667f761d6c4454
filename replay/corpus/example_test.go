package corpus_test

import (
	"context"
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// A test of an agent replays the recorded turns with the agent's code of today, and fails with the
// text of Err. Here two things differ from the recordings: the prompt in all of them, and an
// instruction in all but one.
func ExampleVerify() {
	sources, err := corpus.Sources(fixtures.Traces) // os.DirFS("testdata/turns") in a test
	if err != nil {
		log.Fatal(err)
	}
	report, err := corpus.Verify(context.Background(), sources, func(string) replay.Live {
		return replay.Live{
			Turn:  adk.RawTurn{SystemPrompt: "You are a rude assistant.", Instructions: []string{"Answer in one sentence."}},
			Seams: []string{replay.Prompt},
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Err() != nil)
	for _, cause := range report.Causes {
		fmt.Println(len(cause.Traces) > 1, cause.Text)
	}
	// Output:
	// true
	// true changed input in run: prompt: "helpful" → "rude"
	// true changed input in run: instructions: nothing → "Answer in one sentence."
}
