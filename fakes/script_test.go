package fakes_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// HLP-1, HLP-3, DEL-1: what a script says is reported, sealed and stored, under ids that follow
// from the place in the script.
func TestScriptReportsAndStores(t *testing.T) {
	storage := fakes.NewStorage()
	weather := fakes.NewTool("weather", "tells the weather", "rain")
	h := play(t, t.Context(), config(fakes.Script{
		{fakes.Think("I should look."), fakes.Call("weather", `{"city":"Oslo"}`)},
		{fakes.Stream("It ", "rains."), fakes.Say("Bye.").As("bye"), fakes.Say("(aside)").NotStored(), fakes.Ack()},
	}, storage, weather.Tool()))

	if h.status != adk.StatusAck {
		t.Fatalf("status %s: %v", h.status, h.err)
	}
	want := []string{
		`t0.0 "I should look." true`,
		`c0.1 weather false false`, `c0.1 weather false true`,
		`m1.0 "It " false`, `m1.0 "It rains." true`, `bye "Bye." true`, `m1.2 "(aside)" true`,
	}
	if !slices.Equal(h.events, want) {
		t.Errorf("heard\n%s\nwant\n%s", strings.Join(h.events, "\n"), strings.Join(want, "\n"))
	}
	if got := keys(storage.Messages()); got != "m1.0 bye" {
		t.Errorf("stored messages %q", got)
	}
	if got := keys(storage.Thoughts()); got != "t0.0" {
		t.Errorf("stored thoughts %q", got)
	}
	calls := storage.ToolCalls()
	if len(calls) != 1 || calls[0].IsError() || calls[0].Results().(*adk.Tokenizable).String() != "rain" {
		t.Errorf("stored tool calls %v", calls)
	}
	if weather.Count() != 1 || weather.Calls()[0]["city"] != "Oslo" {
		t.Errorf("the tool was called with %v", weather.Calls())
	}
}

// EVT-9: a tool's failure is stored for the model to read, and fails nothing else.
func TestScriptGivesToolFailuresToTheModel(t *testing.T) {
	storage := fakes.NewStorage()
	tool := fakes.NewTool("breaks", "fails", errors.New("no disk"), fakes.Panics("boom"), []byte("raw"), []byte{0xff})
	h := play(t, t.Context(), config(fakes.Script{{
		fakes.Call("breaks", nil), fakes.Call("breaks", nil), fakes.Call("breaks", nil), fakes.Call("breaks", nil),
		fakes.Call("breaks", nil), fakes.Ack(),
	}}, storage, tool.Tool()))
	if h.status != adk.StatusAck || len(h.errors) > 0 {
		t.Fatalf("status %s, errors %v", h.status, h.errors)
	}
	wants := []struct {
		isError bool
		text    string
	}{{true, "no disk"}, {true, "boom"}, {false, "raw"}, {false, ""}, {true, "this is call 5"}}
	for i, call := range storage.ToolCalls() {
		if call.IsError() != wants[i].isError {
			t.Errorf("call %d: error %t, want %t", i, call.IsError(), wants[i].isError)
		}
		text, isText := call.Results().(*adk.Tokenizable)
		if isText && !strings.Contains(text.String(), wants[i].text) {
			t.Errorf("call %d gave %q, want it to hold %q", i, text, wants[i].text)
		}
		if isText == (i == 3) {
			t.Errorf("call %d gave %T: bytes that are no text become a document", i, call.Results())
		}
	}
}

func TestScriptUnknownTool(t *testing.T) {
	h := play(t, t.Context(), config(fakes.Script{{fakes.Call("wether", nil)}}, fakes.NewStorage(),
		fakes.NewTool("weather", "tells the weather").Tool(), fakes.NewTool("time", "tells the time").Tool()))
	if want := `no tool "wether": the dispatch has "weather", "time"`; h.err == nil || !strings.Contains(h.err.Error(), want) {
		t.Errorf("got %v, want it to say %s", h.err, want)
	}
}

// DSP-6, SIG-5: the outcome of each step that ends a dispatch.
func TestScriptEnds(t *testing.T) {
	cause := errors.New("the model is tired")
	for name, c := range map[string]struct {
		script fakes.Script
		status string
		says   string
	}{
		"ack":       {fakes.Script{{fakes.Ack()}}, adk.StatusAck, ""},
		"nack":      {fakes.Script{{fakes.Nack(cause)}}, adk.StatusNack, cause.Error()},
		"fail":      {fakes.Script{{fakes.Fail(cause)}}, adk.StatusNack, cause.Error()},
		"panic":     {fakes.Script{{fakes.Panic("ouch")}}, adk.StatusNack, "panic: ouch"},
		"abort":     {fakes.Script{{fakes.Abort(cause)}}, adk.StatusAborted, ""},
		"nil step":  {fakes.Script{{nil}}, adk.StatusNack, `step 0 in iteration 0 of executor "model" is nil`},
		"no script": {nil, adk.StatusNack, `the script of executor "model" has no iterations`},
		"too short": {fakes.Script{{}, {}}, adk.StatusNack,
			`the script of executor "model" has 2 iterations and was asked for iteration 2: the last one neither acks nor nacks`},
		"done": {fakes.Script{{fakes.Do(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			return dc.Abort(cause)
		}), fakes.WaitDone()}}, adk.StatusAborted, cause.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			h := play(t, t.Context(), config(c.script, fakes.NewStorage()))
			if h.status != c.status {
				t.Errorf("status %s, want %s", h.status, c.status)
			}
			if c.says != "" && (h.err == nil || !strings.Contains(h.err.Error(), c.says)) {
				t.Errorf("got %v, want it to say %s", h.err, c.says)
			}
		})
	}
}

// RUN-8: one script can serve several concurrent runs.
func TestScriptServesConcurrentRuns(t *testing.T) {
	script := fakes.Script{{fakes.Say("one")}, {fakes.Say("two"), fakes.Ack()}}
	executor := script.Executor("model")
	for range 8 {
		t.Run("run", func(t *testing.T) {
			t.Parallel()
			storage := fakes.NewStorage()
			h := play(t, t.Context(), adk.Config{Executor: executor, Storage: storage.Storage()})
			if got := keys(storage.Messages()); h.status != adk.StatusAck || got != "m0.0 m1.0" {
				t.Errorf("%s, stored %q", h.status, got)
			}
		})
	}
}
