package adk

import (
	"encoding/json"
	"time"

	"github.com/adkreplay/adkreplay/internal/plain"
)

// ThoughtInit is what a thought is made from.
type ThoughtInit struct {
	// ID is the caller's id of the thought; required.
	ID string
	// Content is the reasoning as text; required unless there is a payload, for example if a
	// provider redacts what its model thought.
	Content string
	// Identity says who thinks; the zero Identity means "assistant".
	Identity Identity
	// Payload is data that a provider wants to get back verbatim: plain data, or nil for none.
	Payload any
	// ReplayCompatibility names the format of the payload, for the code that sends it back;
	// required with a payload.
	ReplayCompatibility string
	// CreatedAt is when the thought came to be; required.
	CreatedAt time.Time
	// UpdatedAt is when it last changed; required, not before CreatedAt.
	UpdatedAt time.Time
}

// Thought is reasoning, kept apart from dialogue (PRM-6). It is immutable.
type Thought struct {
	init    ThoughtInit // with the default identity filled in, normalized times, and its own copy of the payload
	content *Tokenizable
	digestOnce
}

// NewThought makes a thought. E_INVALID_INITIAL_THOUGHT_VALUE names every field
// that is wrong.
func NewThought(init ThoughtInit) (*Thought, error) {
	var c fieldCheck
	c.Required("id", init.ID, "the id that the caller gives the thought")
	c.Optional("content", init.Content)
	c.Want(init.Content != "" || init.Payload != nil, "content", "is missing and so is payload, want one of them or both")
	init.Identity = c.identity(init.Identity, RoleAssistant.identity())
	c.Plain("payload", init.Payload)
	c.Optional("replayCompatibility", init.ReplayCompatibility)
	c.Want(init.Payload == nil || init.ReplayCompatibility != "", "replayCompatibility", "is missing, want the name of the payload's form")
	init.CreatedAt, init.UpdatedAt = c.Moments(init.CreatedAt, init.UpdatedAt)
	if err := c.err(E_INVALID_INITIAL_THOUGHT_VALUE); err != nil {
		return nil, err
	}
	init.Payload = plain.Copy(init.Payload)
	t := &Thought{init: init}
	if init.Content != "" {
		t.content = NewTokenizable(init.Content)
	}
	return t, nil
}

// ID is the caller's id of the thought.
func (t *Thought) ID() string { return t.init.ID }

// Content is the reasoning as text, or nil if there is only a payload.
func (t *Thought) Content() *Tokenizable { return t.content }

// Identity says who thinks.
func (t *Thought) Identity() Identity { return t.init.Identity }

// Payload returns a copy of what a provider wants back, or nil if there is none.
func (t *Thought) Payload() any { return plain.Copy(t.init.Payload) }

// ReplayCompatibility names the format of the payload, or is "" if that was not given. It may be
// given without a payload.
func (t *Thought) ReplayCompatibility() string { return t.init.ReplayCompatibility }

// CreatedAt is when the thought came to be, in UTC.
func (t *Thought) CreatedAt() time.Time { return t.init.CreatedAt }

// UpdatedAt is when it last changed, in UTC.
func (t *Thought) UpdatedAt() time.Time { return t.init.UpdatedAt }

// Init returns what a thought like this one is made from. Change what should differ and pass it to
// NewThought.
func (t *Thought) Init() ThoughtInit {
	init := t.init
	init.Payload = t.Payload()
	return init
}

// RecordKind is RecordThought.
func (t *Thought) RecordKind() RecordKind { return RecordThought }

// PlainTag is the tag that marks a thought inside plain data.
func (t *Thought) PlainTag() string { return string(RecordThought) }

// Key is the id.
func (t *Thought) Key() string { return t.init.ID }

// Digest is the digest of the thought's JSON, computed once.
func (t *Thought) Digest() Digest { return t.of(t) }

// MarshalJSON returns the thought in the form that ParseRecord reads.
func (t *Thought) MarshalJSON() ([]byte, error) { return recordJSONOf(t) }

// AppendJSON appends what MarshalJSON returns.
func (t *Thought) AppendJSON(dst []byte) []byte {
	j := openRecord(dst)
	j.Text("id", t.init.ID)
	j.SomeText("content", t.init.Content)
	j.identity("identity", t.init.Identity, RoleAssistant.identity())
	if t.init.Payload != nil {
		j.Field("payload")
		j.Out = plain.AppendJSON(j.Out, t.init.Payload)
	}
	j.SomeText("replayCompatibility", t.init.ReplayCompatibility)
	j.Moment("createdAt", t.init.CreatedAt)
	j.Moment("updatedAt", t.init.UpdatedAt)
	return j.Close()
}

func (p RecordParser) thought(data []byte) (*Thought, error) {
	var shape struct {
		ThoughtInit
		Identity parsedIdentity
		Payload  json.RawMessage
	}
	if err := decodeRecord(E_INVALID_INITIAL_THOUGHT_VALUE, data, &shape); err != nil {
		return nil, err
	}
	payload, err := p.plain(E_INVALID_INITIAL_THOUGHT_VALUE, "payload", shape.Payload)
	if err != nil {
		return nil, err
	}
	shape.ThoughtInit.Payload, shape.ThoughtInit.Identity = payload, shape.Identity.Identity
	return NewThought(shape.ThoughtInit)
}
