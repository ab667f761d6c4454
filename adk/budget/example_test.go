package budget_test

import (
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/budget"
	"github.com/adkreplay/adkreplay/adk/prompt"
)

// A memory that is too long for the window. An executor enforces the limits before it asks
// the model; an observer finds the figures in the error.
func ExampleLimits_Enforce() {
	at := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	memory, err := adk.NewMemory(adk.MemoryInit{ID: "m-1", Content: strings.Repeat("tea ", 100), Confidence: new(0.9), Importance: new(0.1), CreatedAt: at, UpdatedAt: at})
	if err != nil {
		log.Fatal(err)
	}
	view := prompt.View{SystemPrompt: "You help.", Memories: []*adk.Memory{memory}}
	limits := budget.Limits{Encoding: adk.EncodingO200kBase, Window: 50}
	if overflow, found := budget.OverflowOf(limits.Enforce(nil, view, nil)); found {
		fmt.Println(overflow.Total(), "of", overflow.Window, "tokens, memories:", overflow.Memories)
	}
	// Output: 104 of 50 tokens, memories: 101
}
