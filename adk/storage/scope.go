package storage

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/stash"
)

// Scope returns the scope for calling obligations outside of turns, for example to store what a
// user has said before the turn that answers it, or to show a session. Its stash has the names that
// are not empty, at the places where a config without a Partition looks for them, and nothing else.
// It belongs to no turn and no dispatch.
func (p Partition) Scope() adk.Scope {
	var names names
	for path, name := range map[string]string{StashTenant: p.Tenant, StashSession: p.Session} {
		if name != "" {
			_ = names.tree.Set(path, name) // cannot fail: the value is a text, and the tree is empty otherwise
		}
	}
	return adk.Scope{Stash: &names}
}

// names is a stash with the names of a partition. It is never changed.
type names struct{ tree stash.Tree }

func (n *names) Get(path string, fallback any) any {
	if value, found := n.tree.Find(path); found {
		return plain.Copy(value)
	}
	return fallback
}

func (n *names) Has(path string) bool { return n.Get(path, nil) != nil }
func (n *names) Keys() []string       { return n.tree.Keys() }

func (n *names) All() map[string]any {
	if root := n.tree.Root(); root != nil {
		return plain.Copy(root).(map[string]any)
	}
	return map[string]any{}
}
