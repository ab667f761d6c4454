package adk

import (
	"time"

	"github.com/adkreplay/adkreplay/internal/plain"
)

// ThoughtInit is what a thought is made from.
type ThoughtInit struct {
	// ID is the caller's id of the thought; required.
	ID string
	// Content is the reasoning as text; required unless there is a payload, as where
	// a provider redacts what its model thought.
	Content string
	// Identity is who thinks; the zero Identity means "assistant".
	Identity Identity
	// Payload is what a provider wants back word for word: plain data; nil
	// means none.
	Payload any
	// ReplayCompatibility names the form of the payload, for whoever is to send
	// it back; required with a payload.
	ReplayCompatibility string
	// CreatedAt is when the thought came to be; required.
	CreatedAt time.Time
	// UpdatedAt is when it last changed; required, not before CreatedAt.
	UpdatedAt time.Time
}

// Thought is reasoning, kept apart from dialogue (PRM-6). It is immutable.
type Thought struct {
	id                  string
	content             *Tokenizable
	identity            Identity
	payload             any
	replayCompatibility string
	createdAt           time.Time
	updatedAt           time.Time
	digest              digestOnce
}

// NewThought makes a thought. E_INVALID_INITIAL_THOUGHT_VALUE names every field
// that is wrong.
func NewThought(init ThoughtInit) (*Thought, error) {
	var c fieldCheck
	c.Required("id", init.ID, "the id that the caller gives the thought")
	c.Optional("content", init.Content)
	if init.Content == "" && init.Payload == nil {
		c.Fault("content", "is missing and so is payload, want one of them or both")
	}
	t := &Thought{
		id:       init.ID,
		identity: c.identity(init.Identity, RoleAssistant.identity()),
		payload:  plain.Copy(init.Payload), replayCompatibility: init.ReplayCompatibility,
	}
	c.plain("payload", init.Payload)
	c.Optional("replayCompatibility", init.ReplayCompatibility)
	if init.Payload != nil && init.ReplayCompatibility == "" {
		c.Fault("replayCompatibility", "is missing, want the name of the payload's form")
	}
	t.createdAt, t.updatedAt = c.Moments(init.CreatedAt, init.UpdatedAt)
	if err := c.err(E_INVALID_INITIAL_THOUGHT_VALUE); err != nil {
		return nil, err
	}
	if init.Content != "" {
		t.content = NewTokenizable(init.Content)
	}
	return t, nil
}

// plain checks that a value is plain data, and names the places where not.
func (c *fieldCheck) plain(field string, v any) {
	if fault := plain.Fault(v); fault != "" {
		c.Fault(field, "%s, want plain data", fault)
	}
}

// ID is the caller's id of the thought.
func (t *Thought) ID() string { return t.id }

// Content is the reasoning as text, nil where there is only a payload.
func (t *Thought) Content() *Tokenizable { return t.content }

// Identity is who thinks.
func (t *Thought) Identity() Identity { return t.identity }

// Payload is a copy of what a provider wants back, nil where there is none.
func (t *Thought) Payload() any { return plain.Copy(t.payload) }

// ReplayCompatibility names the form of the payload; it may be given without
// one, and is empty if nobody said.
func (t *Thought) ReplayCompatibility() string { return t.replayCompatibility }

// CreatedAt is when the thought came to be, in UTC.
func (t *Thought) CreatedAt() time.Time { return t.createdAt }

// UpdatedAt is when it last changed, in UTC.
func (t *Thought) UpdatedAt() time.Time { return t.updatedAt }

// Init is what a thought like this one is made from; change what should differ
// and give it to NewThought.
func (t *Thought) Init() ThoughtInit {
	return ThoughtInit{
		ID: t.id, Content: textOf(t.content), Identity: t.identity, Payload: t.Payload(),
		ReplayCompatibility: t.replayCompatibility, CreatedAt: t.createdAt, UpdatedAt: t.updatedAt,
	}
}

// RecordKind is RecordThought.
func (t *Thought) RecordKind() RecordKind { return RecordThought }

// PlainTag marks a thought inside plain data.
func (t *Thought) PlainTag() string { return string(RecordThought) }

// Key is the id.
func (t *Thought) Key() string { return t.id }

// Digest is the digest of the thought's JSON, computed once.
func (t *Thought) Digest() Digest { return t.digest.of(t) }

// MarshalJSON is the thought as ParseRecord reads it back.
func (t *Thought) MarshalJSON() ([]byte, error) { return recordJSONOf(t) }

// AppendJSON appends what MarshalJSON gives.
func (t *Thought) AppendJSON(dst []byte) []byte {
	j := openRecord(dst)
	j.Text("id", t.id)
	j.SomeText("content", textOf(t.content))
	j.identity("identity", t.identity, RoleAssistant.identity())
	if t.payload != nil {
		j.Field("payload")
		j.Out = plain.AppendJSON(j.Out, t.payload)
	}
	j.SomeText("replayCompatibility", t.replayCompatibility)
	j.Moment("createdAt", t.createdAt)
	j.Moment("updatedAt", t.updatedAt)
	return j.Close()
}

func (t *Thought) isRecord() {}
