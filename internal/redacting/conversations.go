package redacting

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/adkreplay/adkreplay/adk"
)

// Conversations are what paths have found in the runs of conversations, so that the next run of
// one does not say in clear what the last had in a field. They are safe for concurrent use.
type Conversations struct {
	of     func(first *adk.Crossing) string
	latest *lru.Cache[string, *conversation]
}

// conversation is what paths have found in the runs of one.
type conversation = lru.Cache[found, struct{}]

// found is a secret that a path has found.
type found struct{ kind, secret string }

// What is kept at most: conversations, and secrets of each, the latest of them.
const (
	mostConversations = 1024
	mostSecrets       = 256
)

// NewConversations are none so far. of says by the first call of a run which one it is of, empty
// for none.
func NewConversations(of func(first *adk.Crossing) string) *Conversations {
	return &Conversations{of: of, latest: latest[string, *conversation](mostConversations)}
}

// latest keeps the latest of what it is given, as many as most.
func latest[K comparable, V any](most int) *lru.Cache[K, V] {
	cache, err := lru.New[K, V](most)
	if err != nil {
		panic(err) // of a size that is none
	}
	return cache
}

// begun is the conversation of a run that begins; nil where it is of none.
func (c *Conversations) begun(first *adk.Crossing) *conversation {
	name := c.of(first)
	if name == "" {
		return nil
	}
	if known, ok := c.latest.Get(name); ok {
		return known
	}
	begins := latest[found, struct{}](mostSecrets)
	if known, was, _ := c.latest.PeekOrAdd(name, begins); was { // by another run, meanwhile
		return known
	}
	return begins
}

// join has the run be of a conversation: what was found in that is looked for from its beginning.
func (r *redactor) join(of *conversation) {
	if of == nil {
		return
	}
	r.of = of
	for _, one := range of.Keys() {
		r.hunt(one.kind, Forms(one.secret)...)
	}
}
