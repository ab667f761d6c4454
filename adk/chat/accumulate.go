package chat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
)

// CallDelta is what one chunk says about a call. Empty fields carry no information.
type CallDelta struct {
	Index     *int // nil if the chunk has none
	ID, Type  string
	Name      string
	Arguments string
}

// WantedCall is a call that the model wants to make. Arguments are what the model wrote, which need
// not be JSON. A call without an id gets a new id (CAL-7).
type WantedCall struct {
	ID, Type, Name, Arguments string
}

// Accumulator assembles the calls of one answer.
type Accumulator interface {
	// Feed adds what a chunk says about a call.
	Feed(delta CallDelta)
	// Drain returns all calls. It is called once.
	Drain() []WantedCall
}

// calls is the default accumulator (SSE-8).
type calls struct{ entries []*entry }

type entry struct {
	index           int
	id, kind        string
	name, arguments []byte
}

// Feed adds a delta to the entry that it belongs to, which it finds by the index or, without an
// index, by the id. An id that differs from the entry's begins another entry, since some servers
// number all calls 0.
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

// of returns the entry that a delta belongs to; nil if the delta begins a new one. A name alone
// does not begin a new call, because some servers send it in parts.
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

// isFollowedBy reports whether a delta without an id begins another call: it has a name, and the
// entry's arguments are complete. If the delta has an index, it must have arguments too, because
// some servers repeat the name in each part, also in the last one.
func (e *entry) isFollowedBy(delta CallDelta) bool {
	if delta.Name == "" || delta.Index != nil && delta.Arguments == "" {
		return false
	}
	args := bytes.TrimSpace(e.arguments)
	return bytes.HasSuffix(args, []byte("}")) && json.Valid(args)
}

// next returns the index for an entry that came without one.
func (c *calls) next() int {
	next := 0
	for _, e := range c.entries {
		next = max(next, e.index+1)
	}
	return next
}

// Drain returns the calls ordered by index, and those of one index in order of arrival. A call to
// which the server gave no id stays without one. An id made from the index would also occur in
// other turns, and the call would replace the record of another call (CAL-7).
func (c *calls) Drain() []WantedCall {
	slices.SortStableFunc(c.entries, func(a, b *entry) int { return cmp.Compare(a.index, b.index) })
	wanted := make([]WantedCall, len(c.entries))
	for i, e := range c.entries {
		wanted[i] = WantedCall{ID: e.id, Type: cmp.Or(e.kind, "function"), Name: string(e.name), Arguments: string(e.arguments)}
	}
	return wanted
}
