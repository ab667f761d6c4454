package fakes_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/thorough"
)

var raw = adk.RawTurn{SystemPrompt: "Be brief."}

func TestExecutorSuitePasses(t *testing.T) {
	if err := fakes.TestExecutor(busy, raw); err != nil {
		t.Error(err)
	}
}

// The suite finds what is wrong with an executor and names the rule.
func TestExecutorSuiteFinds(t *testing.T) {
	runs := 0
	do := func(f func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error) fakes.Script {
		return fakes.Script{{fakes.Do(f), fakes.Ack()}}
	}
	for name, c := range map[string]struct {
		executor adk.Executor
		says     string
	}{
		"fails": {fakes.Script{{fakes.Fail(errors.New("no key"))}}.Executor("model"), "SIG-5: want an ack, got nack"},
		"never signals": {adk.Executor{Name: "model", Run: func(context.Context, *adk.DispatchContext, *adk.Helpers) error { return nil }},
			"DSP-4: nothing bounds a dispatch"},
		"does not seal": {do(func(_ context.Context, _ *adk.DispatchContext, h *adk.Helpers) error {
			_, err := h.ReportMessage("m1", "I was saying", false)
			return err
		}).Executor("model"), "HLP-1: message m1 was never reported complete"},
		"loses a panic": {do(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			_, err := dc.OnAck("panics", func(context.Context, *adk.DispatchContext) { panic("nobody hears of it") })
			return err
		}).Executor("model"), "DET-5: nothing is contained: panic: nobody hears of it"},
		"differs": {do(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			runs++
			return dc.Stash().Set("run", runs)
		}).Executor("model"), "DET-2: two runs make the same crossings"},
		"panics when cancelled": {do(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if dc.Aborted() {
				panic("not expected")
			}
			return nil
		}).Executor("model"), "ABT-13: a cancelled executor does not panic"},
	} {
		t.Run(name, func(t *testing.T) {
			err := fakes.TestExecutor(func() adk.Config {
				return adk.Config{Executor: c.executor, Storage: fakes.NewStorage().Storage()}
			}, raw)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v\nwant it to say %s", err, c.says)
			}
		})
	}
	if err := fakes.TestExecutor(func() adk.Config { return adk.Config{} }, raw); !errors.Is(err, adk.E_INVALID_TURN_RUNNER_CONFIG) {
		t.Errorf("got %v, want the config's faults", err)
	}
}

// DET-5: the only fact whose crossing has a text is the one of what was contained.
func TestFactInWordsIsContained(t *testing.T) {
	for _, k := range adk.Kinds() {
		if inWords := k.Class() == adk.ClassFact && k.Uses(adk.FieldText); inWords != (k == adk.KindContained) {
			t.Errorf("%s: a fact in words: %t", k, inWords)
		}
	}
}

// RUN-5: the suite abandons an executor that hangs, and reports the line that waits. An executor whose
// strands share a lock does not hang the suite.
func TestExecutorSuiteDoesNotHang(t *testing.T) {
	thorough.Long(t)
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	var lock sync.Mutex
	run := func(f func(ctx context.Context, dc *adk.DispatchContext) error) error {
		executor := fakes.Script{{fakes.Do(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			for range 2 {
				if _, err := dc.Fork(ctx, "worker", f); err != nil {
					return err
				}
			}
			return nil
		}), fakes.Ack()}}.Executor("model")
		return fakes.TestExecutor(func() adk.Config { return adk.Config{Executor: executor, Storage: fakes.NewStorage().Storage()} }, raw)
	}
	if err := run(func(ctx context.Context, dc *adk.DispatchContext) error {
		lock.Lock()
		defer lock.Unlock()
		return dc.Sleep(context.WithoutCancel(ctx), time.Minute)
	}); err != nil && strings.Contains(err.Error(), "lock") {
		t.Error(err)
	}
	err := run(func(context.Context, *adk.DispatchContext) error { <-never; return nil })
	if err == nil || !strings.Contains(err.Error(), "RUN-5: a turn comes to an end: deadlock") || !strings.Contains(err.Error(), "suite_executor_test.go:") {
		t.Errorf("want a deadlock with its line, got %v", err)
	}
}
