package redact_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// A recorder redacts secrets before it writes anything: the usual ones, and those of the
// application.
func ExampleRules() {
	redaction := redact.UsualSecrets()
	redaction.Paths = append(redaction.Paths, "stash.customer")
	redaction.Patterns = append(redaction.Patterns, redact.Pattern{Kind: "order", Expr: `\bORD-[0-9]{6}\b`})

	var trace bytes.Buffer
	recorder := replay.Record(&trace, replay.RecordOptions{Redact: redaction})
	runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{
		Executor: fakes.Script{{fakes.Ack()}}.Executor("model"),
		Storage:  fakes.NewStorage().Storage(),
	}, recorder))
	if err != nil {
		log.Fatal(err)
	}
	err = runner.Run(context.Background(), adk.RawTurn{
		SystemPrompt: "Track ORD-123456 for Ann Example.",
		Stash:        map[string]any{"customer": map[string]any{"name": "Ann Example", "age": 30}},
	})
	if err != nil {
		log.Fatal(err)
	}
	lines := bytes.Split(trace.Bytes(), []byte("\n"))
	fmt.Printf("%s\n", lines[1])
	// Output: {"kind":"call","id":1,"seam":"run","prompt":"Track [redacted:order:1] for [redacted:customer:2].","stash":{"customer":{"age":0,"name":"[redacted:customer:2]"}}}
}
