package session

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// StepKind is what a host did.
type StepKind string

// The kinds of steps, in the order of a delivery's life (SES-32).
const (
	StepAccepted  StepKind = "accepted"  // a delivery was kept
	StepClaimed   StepKind = "claimed"   // the lease of the session was taken
	StepHydrated  StepKind = "hydrated"  // its values were read for an attempt
	StepRan       StepKind = "ran"       // the attempt's turn is over
	StepCommitted StepKind = "committed" // and counts
	StepDropped   StepKind = "dropped"   // or not
	StepFailed    StepKind = "failed"    // the delivery has no further attempt
	StepApplied   StepKind = "applied"   // records kept elsewhere were written
	StepNotified  StepKind = "notified"  // somebody was told of the outcome
	StepErased    StepKind = "erased"    // the session was forgotten
)

// StepKinds are all kinds of steps, in that order.
func StepKinds() []StepKind {
	return []StepKind{StepAccepted, StepClaimed, StepHydrated, StepRan, StepCommitted, StepDropped, StepFailed, StepApplied, StepNotified, StepErased}
}

// Step is what a host tells its journal. It holds no value of a session: those stand in the
// traces of its turns.
type Step struct {
	Kind StepKind `json:"step"`
	// N counts the host's steps from 1; those of one session are in order by Epoch, then N,
	// whichever hosts told them.
	N    int64     `json:"n"`
	At   time.Time `json:"at"`
	Host string    `json:"host"`
	SessionID
	Epoch    int64  `json:"epoch,omitempty"`
	Delivery string `json:"delivery,omitempty"`
	Seq      int64  `json:"seq,omitempty"`
	// Payload is Delivery.Digest of what was accepted.
	Payload string `json:"payload,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Turn    string `json:"turn,omitempty"`
	// Status is that of the turn's dispatch; empty where there was none.
	Status string `json:"status,omitempty"`
	// Revision and Bag are those after the step; Bag is Digest of the values.
	Revision int64    `json:"revision,omitempty"`
	Bag      string   `json:"bag,omitempty"`
	Keys     []string `json:"keys,omitempty"`    // that were changed
	Records  []string `json:"records,omitempty"` // that were written
	Code     adk.Code `json:"code,omitempty"`
}

// String is the step as its line in a journal.
func (s Step) String() string {
	line, err := unescaped.Marshal(s)
	if err != nil { // a time that JSON has not
		return fmt.Sprintf("%s of %s", s.Kind, s.SessionID)
	}
	return string(line)
}

// Digest is the SHA-256 of a session's values, in lowercase hexadecimal: of the canonical
// JSON of all of them, by their keys.
func Digest(values map[string]Value) string {
	if values == nil {
		values = map[string]Value{} // no value is one thing
	}
	text, err := unescaped.Marshal(values)
	if err != nil {
		return "" // of a body that is no JSON
	}
	sum := sha256.Sum256(Canonical(text))
	return hex.EncodeToString(sum[:])
}

// tell has the journal hear a step. One that panics disturbs nothing.
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

// step is what all steps of a claimed session have.
func (c Claim) step(kind StepKind) Step {
	return Step{Kind: kind, SessionID: c.SessionID, Epoch: c.Epoch}
}

// step is what all steps of an attempt have.
func (a *attempt) step(kind StepKind) Step {
	s := a.claim.step(kind)
	s.Delivery, s.Seq, s.Attempt = a.seed.Delivery, a.seed.Seq, a.number
	return s
}
