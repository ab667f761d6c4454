package fakes_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// transcript is a probe that writes one line for each crossing.
type transcript struct {
	mu    sync.Mutex
	lines []string
}

func (t *transcript) Observe(adk.RunInfo) adk.Observer { return t }
func (t *transcript) Begin(adk.Step)                   {}
func (t *transcript) Park(int, func() bool)            {}
func (t *transcript) Resume(int)                       {}

func (t *transcript) Tell(x *adk.Crossing) {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := fmt.Sprintf("%d +%v s%d c%d %s %s %s", x.Seq, x.At.Sub(fakes.Epoch), x.Strand, x.Call, x.Kind, x.Phase, x.Seam)
	for _, part := range []string{x.Name, x.Key, x.Text, x.Status, string(x.Outcome)} {
		line += " " + part
	}
	if x.Record != nil {
		line += " " + x.Record.Digest().String()
	}
	if x.Digest != (adk.Digest{}) {
		line += " " + x.Digest.String()
	}
	t.lines = append(t.lines, fmt.Sprint(line, " ", x.Err))
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}

// heard is what the listeners of a run received about its end.
type heard struct {
	events []string
	status string
	err    error
	errors []*adk.Error
}

// play runs one turn of a config and fails the test when the turn cannot begin.
func play(t *testing.T, ctx context.Context, c adk.Config) *heard {
	t.Helper()
	runner, err := adk.NewRunner(c)
	if err != nil {
		t.Fatal(err)
	}
	var h heard
	raw := adk.RawTurn{SystemPrompt: "Be brief."}
	raw.Functional = adk.Functional{
		Message: func(e adk.MessageEvent) {
			h.events = append(h.events, fmt.Sprintf("%s %q %t", e.ID, e.Full, e.Complete))
		},
		Thought: func(e adk.ThoughtEvent) {
			h.events = append(h.events, fmt.Sprintf("%s %q %t", e.ID, e.Full, e.Complete))
		},
		ToolCall: func(e adk.ToolCallEvent) {
			h.events = append(h.events, fmt.Sprintf("%s %s %t %t", e.ID, e.Tool, e.IsError, e.Complete))
		},
	}
	raw.Observability = adk.Observability{
		DispatchEnd: func(e adk.DispatchEnd) { h.status, h.err = e.Status, e.Error },
		Error:       func(e adk.ErrorEvent) { h.errors = append(h.errors, e.Error) },
	}
	if err := runner.Run(ctx, raw); err != nil {
		t.Fatal(err)
	}
	return &h
}

// config is a config with a script, a storage and tools, and a virtual clock and ids.
func config(script fakes.Script, storage *fakes.Storage, tools ...*adk.Tool) adk.Config {
	return adk.Config{
		Executor: script.Executor("model"), Storage: storage.Storage(), Tools: tools,
		Clock: fakes.NewClock(), IDs: fakes.NewIDs(),
	}
}

// keys returns the keys of records, in order.
func keys[T adk.Record](records []T) string {
	all := make([]string, len(records))
	for i, r := range records {
		all[i] = r.Key()
	}
	return strings.Join(all, " ")
}
