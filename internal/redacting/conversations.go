package redacting

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/adkreplay/adkreplay/adk"
)

// Conversations remembers what paths have found in the runs of each conversation, so that the next
// run of a conversation does not write in clear what the last one had in a covered field. It is
// safe for concurrent use.
type Conversations struct {
	of     func(first *adk.Crossing) string
	latest *lru.Cache[string, *conversation]
}

// conversation is the set of secrets that paths have found in the runs of one conversation.
type conversation = lru.Cache[found, struct{}]

// found is a secret that a path has found.
type found struct{ kind, secret string }

// The limits of what is remembered: the latest conversations, and the latest secrets of each.
const (
	mostConversations = 1024
	mostSecrets       = 256
)

// NewConversations returns an empty Conversations. of returns the name of the conversation of a run
// from the run's first call, or "" for none.
func NewConversations(of func(first *adk.Crossing) string) *Conversations {
	return &Conversations{of: of, latest: latest[string, *conversation](mostConversations)}
}

// latest returns a cache of the given size that keeps the most recently used entries.
func latest[K comparable, V any](most int) *lru.Cache[K, V] {
	cache, err := lru.New[K, V](most)
	if err != nil {
		panic(err) // a constant size is not valid
	}
	return cache
}

// begun returns the conversation of a run that begins, or nil if it belongs to none.
func (c *Conversations) begun(first *adk.Crossing) *conversation {
	name := c.of(first)
	if name == "" {
		return nil
	}
	if known, ok := c.latest.Get(name); ok {
		return known
	}
	begins := latest[found, struct{}](mostSecrets)
	if known, was, _ := c.latest.PeekOrAdd(name, begins); was { // another run has added it meanwhile
		return known
	}
	return begins
}

// join makes the run part of a conversation: from now on it looks for the secrets that were found
// in the conversation.
func (r *redactor) join(of *conversation) {
	if of == nil {
		return
	}
	r.of = of
	for _, one := range of.Keys() {
		r.hunt(one.kind, Forms(one.secret)...)
	}
}
