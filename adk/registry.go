package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/digest"
	"github.com/adkreplay/adkreplay/internal/ordered"
	"github.com/adkreplay/adkreplay/internal/schema"
)

// Registry holds tools by name, in the order they were registered (TOL-6). The
// zero Registry is empty and ready to use; a Registry must not be copied. Safe
// for concurrent use.
type Registry struct{ tools ordered.Shared[string, *Tool] }

// NewRegistry makes a registry of the tools, in their order. Two of one name
// are E_TOOL_ALREADY_REGISTERED, one that NewTool did not make is E_INVALID_INITIAL_TOOL_VALUE.
func NewRegistry(tools ...*Tool) (*Registry, error) {
	r := &Registry{}
	for _, tool := range tools {
		if err := r.Register(tool); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Register adds a tool at the end. A name that is taken is
// E_TOOL_ALREADY_REGISTERED, whatever the tool's own policy says: that policy
// is for merging (TOL-6, TOL-7).
func (r *Registry) Register(tool *Tool) error {
	if !made(tool) {
		return errNoTool()
	}
	if !r.tools.AddNew(tool.Name(), tool) {
		return errToolTaken(tool.Name())
	}
	return nil
}

// Replace registers a tool over one of its name, which keeps its place in the
// order; with no such tool it adds it at the end (TOL-6). Only a tool that NewTool did not
// make fails.
func (r *Registry) Replace(tool *Tool) error {
	if !made(tool) {
		return errNoTool()
	}
	r.tools.Add(tool.Name(), tool)
	return nil
}

// Unregister removes the tool of that name and reports whether there was one.
func (r *Registry) Unregister(name string) bool { return r.tools.Remove(name) }

// Get gives the tool of that name and whether there is one.
func (r *Registry) Get(name string) (*Tool, bool) { return r.tools.Get(name) }

// Has reports whether there is a tool of that name.
func (r *Registry) Has(name string) bool { _, ok := r.Get(name); return ok }

// Len is the number of tools.
func (r *Registry) Len() int { return r.tools.Len() }

// All gives the tools in registration order, as a slice of the caller's own.
func (r *Registry) All() []*Tool { return r.tools.All() }

// PruneEphemeral removes the ephemeral tools in one step and gives their names
// in registration order (TOL-6).
func (r *Registry) PruneEphemeral() []string {
	return r.tools.Prune((*Tool).Name, (*Tool).Ephemeral)
}

// Bind prunes the registry's ephemeral tools when the dispatch is acked, and only
// then (TOL-8). It returns what undoes the binding, or the error of
// DispatchContext.OnAck. It is for a registry of the caller's own, one that
// outlives the dispatch for instance: no crossing tells what becomes of its tools.
// Those of a context are bound by ToolSet.Bind.
func (r *Registry) Bind(dc *DispatchContext) (unbind func(), err error) {
	if dc == nil || dc.call == nil {
		return nil, errors.New("adk: Bind to a context of no dispatch: give the one that a seam call was given")
	}
	return dc.OnAck("prune-registry", func(context.Context, *DispatchContext) { r.PruneEphemeral() })
}

// MergeRegistries makes a new registry of the tools of all, left to right, and
// changes none of them; a nil registry is an empty one (TOL-7). Where a name
// comes a second time, the incoming tool's own policy decides; where that is
// CollisionThrow, onClash does, and where that is neither CollisionReplace nor
// CollisionKeep, the merge fails with E_TOOL_ALREADY_REGISTERED naming every
// name that clashed so. A tool that replaces takes the other's place in the
// order.
func MergeRegistries(onClash Collision, registries ...*Registry) (*Registry, error) {
	merged := &Registry{}
	var clashes []string
	for _, registry := range registries {
		if registry == nil {
			continue
		}
		for _, tool := range registry.All() {
			if !merged.admit(tool, onClash) {
				clashes = append(clashes, tool.Name())
			}
		}
	}
	if len(clashes) > 0 {
		slices.Sort(clashes)
		return nil, errToolTaken(slices.Compact(clashes)...)
	}
	return merged, nil
}

// admit takes an incoming tool into a merge and reports whether the policies
// allowed a decision.
func (r *Registry) admit(tool *Tool, onClash Collision) bool {
	policy := tool.OnCollision()
	if policy == CollisionThrow {
		policy = onClash
	}
	switch {
	case !r.Has(tool.Name()) || policy == CollisionReplace:
		r.tools.Add(tool.Name(), tool)
	case policy != CollisionKeep:
		return false
	}
	return true
}

func errNoTool() error {
	return &Error{Code: E_INVALID_INITIAL_TOOL_VALUE, Message: "the tool is nil or zero: a registry takes what NewTool made"}
}

func errToolTaken(names ...string) error {
	quoted := each(names, func(name string) string { return fmt.Sprintf("%q", schema.Clip(name)) })
	return &Error{
		Code:    E_TOOL_ALREADY_REGISTERED,
		Message: "registered already: " + strings.Join(quoted, ", ") + "; rename, use Replace, or set a collision policy",
	}
}

// addTo adds the digests of the tools to those of a state.
func (r *Registry) addTo(lists digest.Lists[Digest], chain *digest.Chain[Digest]) {
	r.tools.Read(func(tools *ordered.Set[string, *Tool]) { digest.AddSet(lists, Digest{}, tools, chain, (*Tool).Digest) })
}
