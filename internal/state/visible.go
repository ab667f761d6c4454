package state

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/digest"
	"github.com/adkreplay/adkreplay/internal/ordered"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/stash"
)

// View is everything that can be seen through a turn or a dispatch context, as a Fold derives it.
type View struct {
	SystemPrompt *adk.Tokenizable
	Sets         [sets]ordered.Set[string, adk.Record]
	Tools        ordered.Set[string, *adk.Tool]
	Values       foldStash

	chains     [sets]digest.Chain[adk.Digest]
	toolsChain digest.Chain[adk.Digest]
	former     *formerLists // nil until FormerDigest is called
}

// formerLists are the digests of all records, for the old digest that hashes all of them at each
// state.
type formerLists struct {
	sets  [sets]ordered.Derived[string, adk.Record, adk.Digest]
	tools ordered.Derived[string, *adk.Tool, adk.Digest]
}

// sets is the number of sets of a context: one for each collection except the tools.
const sets = len(adk.StateDigest{}.Lists) - 1

// SetOrder lists the sets in the order of a state digest, with the kind of records that they hold.
var SetOrder = setOrder()

func setOrder() (order [sets]struct {
	Of   adk.CollectionName
	Kind adk.RecordKind
	Mark adk.Digest
}) {
	for i := range order {
		order[i].Of = adk.Collections()[i]
		order[i].Kind = order[i].Of.Holds()
		order[i].Mark = order[i].Of.Mark()
	}
	return order
}

// SetIndex returns the index of a collection among the sets, or -1.
func SetIndex(of adk.CollectionName) int {
	for i, set := range SetOrder {
		if set.Of == of {
			return i
		}
	}
	return -1
}

// view returns an empty view. It reuses the memory of an earlier turn's if it can.
func (f *Fold) view() *View {
	if f.used == len(f.views) {
		f.views = append(f.views, &View{})
	}
	f.used++
	return f.views[f.used-1]
}

// clear makes the view empty.
func (v *View) clear() {
	for i := range v.Sets {
		v.Sets[i].Clear()
	}
	v.Tools.Clear()
	v.SystemPrompt, v.Values, v.former = nil, foldStash{}, nil
	v.chains, v.toolsChain = [sets]digest.Chain[adk.Digest]{}, digest.Chain[adk.Digest]{}
}

// beginning returns the view at the beginning of a run (RUN-7): what the first crossing carries.
func (f *Fold) beginning(x *adk.Crossing) *View {
	v := f.view()
	v.SystemPrompt = adk.NewTokenizable(x.Text)
	for _, text := range x.Texts {
		v.Sets[0].Add(text, adk.NewTokenizable(text))
	}
	for _, record := range x.Records {
		if tool, ok := record.(*adk.Tool); ok {
			v.Tools.Add(tool.Key(), tool)
			continue
		}
		for i, set := range SetOrder { // a standalone dispatch is given records too
			if set.Kind == record.RecordKind() {
				v.Sets[i].Add(record.Key(), record)
			}
		}
	}
	if tree, ok := x.Value.(map[string]any); ok && len(tree) > 0 {
		v.Values.Tree = tidied(tree)
		v.Values.sum = stash.SumOf(v.Values.Tree)
	}
	return v
}

// copyOf returns the view at the beginning of a dispatch: a copy of v (DSP-9, STA-6).
func (f *Fold) copyOf(v *View) *View {
	c := f.view()
	c.SystemPrompt = v.SystemPrompt
	for i := range v.Sets {
		c.Sets[i].CopyFrom(&v.Sets[i])
		c.chains[i] = v.chains[i].Copy()
	}
	c.Tools.CopyFrom(&v.Tools)
	c.toolsChain = v.toolsChain.Copy()
	c.Values = v.Values.copyOf()
	return c
}

// release frees what a dispatch saw, except its prompt, when it is over.
func (v *View) release() {
	prompt := v.SystemPrompt
	v.clear()
	v.SystemPrompt = prompt
}

// Prompt returns the system prompt.
func (v *View) Prompt() string { return v.SystemPrompt.String() }

// Records returns the records of one collection, in order, in a new slice. The tools are a
// collection too.
func (v *View) Records(of adk.CollectionName) []adk.Record {
	if of == adk.Tools {
		all := make([]adk.Record, 0, v.Tools.Len())
		for tool := range v.Tools.Values() {
			all = append(all, tool)
		}
		return all
	}
	if at := SetIndex(of); at >= 0 {
		return v.Sets[at].All()
	}
	return nil
}

// Len returns the number of records of a collection.
func (v *View) Len(of adk.CollectionName) int {
	if of == adk.Tools {
		return v.Tools.Len()
	}
	if at := SetIndex(of); at >= 0 {
		return v.Sets[at].Len()
	}
	return 0
}

// At returns the record of a collection at an index from 0 to Len-1.
func (v *View) At(of adk.CollectionName, place int) adk.Record {
	if of == adk.Tools {
		return v.Tools.At(place)
	}
	return v.Sets[SetIndex(of)].At(place)
}

// StashKeys returns the dot-paths of the stash's leaves, sorted (STA-1).
func (v *View) StashKeys() []string {
	keys := stash.Leaves(v.Values.Tree)
	slices.Sort(keys)
	return keys
}

// Stash returns a copy of the stash's nested tree, or nil if there is none.
func (v *View) Stash() map[string]any {
	if v.Values.Tree == nil {
		return nil
	}
	return plain.Copy(v.Values.Tree).(map[string]any)
}

// Digest returns the digest of everything in the view (DET-8). Its cost depends only on what has
// changed since the last call.
func (v *View) Digest() adk.Digest {
	lists := digest.Begin(v.SystemPrompt.Digest())
	for i := range v.Sets {
		digest.AddSet(lists, SetOrder[i].Mark, &v.Sets[i], &v.chains[i], adk.Record.Digest)
	}
	digest.AddSet(lists, adk.Digest{}, &v.Tools, &v.toolsChain, (*adk.Tool).Digest)
	return lists.End(v.Values.sum.Digest())
}

// FormerDigest returns the digest as traces of format 4 and older have it. Its cost depends on the
// size of the whole view.
func (v *View) FormerDigest() adk.Digest {
	if v.former == nil {
		v.former = &formerLists{}
	}
	lists, stash := digest.Begin(v.SystemPrompt.Digest()), adk.Digest{}
	for i := range v.Sets {
		lists.AddFormer(SetOrder[i].Mark, v.former.sets[i].Of(&v.Sets[i], adk.Record.Digest))
	}
	lists.AddFormer(adk.Digest{}, v.former.tools.Of(&v.Tools, (*adk.Tool).Digest))
	if len(v.Values.Tree) > 0 {
		stash = adk.DigestOf(plain.AppendJSON(nil, v.Values.Tree))
	}
	return lists.End(stash)
}

// StateDigest returns the digests of everything in the view, in order (DET-8).
func (v *View) StateDigest() adk.StateDigest {
	s := adk.StateDigest{Prompt: v.SystemPrompt.Digest(), Stash: v.Values.sum.Digest()}
	for i, set := range SetOrder {
		*s.Of(set.Of) = digestsOf(&v.Sets[i])
	}
	*s.Of(adk.Tools) = digestsOf(&v.Tools)
	return s
}

func digestsOf[V adk.Record](set *ordered.Set[string, V]) (all []adk.Digest) {
	for record := range set.Values() {
		all = append(all, record.Digest())
	}
	return all
}

// fault returns why a change is not valid for an operation of its kind, or nil.
func (change foldDelta) fault(kind adk.Kind) error {
	at := SetIndex(change.of)
	switch {
	case at < 0:
		return fmt.Errorf("there is no set %q", change.of)
	case kind.Names(adk.RecordID):
		if change.record != nil {
			return fmt.Errorf("carries a record and not a key")
		}
	case change.record == nil || change.record.RecordKind() != SetOrder[at].Kind:
		return fmt.Errorf("carries no record of %s", change.of)
	}
	return nil
}

// change makes a change of a set, and reports whether there was a record with the key before
// (RUN-12, DEL-4).
func (v *View) change(change foldDelta) (was bool) {
	at := SetIndex(change.of)
	if at < 0 {
		return false
	}
	if change.record != nil {
		return v.Sets[at].Add(change.record.Key(), change.record)
	}
	_, was = v.Sets[at].Remove(change.key)
	return was
}

// edit applies an add or a remove operation of user code (RUN-13).
func (v *View) edit(x *adk.Crossing) error {
	change := foldDelta{of: x.Collection, record: x.Record, key: x.Key}
	if err := change.fault(x.Kind); err != nil || x.Err != nil {
		return err
	}
	if was := v.change(change); was != x.Flag {
		return fmt.Errorf("says %t of whether the key was in %s before, and it is %t", x.Flag, x.Collection, was)
	}
	return nil
}

// editTools applies a change of the tool registry (TOL-6).
func (v *View) editTools(x *adk.Crossing) error {
	if x.Err != nil {
		return nil
	}
	switch x.Kind {
	case adk.KindUnregister:
		if _, was := v.Tools.Remove(x.Name); was != x.Flag {
			return fmt.Errorf("says %t of whether there was a tool %q, and it is %t", x.Flag, x.Name, was)
		}
	case adk.KindPrune:
		if pruned := v.prune(); !slices.Equal(pruned, x.Texts) {
			return fmt.Errorf("says that %q were pruned, and the ephemeral ones are %q", x.Texts, pruned)
		}
	case adk.KindRegister:
		tool, ok := x.Record.(*adk.Tool)
		if !ok {
			return fmt.Errorf("carries no tool")
		}
		if v.Tools.Add(tool.Key(), tool) && !x.Flag {
			return fmt.Errorf("tool %q was there, and nobody asked to overwrite it", tool.Key())
		}
	}
	return nil
}

// prune removes the ephemeral tools and returns their names, in order.
func (v *View) prune() (pruned []string) {
	for tool := range v.Tools.Values() {
		if tool.Ephemeral() {
			pruned = append(pruned, tool.Key())
		}
	}
	for _, name := range pruned {
		v.Tools.Remove(name)
	}
	return pruned
}

// foldStash is a nested tree of plain data (STA). A map[string]any is a branch; everything else is
// a leaf.
type foldStash struct {
	Tree map[string]any
	sum  stash.Sum
	// shared says that a copy shares branches of the tree. Then no branch may be changed in place,
	// except those in own, by their addresses.
	shared bool
	own    map[uintptr]bool
}

func (s *foldStash) copyOf() foldStash {
	s.shared, s.own = true, nil
	return *s
}

// changeable returns a branch that no copy shares: the branch itself, a clone of it, or a new one
// if it is nil.
func (s *foldStash) changeable(branch map[string]any) map[string]any {
	switch {
	case branch == nil:
		branch = map[string]any{}
	case !s.shared || s.own[reflect.ValueOf(branch).Pointer()]:
		return branch
	default:
		branch = maps.Clone(branch)
	}
	if s.shared {
		if s.own == nil {
			s.own = map[uintptr]bool{}
		}
		s.own[reflect.ValueOf(branch).Pointer()] = true
	}
	return branch
}

// set sets the value at a dot-path; nil removes what is there (STA-1 to STA-5).
func (s *foldStash) set(path string, value any) error {
	return s.sum.Follow(&s.Tree, path, func() error { return s.put(path, value) })
}

func (s *foldStash) put(path string, value any) error {
	s.Tree = s.changeable(s.Tree)
	node := s.Tree
	above, last := splitPath(path)
	for _, segment := range above {
		child, there := node[segment]
		branch, ok := child.(map[string]any)
		switch {
		case there && !ok:
			return fmt.Errorf("path %q leads below %q, which is a leaf (STA-4)", path, segment)
		case !there && value == nil:
			return nil // there is nothing to remove
		}
		branch = s.changeable(branch)
		node[segment] = branch
		node = branch
	}
	switch v := value.(type) {
	case nil:
		delete(node, last)
	case map[string]any:
		node[last] = tidied(v)
	default:
		node[last] = plain.Copy(value)
	}
	return nil
}

func splitPath(path string) (above []string, last string) {
	segments := strings.Split(path, ".")
	return segments[:len(segments)-1], segments[len(segments)-1]
}

// tidied returns a deep copy of a tree without nil values, because setting nil deletes (STA-2).
func tidied(tree map[string]any) map[string]any {
	copied := make(map[string]any, len(tree))
	for name, value := range tree {
		switch v := value.(type) {
		case nil:
		case map[string]any:
			copied[name] = tidied(v)
		default:
			copied[name] = plain.Copy(v)
		}
	}
	return copied
}
