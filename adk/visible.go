package adk

import (
	"github.com/adkreplay/adkreplay/internal/digest"
	"github.com/adkreplay/adkreplay/internal/ordered"
	"github.com/adkreplay/adkreplay/internal/stash"
)

// visible is everything that can be seen through a turn or a dispatch context; a state is the
// digest of it (DET-8). It is guarded by the run's lock.
type visible struct {
	prompt *Tokenizable
	// sets are the sets of records, each at the index of its collection.
	sets   [atTools]ordered.Set[string, Record]
	tools  Registry
	stash  stash.Kept
	chains [len(collectionTable)]digest.Chain[Digest] // of the sets and the tools
}

// beginning makes what a run begins with (RUN-7). The texts of the instructions and the names of
// the tools are unique.
func beginning(prompt string, instructions []string, tree map[string]any, tools []*Tool) *visible {
	v := &visible{prompt: NewTokenizable(prompt), stash: stash.Kept{Tree: stash.New(tree)}}
	for _, text := range instructions {
		v.sets[atInstructions].Add(text, NewTokenizable(text))
	}
	for _, tool := range tools {
		v.tools.tools.Add(tool.Name(), tool) // cannot clash: the registry is new and the names are unique
	}
	return v
}

// copyOf makes what a dispatch begins with: its own copies of everything (DSP-9, STA-6).
func (v *visible) copyOf() *visible {
	c := &visible{prompt: v.prompt, stash: v.stash.Copy()}
	c.tools.tools.CopyFrom(&v.tools.tools)
	for i := range v.sets {
		c.sets[i].CopyFrom(&v.sets[i])
	}
	for i := range v.chains {
		c.chains[i] = v.chains[i].Copy()
	}
	return c
}

// digest returns the digest of the state.
func (v *visible) digest() Digest {
	lists := digest.Begin(v.prompt.Digest())
	for i := range v.sets {
		digest.AddSet(lists, collectionTable[i].mark, &v.sets[i], &v.chains[i], Record.Digest)
	}
	v.tools.addTo(lists, &v.chains[atTools])
	return lists.End(v.stash.Sum().Digest())
}

// StateDigest holds the digests of everything that is visible at one point of a run (DET-8), with
// the lists in the order of Collections. Folding the crossings up to that point gives the same
// StateDigest.
type StateDigest struct {
	Prompt Digest
	// Lists are the digests of the records of each collection.
	Lists [len(collectionTable)][]Digest
	// Stash is StashDigest of the nested tree.
	Stash Digest
}

// Of returns the list of a collection, for reading and writing, or nil for an unknown name.
func (s *StateDigest) Of(name CollectionName) *[]Digest {
	if at := name.at(); at >= 0 {
		return &s.Lists[at]
	}
	return nil
}

// Digest returns the one digest that a KindState crossing carries.
func (s StateDigest) Digest() Digest {
	lists := digest.Begin(s.Prompt)
	for i, list := range s.Lists {
		lists.Add(collectionTable[i].mark, list)
	}
	return lists.End(s.Stash)
}

// StashDigest returns the digest of a stash's nested tree. An empty tree has the zero Digest.
func StashDigest(tree map[string]any) Digest { return stash.SumOf(tree).Digest() }
