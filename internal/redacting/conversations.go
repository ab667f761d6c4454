package redacting

import (
	"sync"

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
type conversation struct {
	mu      sync.Mutex
	secrets []found
	known   map[found]bool
}

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
	latest, err := lru.New[string, *conversation](mostConversations)
	if err != nil {
		panic(err) // of a size that is none
	}
	return &Conversations{of: of, latest: latest}
}

// begun is the conversation of a run that begins; nil where it is of none.
func (c *Conversations) begun(first *adk.Crossing) *conversation {
	name := c.of(first)
	if name == "" {
		return nil
	}
	new := &conversation{known: map[found]bool{}}
	if known, was, _ := c.latest.PeekOrAdd(name, new); was {
		c.latest.Get(name) // it is the latest now
		return known
	}
	return new
}

// add takes in what a path has found.
func (c *conversation) add(kind, secret string) {
	one := found{kind, secret}
	if c == nil || len(secret) < leastHunted {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[one] {
		return
	}
	if len(c.secrets) == mostSecrets {
		delete(c.known, c.secrets[0])
		c.secrets = append(c.secrets[:0], c.secrets[1:]...)
	}
	c.secrets, c.known[one] = append(c.secrets, one), true
}

// all are the secrets so far, the oldest first.
func (c *conversation) all() []found {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]found(nil), c.secrets...)
}

// join has the run be of a conversation: what was found in that is looked for from its beginning.
func (r *redactor) join(c *conversation) {
	if c == nil {
		return
	}
	r.of = c
	for _, one := range c.all() {
		r.hunt(one.kind, Forms(one.secret)...)
	}
}
