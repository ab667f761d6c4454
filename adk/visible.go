package adk

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/adkreplay/adkreplay/internal/ordered"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/stash"
)

// visible is all that can be seen through a turn or a dispatch context: what a
// sight is the digest of (DET-8). It is guarded by the run's lock.
type visible struct {
	prompt       *Tokenizable
	instructions ordered.Set[string, *Tokenizable]
	messages     ordered.Set[string, *Message]
	memories     ordered.Set[string, *Memory]
	retrievables ordered.Set[string, *Retrievable]
	thoughts     ordered.Set[string, *Thought]
	toolCalls    ordered.Set[string, *ToolCall]
	tools        Registry
	stash        stashTree
}

// beginning is what a run begins with (RUN-7). The texts of the instructions and
// the names of the tools are unique.
func beginning(prompt string, instructions []string, tree map[string]any, tools []*Tool) *visible {
	v := &visible{prompt: NewTokenizable(prompt), stash: stashTree{Tree: stash.New(tree)}}
	for _, text := range instructions {
		v.instructions.Add(text, NewTokenizable(text))
	}
	for _, tool := range tools {
		v.tools.tools.Add(tool.Name(), tool) // nobody else has it yet
	}
	return v
}

// copyOf is what a dispatch begins with: its own copies of everything (DSP-9,
// STA-6).
func (v *visible) copyOf() *visible {
	c := &visible{prompt: v.prompt, stash: v.stash.copyOf()}
	c.tools.copyFrom(&v.tools)
	c.instructions.CopyFrom(&v.instructions)
	c.messages.CopyFrom(&v.messages)
	c.memories.CopyFrom(&v.memories)
	c.retrievables.CopyFrom(&v.retrievables)
	c.thoughts.CopyFrom(&v.thoughts)
	c.toolCalls.CopyFrom(&v.toolCalls)
	return c
}

// digest is the sight's digest.
func (v *visible) digest() Digest {
	all := make([]Digest, 0, 32) // on the stack, and most sights need no more
	s := Sight{Prompt: v.prompt.Digest(), Stash: v.stash.digest()}
	s.Instructions, all = digests(all, &v.instructions)
	s.Messages, all = digests(all, &v.messages)
	s.Memories, all = digests(all, &v.memories)
	s.Retrievables, all = digests(all, &v.retrievables)
	s.Thoughts, all = digests(all, &v.thoughts)
	s.ToolCalls, all = digests(all, &v.toolCalls)
	for _, t := range v.tools.All() {
		s.Tools = append(s.Tools, t.Digest())
	}
	return s.Digest()
}

// digests appends the digests of a set to all, and gives them and all of them.
func digests[T Record](all []Digest, set *ordered.Set[string, T]) (these, more []Digest) {
	more = all
	for record := range set.Values() {
		more = append(more, record.Digest())
	}
	return more[len(all):], more
}

// Sight is the digests of all that is visible at one point of a run, in order
// (DET-8). Whoever folds the crossings before it arrives at the same one.
type Sight struct {
	Prompt       Digest
	Instructions []Digest
	Messages     []Digest
	Memories     []Digest
	Retrievables []Digest
	Thoughts     []Digest
	ToolCalls    []Digest
	Tools        []Digest
	// Stash is StashDigest of the nested tree.
	Stash Digest
}

// Digest is the one digest that an observer is told.
func (s Sight) Digest() Digest {
	buffer := make([]byte, 0, 1024) // on the stack, and most sights need no more
	buffer = slices.Grow(buffer, 16*(len(s.Messages)+len(s.ToolCalls)+len(s.Tools)+16))
	buffer = append(buffer, s.Prompt[:]...)
	for _, list := range [][]Digest{s.Instructions, s.Messages, s.Memories, s.Retrievables, s.Thoughts, s.ToolCalls, s.Tools} {
		// The length keeps a record from moving unseen between two lists.
		buffer = binary.BigEndian.AppendUint32(buffer, uint32(len(list)))
		for _, d := range list {
			buffer = append(buffer, d[:]...)
		}
	}
	buffer = append(buffer, s.Stash[:]...)
	sum := sha256.Sum256(buffer)
	return Digest(sum[:16])
}

// StashDigest is the digest of a stash's nested tree. An empty tree has the
// zero Digest.
func StashDigest(tree map[string]any) Digest {
	if len(tree) == 0 {
		return Digest{}
	}
	return DigestOf(plain.AppendJSON(nil, tree))
}
