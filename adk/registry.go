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

// Registry holds tools by name, in the order in which they were registered (TOL-6). The zero
// Registry is empty and ready to use. A Registry must not be copied. It is safe for concurrent use.
type Registry struct{ tools ordered.Shared[string, *Tool] }

// NewRegistry makes a registry of the tools, in their order. Two tools of the same name are
// E_TOOL_ALREADY_REGISTERED; a tool that NewTool did not make is E_INVALID_INITIAL_TOOL_VALUE.
func NewRegistry(tools ...*Tool) (*Registry, error) {
	r := &Registry{}
	for _, tool := range tools {
		if err := r.Register(tool); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Register adds a tool at the end. A name that is taken is E_TOOL_ALREADY_REGISTERED, whatever the
// tool's collision policy says: that policy is for merging (TOL-6, TOL-7).
func (r *Registry) Register(tool *Tool) error {
	if !made(tool) {
		return errNoTool()
	}
	if !r.tools.AddNew(tool.Name(), tool) {
		return errToolTaken(tool.Name())
	}
	return nil
}

// Replace registers a tool in the place of the one with its name, or at the end if there is none
// (TOL-6). It fails only for a tool that NewTool did not make.
func (r *Registry) Replace(tool *Tool) error {
	if !made(tool) {
		return errNoTool()
	}
	r.tools.Add(tool.Name(), tool)
	return nil
}

// Unregister removes the tool of that name and reports whether there was one.
func (r *Registry) Unregister(name string) bool { return r.tools.Remove(name) }

// Get returns the tool of that name, and whether there is one.
func (r *Registry) Get(name string) (*Tool, bool) { return r.tools.Get(name) }

// Has reports whether there is a tool of that name.
func (r *Registry) Has(name string) bool { _, ok := r.Get(name); return ok }

// Len returns the number of tools.
func (r *Registry) Len() int { return r.tools.Len() }

// All returns the tools in registration order, in a slice that the caller may change.
func (r *Registry) All() []*Tool { return r.tools.All() }

// PruneEphemeral removes the ephemeral tools in one step and returns their names in registration
// order (TOL-6).
func (r *Registry) PruneEphemeral() []string {
	return r.tools.Prune((*Tool).Name, (*Tool).Ephemeral)
}

// Bind makes the registry prune its ephemeral tools when the dispatch is acked, and only then
// (TOL-8). It returns a function that undoes the binding, or the error of DispatchContext.OnAck. It
// is for a registry of the caller's own, for instance one that outlives the dispatch: no crossing
// shows what happens to its tools. To bind the tools of a context, use ToolSet.Bind.
func (r *Registry) Bind(dc *DispatchContext) (unbind func(), err error) {
	if dc == nil || dc.call == nil {
		return nil, errors.New("adk: Bind to a context of no dispatch: give the one that a seam call was given")
	}
	return dc.OnAck("prune-registry", func(context.Context, *DispatchContext) { r.PruneEphemeral() })
}

// MergeRegistries makes a new registry of all the tools, from left to right. It changes none of its
// arguments; a nil registry counts as empty (TOL-7). If a name occurs again, the incoming tool's
// own policy decides. If that is CollisionThrow, onClash decides. If that is neither
// CollisionReplace nor CollisionKeep, the merge fails with E_TOOL_ALREADY_REGISTERED, which names
// every name that clashed in this way. A tool that replaces another takes its place in the order.
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

// admit takes an incoming tool into a merge. It reports whether the policies decided the case.
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
