package adk

import "time"

// MemoryInit is what a memory is made from.
type MemoryInit struct {
	// ID is the caller's id of the memory; required.
	ID string
	// Content is the text; required.
	Content string
	// Confidence is how likely the memory is to matter now, within [0,1];
	// required, without default: new(0.7).
	Confidence *float64
	// Importance is how much the memory weighs if it matters, within [0,1]; required, without
	// default.
	Importance *float64
	// CreatedAt is when the memory came to be; required.
	CreatedAt time.Time
	// UpdatedAt is when it last changed; required, not before CreatedAt.
	UpdatedAt time.Time
}

// Memory is a lasting fact from earlier conversations (PRM-4). It is immutable.
type Memory struct {
	init                   MemoryInit // with normalized times, and without the scores
	content                *Tokenizable
	confidence, importance float64
	digestOnce
}

// NewMemory makes a memory. E_INVALID_INITIAL_MEMORY_VALUE names every field
// that is wrong.
func NewMemory(init MemoryInit) (*Memory, error) {
	var c fieldCheck
	c.Required("id", init.ID, "the id that the caller gives the memory")
	c.Required("content", init.Content, "the text of the memory")
	confidence, importance := c.RequiredScore("confidence", init.Confidence), c.RequiredScore("importance", init.Importance)
	init.CreatedAt, init.UpdatedAt = c.Moments(init.CreatedAt, init.UpdatedAt)
	if err := c.err(E_INVALID_INITIAL_MEMORY_VALUE); err != nil {
		return nil, err
	}
	init.Confidence, init.Importance = nil, nil
	return &Memory{init: init, content: NewTokenizable(init.Content), confidence: confidence, importance: importance}, nil
}

// ID is the caller's id of the memory.
func (m *Memory) ID() string { return m.init.ID }

// Content is the text.
func (m *Memory) Content() *Tokenizable { return m.content }

// Confidence is how likely the memory is to matter now, within [0,1].
func (m *Memory) Confidence() float64 { return m.confidence }

// Importance is how much the memory weighs if it matters, within [0,1].
func (m *Memory) Importance() float64 { return m.importance }

// CreatedAt is when the memory came to be, in UTC.
func (m *Memory) CreatedAt() time.Time { return m.init.CreatedAt }

// UpdatedAt is when it last changed, in UTC.
func (m *Memory) UpdatedAt() time.Time { return m.init.UpdatedAt }

// Init returns what a memory like this one is made from. Change what should differ and pass it to
// NewMemory.
func (m *Memory) Init() MemoryInit {
	init := m.init
	init.Confidence, init.Importance = new(m.confidence), new(m.importance)
	return init
}

// RecordKind is RecordMemory.
func (m *Memory) RecordKind() RecordKind { return RecordMemory }

// PlainTag is the tag that marks a memory inside plain data.
func (m *Memory) PlainTag() string { return string(RecordMemory) }

// Key is the id.
func (m *Memory) Key() string { return m.init.ID }

// Digest is the digest of the memory's JSON, computed once.
func (m *Memory) Digest() Digest { return m.of(m) }

// MarshalJSON returns the memory in the form that ParseRecord reads.
func (m *Memory) MarshalJSON() ([]byte, error) { return recordJSONOf(m) }

// AppendJSON appends what MarshalJSON returns.
func (m *Memory) AppendJSON(dst []byte) []byte {
	j := openRecord(dst)
	j.Text("id", m.init.ID)
	j.Text("content", m.init.Content)
	j.Number("confidence", m.confidence)
	j.Number("importance", m.importance)
	j.Moment("createdAt", m.init.CreatedAt)
	j.Moment("updatedAt", m.init.UpdatedAt)
	return j.Close()
}
