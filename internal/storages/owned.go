package storages

import (
	"context"

	"github.com/adkreplay/adkreplay/adk"
)

// Owned is of obligations that may know more of their records than a fetch gives: who keeps
// something beside records asks, before it forgets what a record has named.
type Owned interface {
	// Owner says whose the records of a collection are that a scope sees.
	Owner(scope adk.Scope, of adk.CollectionName) (Owner, error)
	// FetchAll gives all of them, also where Fetch gives the last alone, and reports whether
	// they are all.
	FetchAll(ctx context.Context, scope adk.Scope, of adk.CollectionName) (records []adk.Record, all bool, err error)
}

// Owner is whose records are seen: a session's or, where Session is empty, those that the
// sessions of a tenant share. One that is not Known has no names.
type Owner struct {
	Tenant, Session string
	Known           bool
}

// OwnerOf asks a collection; where Of did not make it, it does not know.
func OwnerOf[T adk.Record](c adk.Collection[T], scope adk.Scope) (Owner, error) {
	if c, ok := c.(*typed[T]); ok {
		if owned, ok := c.all.(Owned); ok {
			return owned.Owner(scope, c.of)
		}
	}
	return Owner{}, nil
}

// AllOf asks a collection; where Of did not make it, it gives what a fetch does.
func AllOf[T adk.Record](ctx context.Context, c adk.Collection[T], scope adk.Scope) (records []T, all bool, err error) {
	if c, ok := c.(*typed[T]); ok {
		if owned, ok := c.all.(Owned); ok {
			fetched, all, err := owned.FetchAll(ctx, scope, c.of)
			records, err = c.typed(fetched, err)
			return records, all, err
		}
	}
	records, err = c.Fetch(ctx, scope)
	return records, false, err
}

// Owner is that of the collection inside.
func (c *untyped[T]) Owner(scope adk.Scope, _ adk.CollectionName) (Owner, error) {
	return OwnerOf(c.inner, scope)
}

// FetchAll is that of the collection inside.
func (c *untyped[T]) FetchAll(ctx context.Context, scope adk.Scope, _ adk.CollectionName) ([]adk.Record, bool, error) {
	fetched, all, err := AllOf(ctx, c.inner, scope)
	records, err := anyOf(fetched, err)
	return records, all, err
}
