package storage

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/stash"
)

// Scope is what obligations are called with from outside of turns: by who keeps what a user has
// said before the turn that answers it, or shows somebody a session. Its stash has the names where
// a config without a Partition of its own looks for them, those that are not empty, and nothing
// else; it is of no turn and of no dispatch.
func (p Partition) Scope() adk.Scope {
	var names names
	for path, name := range map[string]string{StashTenant: p.Tenant, StashSession: p.Session} {
		if name != "" {
			_ = names.tree.Set(path, name) // a text fits, and nothing else is there
		}
	}
	return adk.Scope{Stash: &names}
}

// names is a stash with the names of a partition. Nobody changes it.
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
