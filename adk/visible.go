package adk

import (
	"github.com/adkreplay/adkreplay/internal/digest"
	"github.com/adkreplay/adkreplay/internal/ordered"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/stash"
)

// visible is all that can be seen through a turn or a dispatch context: what a
// state is the digest of (DET-8). It is guarded by the run's lock.
type visible struct {
	prompt *Tokenizable
	// sets are those of the records, each at the place of its collection.
	sets  [atTools]ordered.Set[string, Record]
	tools Registry
	stash stash.Kept[Digest]
	// known are the digests of the sets that have grown, as of the state before.
	known [atTools]ordered.Derived[string, Record, Digest]
}

// beginning is what a run begins with (RUN-7). The texts of the instructions and
// the names of the tools are unique.
func beginning(prompt string, instructions []string, tree map[string]any, tools []*Tool) *visible {
	v := &visible{prompt: NewTokenizable(prompt), stash: stash.Kept[Digest]{Tree: stash.New(tree)}}
	for _, text := range instructions {
		v.sets[atInstructions].Add(text, NewTokenizable(text))
	}
	for _, tool := range tools {
		v.tools.tools.Add(tool.Name(), tool) // nobody else has it yet
	}
	return v
}

// copyOf is what a dispatch begins with: its own copies of everything (DSP-9,
// STA-6).
func (v *visible) copyOf() *visible {
	c := &visible{prompt: v.prompt, stash: v.stash.Copy()}
	c.tools.copyFrom(&v.tools)
	for i := range v.sets {
		c.sets[i].CopyFrom(&v.sets[i])
	}
	return c
}

// fewRecords is how many records of a set are asked for their digests at every state.
const fewRecords = 16

// digest is the state's digest.
func (v *visible) digest() Digest {
	all := make([]Digest, 0, 32) // on the stack, and most states need no more
	var lists [len(collectionTable)][]Digest
	for i := range v.sets {
		if v.sets[i].Len() > fewRecords {
			lists[i] = v.known[i].Of(&v.sets[i], Record.Digest)
			continue
		}
		begin := len(all)
		for record := range v.sets[i].Values() {
			all = append(all, record.Digest())
		}
		lists[i] = all[begin:]
	}
	for _, tool := range v.tools.All() {
		lists[atTools] = append(lists[atTools], tool.Digest())
	}
	return digest.OfLists(v.prompt.Digest(), lists[:], v.stash.Sum(StashDigest))
}

// StateDigest is the digests of all that is visible at one point of a run, in order
// (DET-8), the lists as Collections has them. Whoever folds the crossings before it arrives
// at the same one.
type StateDigest struct {
	Prompt Digest
	// Lists are the digests of the records of each collection.
	Lists [len(collectionTable)][]Digest
	// Stash is StashDigest of the nested tree.
	Stash Digest
}

// Of is the list of a collection, to be read and to be set; nil where there is none of
// the name.
func (s *StateDigest) Of(name CollectionName) *[]Digest {
	if at := name.at(); at >= 0 {
		return &s.Lists[at]
	}
	return nil
}

// Digest is the one digest that an observer is told.
//
//go:noinline
func (s StateDigest) Digest() Digest { return digest.OfLists(s.Prompt, s.Lists[:], s.Stash) }

// StashDigest is the digest of a stash's nested tree. An empty tree has the
// zero Digest.
func StashDigest(tree map[string]any) Digest {
	if len(tree) == 0 {
		return Digest{}
	}
	return DigestOf(plain.AppendJSON(nil, tree))
}
