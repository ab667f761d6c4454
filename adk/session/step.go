package session

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// StepKind says what a host did.
type StepKind string

// The kinds of steps, in the order of a delivery's life (SES-32).
const (
	StepAccepted  StepKind = "accepted"  // a delivery was kept
	StepClaimed   StepKind = "claimed"   // the lease of the session was taken
	StepHydrated  StepKind = "hydrated"  // its values were read for an attempt
	StepRan       StepKind = "ran"       // the attempt's turn is over
	StepCommitted StepKind = "committed" // the attempt was committed
	StepDropped   StepKind = "dropped"   // the attempt was not committed
	StepFailed    StepKind = "failed"    // the delivery failed and has no further attempt
	StepApplied   StepKind = "applied"   // the writes that the store does not hold were made
	StepNotified  StepKind = "notified"  // Config.Notify got the outcome, if there is one
	StepErased    StepKind = "erased"    // the session was erased
)

// StepKinds returns all kinds of steps, in that order.
func StepKinds() []StepKind {
	return []StepKind{StepAccepted, StepClaimed, StepHydrated, StepRan, StepCommitted, StepDropped, StepFailed, StepApplied, StepNotified, StepErased}
}

// Step is an entry of a host's journal. It holds no value of a session: values are in the traces of
// its turns.
type Step struct {
	Kind StepKind `json:"step"`
	// N counts the host's steps from 1. Steps of one session are in order by Epoch, then N,
	// whichever hosts made them.
	N    int64     `json:"n"`
	At   time.Time `json:"at"`
	Host string    `json:"host"`
	SessionID
	Epoch    int64  `json:"epoch,omitempty"`
	Delivery string `json:"delivery,omitempty"`
	Seq      int64  `json:"seq,omitempty"`
	// Payload is Delivery.Digest of the accepted delivery.
	Payload string `json:"payload,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Turn    string `json:"turn,omitempty"`
	// Status is the status of the turn's dispatch; empty if there was none.
	Status string `json:"status,omitempty"`
	// Revision and Bag describe the session after the step; Bag is the Digest of its values.
	Revision int64    `json:"revision,omitempty"`
	Bag      string   `json:"bag,omitempty"`
	Keys     []string `json:"keys,omitempty"`    // the changed keys
	Records  []string `json:"records,omitempty"` // the written records
	Code     adk.Code `json:"code,omitempty"`
}

// String returns the step as its line in a journal.
func (s Step) String() string {
	line, err := unescaped.Marshal(s)
	if err != nil { // JSON cannot represent the time
		return fmt.Sprintf("%s of %s", s.Kind, s.SessionID)
	}
	return string(line)
}

// Digest returns the SHA-256, in lowercase hexadecimal, of the canonical JSON of a session's values
// by key.
func Digest(values map[string]Value) string {
	if values == nil {
		values = map[string]Value{} // nil and empty have one digest
	}
	text, err := unescaped.Marshal(values)
	if err != nil {
		return "" // a body is not JSON
	}
	sum := sha256.Sum256(Canonical(text))
	return hex.EncodeToString(sum[:])
}

// tell numbers a step and passes it to the journal. A panic of the journal is ignored.
func (h *Host) tell(s Step) {
	if h.config.Journal == nil {
		return
	}
	h.told.Lock()
	defer h.told.Unlock()
	h.steps++
	s.N, s.At, s.Host = h.steps, asMillis(h.now()), h.config.Name
	_ = contained(func() error { h.config.Journal(s); return nil })
}

// step returns a step with what all steps of a claimed session have.
func (c Claim) step(kind StepKind) Step {
	return Step{Kind: kind, SessionID: c.SessionID, Epoch: c.Epoch}
}

// step returns a step with what all steps of an attempt have.
func (a *attempt) step(kind StepKind) Step {
	s := a.claim.step(kind)
	s.Delivery, s.Seq, s.Attempt = a.seed.Delivery, a.seed.Seq, a.number
	return s
}
