package fakes_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// TOL-2, TOL-5: each call takes the next answer. Arguments are validated before a call is
// counted.
func TestToolAnswers(t *testing.T) {
	tool := fakes.NewTool("look", "looks", "first", adk.Text("second"),
		func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			return adk.Text(args["at"].(string)), dc.Sleep(ctx, time.Hour)
		}, 4)
	tool.Init.InputSchema = json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}}}`)
	storage := fakes.NewStorage()
	c := fakes.Deterministic(config(fakes.Script{{
		fakes.Call("look", nil), fakes.Call("look", `{"at":7}`), fakes.Call("look", nil),
		fakes.Call("look", map[string]any{"at": "third"}), fakes.Call("look", nil), fakes.Ack(),
	}}, storage, tool.Tool()))
	if h := play(t, t.Context(), c); h.status != adk.StatusAck {
		t.Fatalf("%s: %v", h.status, h.err)
	}
	want := []string{"first", "E_INVALID_TOOL_ARGS", "second", "third", "an answer of type int"}
	for i, call := range storage.ToolCalls() {
		if got := call.Results().(*adk.Tokenizable).String(); !strings.Contains(got, want[i]) {
			t.Errorf("call %d gave %q, want %q in it", i, got, want[i])
		}
	}
	if tool.Count() != 4 || tool.Calls()[2]["at"] != "third" {
		t.Errorf("counted %d calls: %v", tool.Count(), tool.Calls())
	}
	if took := storage.ToolCalls()[3].CompletedAt().Sub(storage.ToolCalls()[3].CreatedAt()); took != time.Hour {
		t.Errorf("the call that sleeps took %v, want 1h", took)
	}
}

func TestToolRepeats(t *testing.T) {
	tool := fakes.NewTool("toss", "tosses a coin", "heads", "tails")
	tool.Repeat = true
	storage := fakes.NewStorage()
	play(t, t.Context(), config(fakes.Script{{
		fakes.Parallel(fakes.Call("toss", nil), fakes.Call("toss", nil).As("own"), fakes.Call("toss", nil)), fakes.Ack(),
	}}, storage, tool.Tool()))
	if got := len(storage.ToolCalls()); got != 3 || tool.Count() != 3 {
		t.Errorf("stored %d calls and counted %d, want 3", got, tool.Count())
	}
}

func TestToolRefusesNonsense(t *testing.T) {
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, `fakes: tool "": `) {
			t.Errorf("panicked with %q, want the tool's faults", text)
		}
	}()
	fakes.NewTool("", "").Tool()
}

// HLP-3: a call with NotStored is executed and reported all the same, alone and in parallel with others.
func TestCallsThatAreNotStored(t *testing.T) {
	tool := fakes.NewTool("toss", "tosses a coin", "heads", "tails", "heads")
	storage := fakes.NewStorage()
	h := play(t, t.Context(), config(fakes.Script{{
		fakes.Call("toss", nil).As("alone").NotStored(),
		fakes.Parallel(fakes.Call("toss", nil).As("kept"), fakes.Call("toss", nil).As("beside").NotStored()), fakes.Ack(),
	}}, storage, tool.Tool()))
	if got := keys(storage.ToolCalls()); got != "kept" || tool.Count() != 3 {
		t.Errorf("stored %q and counted %d, want kept and 3", got, tool.Count())
	}
	for _, id := range []string{"alone", "kept", "beside"} {
		if !slices.Contains(h.events, id+" toss false true") {
			t.Errorf("%s is not told as complete: %q", id, h.events)
		}
	}
}
