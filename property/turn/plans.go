package turn

import (
	"reflect"
	"strings"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
)

// Plans remembers for each wait how its gate is to be settled. The gate's id would not suffice: if
// two strands wait for gates with the same id, both have made plans before one of them is refused.
// The zero value has no plans. Plans is safe for concurrent use:
//
//	var plans turn.Plans
//	raw.Observability.TurnGateOpen = plans.Opened
//	…
//	dc.WaitFor(ctx, plans.Gate(adk.Gate{ID: "g", Reason: "may I?"}, func(gate *adk.TurnGate) {
//		_, _ = gate.Resolve("ann", true)
//	}))
type Plans struct {
	mu     sync.Mutex
	byWait map[uintptr]plan
}

// plan is the plan of one wait, with the reason that identifies the wait.
type plan struct {
	reason string
	settle func(*adk.TurnGate)
}

// Gate returns the gate to wait for. When it opens, settle is called with it. A gate that never
// opens, or that has no reason, is not settled.
func (p *Plans) Gate(gate adk.Gate, settle func(*adk.TurnGate)) adk.Gate {
	if gate.Reason == "" {
		return gate
	}
	// The engine passes the reason on unchanged. A copy of it has its own address, which identifies
	// the wait; the plan keeps the copy alive so that the address is not reused.
	gate.Reason = strings.Clone(gate.Reason)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byWait == nil {
		p.byWait = map[uintptr]plan{}
	}
	p.byWait[placeOf(gate.Reason)] = plan{gate.Reason, settle}
	return gate
}

func placeOf(text string) uintptr { return reflect.ValueOf(text).Pointer() }

// Opened is the listener that settles gates as planned.
func (p *Plans) Opened(e adk.TurnGateOpen) {
	p.mu.Lock()
	planned, found := p.byWait[placeOf(e.Gate.Reason())]
	p.mu.Unlock()
	if found {
		planned.settle(e.Gate)
	}
}
