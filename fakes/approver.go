package fakes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
)

// ApproverName is the name under which an Approver settles gates.
const ApproverName = "approver"

// Answer says how an Approver settles a gate. Approve, Deny, Withdraw and Ignore make one.
type Answer struct {
	verb  string
	value any
	err   error
}

// Approve resolves the gate with value.
func Approve(value any) Answer { return Answer{verb: "approve", value: value} }

// Deny rejects the gate with err, or with the engine's own error if err is nil.
func Deny(err error) Answer { return Answer{verb: "deny", err: err} }

// Withdraw aborts the gate, but not the turn.
func Withdraw() Answer { return Answer{verb: "withdraw"} }

// Ignore leaves the gate open, so that a timeout, an abort or another settler closes it.
func Ignore() Answer { return Answer{verb: "ignore"} }

// Approver answers gates by their reason, as they open:
//
//	approver := fakes.NewApprover(map[string]fakes.Answer{
//		"delete files?": fakes.Deny(errors.New("too risky")),
//	})
//	runner.Observe(approver.Observability())
//
// To keep tests from hanging, it rejects a gate whose reason it does not know, and a gate whose
// schema refuses the value; SettledGate.Err says why. It is safe for concurrent use.
type Approver struct {
	answers map[string]Answer

	mu   sync.Mutex
	seen []SettledGate
}

// SettledGate is one gate that an Approver saw.
type SettledGate struct {
	TurnID, GateID, Reason string
	// Payload is what the waiter gave for the settler to look at.
	Payload any
	// Result and By say how the gate was closed and by whom; both are empty while it is open.
	Result, By string
	// Err is why the approver could not give the answer it holds for this reason, or nil.
	Err error
}

// NewApprover makes an approver that answers each gate by its reason. It copies the map.
func NewApprover(answers map[string]Answer) *Approver { return &Approver{answers: maps.Clone(answers)} }

// Observability returns the approver as listeners.
func (k *Approver) Observability() adk.Observability {
	return adk.Observability{TurnGateOpen: k.open, TurnGateClosed: k.closed}
}

// Seen returns all gates so far, in the order in which they opened.
func (k *Approver) Seen() []SettledGate {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.seen)
}

func (k *Approver) open(e adk.TurnGateOpen) {
	g := e.Gate
	k.mu.Lock()
	at := len(k.seen)
	k.seen = append(k.seen, SettledGate{TurnID: g.TurnID(), GateID: g.ID(), Reason: g.Reason(), Payload: g.Payload()})
	k.mu.Unlock()

	if err := k.settle(g); err != nil {
		k.mu.Lock()
		k.seen[at].Err = err
		k.mu.Unlock()
		g.Reject(ApproverName, err)
	}
}

// settle answers a gate, or returns an error that says why it cannot.
func (k *Approver) settle(g *adk.TurnGate) error {
	answer, known := k.answers[g.Reason()]
	if !known {
		return fmt.Errorf("fakes: the approver has no answer to %q: it has answers to %s", g.Reason(), k.reasons())
	}
	switch answer.verb {
	case "approve":
		_, err := g.Resolve(ApproverName, answer.value)
		return err
	case "deny":
		g.Reject(ApproverName, answer.err)
	case "withdraw":
		g.Abort(ApproverName)
	case "ignore":
	default:
		return fmt.Errorf("fakes: the approver's answer to %q is empty: use Approve, Deny, Withdraw or Ignore", g.Reason())
	}
	return nil
}

func (k *Approver) reasons() string {
	if len(k.answers) == 0 {
		return "nothing"
	}
	return `"` + strings.Join(slices.Sorted(maps.Keys(k.answers)), `", "`) + `"`
}

func (k *Approver) closed(e adk.TurnGateClosed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.seen {
		if s := &k.seen[i]; s.TurnID == e.TurnID && s.GateID == e.GateID && s.Result == "" {
			s.Result, s.By = e.Result, e.By
			return
		}
	}
}
