package adk

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/adk/internal/fields"
)

// Role says who a message is from. There is no role for the system or for tools: standing
// instructions and tool calls are records of their own.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// MessageInit is what a message is made from.
type MessageInit struct {
	// ID is the caller's id of the message; required.
	ID string
	// Role is RoleUser or RoleAssistant; required.
	Role Role
	// Content is the text. It may be empty where there are attachments.
	Content string
	// Attachments are the media that go with the text. They are optional if there is content.
	Attachments []*Media
	// Identity says who speaks; the zero Identity means the identity of the role.
	Identity Identity
	// CreatedAt is when the message came to be; required.
	CreatedAt time.Time
	// UpdatedAt is when it last changed; required, not before CreatedAt.
	UpdatedAt time.Time
}

// Message is one unit of dialogue (PRM-3). It is immutable.
type Message struct {
	init    MessageInit // with the default identity filled in, normalized times, and its own list
	content *Tokenizable
	digestOnce
}

// NewMessage makes a message. E_INVALID_INITIAL_MESSAGE_VALUE names every field
// that is wrong.
func NewMessage(init MessageInit) (*Message, error) {
	var c fieldCheck
	c.Required("id", init.ID, "the id that the caller gives the message")
	fields.OneOf(&c.Check, "role", init.Role, RoleUser, RoleAssistant)
	c.Optional("content", init.Content)
	c.Want(init.Content != "" || len(init.Attachments) > 0, "content", "is missing and so are attachments, want one of them or both")
	c.medias("attachments", init.Attachments)
	init.Identity = c.identity(init.Identity, init.Role.identity())
	init.CreatedAt, init.UpdatedAt = c.Moments(init.CreatedAt, init.UpdatedAt)
	if err := c.err(E_INVALID_INITIAL_MESSAGE_VALUE); err != nil {
		return nil, err
	}
	init.Attachments = slices.Clone(init.Attachments)
	m := &Message{init: init}
	if init.Content != "" {
		m.content = NewTokenizable(init.Content)
	}
	return m, nil
}

// medias checks that each media of a list is valid.
func (c *fieldCheck) medias(field string, list []*Media) {
	for i, media := range list {
		if fault := recordFault(media); fault != "" {
			c.FaultAt(field, i, "%s, want a media", fault)
		}
	}
}

// ID is the caller's id of the message.
func (m *Message) ID() string { return m.init.ID }

// Role says who the message is from.
func (m *Message) Role() Role { return m.init.Role }

// Content is the text, nil where there are only attachments.
func (m *Message) Content() *Tokenizable { return m.content }

// Attachments returns the media that go with the text, in a slice that the caller may change.
func (m *Message) Attachments() []*Media { return slices.Clone(m.init.Attachments) }

// Identity says who speaks.
func (m *Message) Identity() Identity { return m.init.Identity }

// CreatedAt is when the message came to be, in UTC.
func (m *Message) CreatedAt() time.Time { return m.init.CreatedAt }

// UpdatedAt is when it last changed, in UTC.
func (m *Message) UpdatedAt() time.Time { return m.init.UpdatedAt }

// Init returns what a message like this one is made from. Change what should differ and pass it to
// NewMessage.
func (m *Message) Init() MessageInit {
	init := m.init
	init.Attachments = m.Attachments()
	return init
}

// RecordKind is RecordMessage.
func (m *Message) RecordKind() RecordKind { return RecordMessage }

// PlainTag is the tag that marks a message inside plain data.
func (m *Message) PlainTag() string { return string(RecordMessage) }

// Key is the id.
func (m *Message) Key() string { return m.init.ID }

// Digest is the digest of the message's JSON, computed once.
func (m *Message) Digest() Digest { return m.of(m) }

// MarshalJSON returns the message in the form that ParseRecord reads.
func (m *Message) MarshalJSON() ([]byte, error) { return recordJSONOf(m) }

// AppendJSON appends what MarshalJSON returns.
func (m *Message) AppendJSON(dst []byte) []byte {
	j := openRecord(dst)
	j.Text("id", m.init.ID)
	j.Text("role", string(m.init.Role))
	j.SomeText("content", m.init.Content)
	j.medias("attachments", m.init.Attachments)
	j.identity("identity", m.init.Identity, m.init.Role.identity())
	j.Moment("createdAt", m.init.CreatedAt)
	j.Moment("updatedAt", m.init.UpdatedAt)
	return j.Close()
}

func (p RecordParser) message(data []byte) (*Message, error) {
	var shape struct {
		MessageInit
		Attachments []json.RawMessage
		Identity    parsedIdentity
	}
	if err := decodeRecord(E_INVALID_INITIAL_MESSAGE_VALUE, data, &shape); err != nil {
		return nil, err
	}
	attachments, err := p.medias(shape.Attachments)
	if err != nil {
		return nil, &Error{Code: E_INVALID_INITIAL_MESSAGE_VALUE, Message: "attachments", Cause: err}
	}
	shape.MessageInit.Attachments, shape.MessageInit.Identity = attachments, shape.Identity.Identity
	return NewMessage(shape.MessageInit)
}
