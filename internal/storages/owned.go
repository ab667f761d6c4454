package storages

import (
	"context"

	"github.com/adkreplay/adkreplay/adk"
)

// Owned is implemented by obligations that know more about their records than a fetch returns. Code
// that keeps something in addition to records asks it before it forgets what a record refers to.
type Owned interface {
	// Owner returns whose records of a collection a scope sees.
	Owner(scope adk.Scope, of adk.CollectionName) (Owner, error)
	// FetchAll returns all of them, even if Fetch returns only the latest, and reports whether they
	// are all.
	FetchAll(ctx context.Context, scope adk.Scope, of adk.CollectionName) (records []adk.Record, all bool, err error)
}

// Owner is whose records are seen: a session's or, if Session is empty, those that the sessions of
// a tenant share. An Owner that is not Known has no names.
type Owner struct {
	Tenant, Session string
	Known           bool
}

// OwnerOf returns the owner of a collection's records. The owner is unknown if Of did not make the
// collection.
func OwnerOf[T adk.Record](c adk.Collection[T], scope adk.Scope) (Owner, error) {
	if c, ok := c.(*typed[T]); ok {
		if owned, ok := c.all.(Owned); ok {
			return owned.Owner(scope, c.of)
		}
	}
	return Owner{}, nil
}

// AllOf returns all records of a collection. If Of did not make the collection, it returns what a
// fetch does.
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

// Owner returns the owner of the inner collection's records.
func (c *untyped[T]) Owner(scope adk.Scope, _ adk.CollectionName) (Owner, error) {
	return OwnerOf(c.inner, scope)
}

// FetchAll returns all records of the inner collection.
func (c *untyped[T]) FetchAll(ctx context.Context, scope adk.Scope, _ adk.CollectionName) ([]adk.Record, bool, error) {
	fetched, all, err := AllOf(ctx, c.inner, scope)
	records, err := anyOf(fetched, err)
	return records, all, err
}
