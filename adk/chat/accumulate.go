package chat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
)

// CallDelta is what one chunk says of a call. Empty fields say nothing.
type CallDelta struct {
	Index     *int // nil where the chunk has none
	ID, Type  string
	Name      string
	Arguments string
}

// WantedCall is a call that an answer wants. Arguments are what the model wrote, which
// need not be JSON. One without an id is given one that no other call has (CAL-7).
type WantedCall struct {
	ID, Type, Name, Arguments string
}

// Accumulator puts the calls of one answer together.
type Accumulator interface {
	// Feed adds what a chunk says.
	Feed(delta CallDelta)
	// Drain gives all calls, and is called once.
	Drain() []WantedCall
}

// calls is the default accumulator (SSE-8).
type calls struct{ entries []*entry }

type entry struct {
	index           int
	id, kind        string
	name, arguments []byte
}

// Feed finds the entry that a delta belongs to: by its index, or without one by its id. An
// id that differs from the entry's begins another, for some servers number all calls 0.
func (c *calls) Feed(delta CallDelta) {
	e := c.of(delta)
	if e == nil {
		e = &entry{index: c.next()}
		if delta.Index != nil {
			e.index = *delta.Index
		}
		c.entries = append(c.entries, e)
	}
	if delta.ID != "" {
		e.id = delta.ID
	}
	if delta.Type != "" {
		e.kind = delta.Type
	}
	e.name = append(e.name, delta.Name...)
	e.arguments = append(e.arguments, delta.Arguments...)
}

// of is the entry of a delta; nil where it begins one. A name alone is no sign of another call,
// for some servers send it in parts.
func (c *calls) of(delta CallDelta) *entry {
	for _, e := range slices.Backward(c.entries) {
		switch {
		case delta.Index != nil && e.index != *delta.Index:
		case delta.ID == "" && e.isFollowedBy(delta):
			return nil
		case delta.ID == "" || e.id == delta.ID:
			return e
		case delta.Index != nil && e.id == "":
			return e
		}
	}
	return nil
}

// isFollowedBy reports whether a delta without an id begins another call than the entry's: it
// brings a name where nothing is missing. One with the entry's index brings arguments as well,
// for some servers say the name in each part, the last one too.
func (e *entry) isFollowedBy(delta CallDelta) bool {
	if delta.Name == "" || delta.Index != nil && delta.Arguments == "" {
		return false
	}
	args := bytes.TrimSpace(e.arguments)
	return bytes.HasSuffix(args, []byte("}")) && json.Valid(args)
}

// next is the index of an entry that has none.
func (c *calls) next() int {
	next := 0
	for _, e := range c.entries {
		next = max(next, e.index+1)
	}
	return next
}

// Drain gives the calls by their index, and those of one index as they came. A call to which
// the server gave no id has none: one made of its index would be that of another turn's call
// as well, whose record it would replace (CAL-7).
func (c *calls) Drain() []WantedCall {
	slices.SortStableFunc(c.entries, func(a, b *entry) int { return cmp.Compare(a.index, b.index) })
	wanted := make([]WantedCall, len(c.entries))
	for i, e := range c.entries {
		wanted[i] = WantedCall{ID: e.id, Type: cmp.Or(e.kind, "function"), Name: string(e.name), Arguments: string(e.arguments)}
	}
	return wanted
}
