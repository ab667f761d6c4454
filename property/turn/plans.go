package turn

import (
	"reflect"
	"strings"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
)

// Plans keep who settles a gate, wait by wait. An id does not say whose gate it is: of
// two strands that ask for one, both have planned before either is refused. The zero
// value has no plans, and it may be used from many goroutines:
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

// plan is that of one wait, with the reason that it is known by.
type plan struct {
	reason string
	settle func(*adk.TurnGate)
}

// Gate gives the gate to wait for, which settle is called with when it opens. A gate
// that opens never, or that has no reason, is settled by nobody here.
func (p *Plans) Gate(gate adk.Gate, settle func(*adk.TurnGate)) adk.Gate {
	if gate.Reason == "" {
		return gate
	}
	// The engine hands the reason on as it is: each wait has one in a place of its own,
	// which its plan keeps from being that of another.
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

// Opened is the listener that settles the gates as their waits planned.
func (p *Plans) Opened(e adk.TurnGateOpen) {
	p.mu.Lock()
	planned, found := p.byWait[placeOf(e.Gate.Reason())]
	p.mu.Unlock()
	if found {
		planned.settle(e.Gate)
	}
}
