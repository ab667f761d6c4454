package fakes_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// GAT-1, GAT-4: a listener may settle a gate while it handles the gate's open event.
func TestApprover(t *testing.T) {
	risky := errors.New("too risky")
	approver := fakes.NewApprover(map[string]fakes.Answer{
		"read?": fakes.Approve("yes"), "delete?": fakes.Deny(risky), "print?": fakes.Withdraw(), "wait?": fakes.Ignore(),
		"count?": fakes.Approve("many"),
	})
	outcomes := map[string]error{}
	var value any
	ask := func(reason string, schema string) fakes.Step {
		return fakes.Do(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			got, err := dc.WaitFor(ctx, adk.Gate{ID: reason, Reason: reason, Payload: 1, Schema: json.RawMessage(schema), Timeout: time.Hour})
			if outcomes[reason] = err; err == nil {
				value = got
			}
			return nil
		})
	}
	c := config(fakes.Script{{ask("read?", ""), ask("delete?", ""), ask("print?", ""), ask("wait?", ""), ask("what?", ""),
		ask("count?", `{"type":"integer"}`), fakes.Ack()}}, fakes.NewStorage())
	runner, err := adk.NewRunner(fakes.Deterministic(c))
	if err != nil {
		t.Fatal(err)
	}
	runner.Observe(approver.Observability())
	if err := runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "x"}); err != nil {
		t.Fatal(err)
	}

	if outcomes["read?"] != nil || value != "yes" {
		t.Errorf("read? gave %v, %v", value, outcomes["read?"])
	}
	for reason, want := range map[string]error{"delete?": risky, "print?": adk.E_TURN_GATE_ABORTED, "wait?": adk.E_TURN_GATE_TIMEOUT,
		"count?": adk.E_INVALID_TURN_GATE_RESOLUTION} {
		if !errors.Is(outcomes[reason], want) {
			t.Errorf("%s gave %v, want %v", reason, outcomes[reason], want)
		}
	}
	if got := outcomes["what?"]; got == nil || !strings.Contains(got.Error(), `no answer to "what?": it has answers to "count?", "delete?"`) {
		t.Errorf("what? gave %v, want it to name the known reasons", got)
	}
	seen := approver.Seen()
	if len(seen) != 6 || seen[0].Result != adk.GateResolved || seen[0].By != fakes.ApproverName || seen[0].Payload != 1 ||
		seen[3].Result != adk.GateTimeout || seen[4].Err == nil || seen[5].Err == nil {
		t.Errorf("saw %+v", seen)
	}
}
