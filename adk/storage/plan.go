package storage

import (
	"context"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/storages"
)

// Plan says what a storage that New made would do, without doing it: it is for who keeps
// writes back until a turn has succeeded, as package session does.
type Plan struct{ keeper *keeper }

// PlanOf is the plan of a storage; ok is false where New has not made its records'
// obligations. Those of tools may be another's.
func PlanOf(s adk.Storage) (p Plan, ok bool) {
	made, ok := storages.Made(s).(*keeper)
	return Plan{made}, ok
}

// Rows are what the storage keeps its rows in.
func (p Plan) Rows() Rows { return p.keeper.rows }

// Change is what a store or a mutate of a record would write or, where that is nil, a
// delete of the key. The errors are those of the obligation.
func (p Plan) Change(scope adk.Scope, of adk.CollectionName, verb adk.Kind, record adk.Record, key string) (Change, error) {
	return p.keeper.change(scope, of, verb, record, key)
}

// Shared reports whether all sessions of a tenant share a collection.
func (p Plan) Shared(of adk.CollectionName) bool { return p.keeper.config.shared(of) }

// Strict reports whether the storage refuses a turn whose stash has no tenant or no session.
// It does not where a Config.Partition of one's own says whose turn it is.
func (p Plan) Strict() bool {
	c := p.keeper.config
	return c.Partition == nil && c.Strict != nil && *c.Strict
}

// Limit is how many records a fetch of the collection gives at most; 0 is all.
func (p Plan) Limit(of adk.CollectionName) int { return p.keeper.config.Limit[of] }

// Last are the last so many records of a collection, whatever its limit, or all where last is
// 0. The errors are those of the obligation.
func (p Plan) Last(ctx context.Context, scope adk.Scope, of adk.CollectionName, last int) ([]adk.Record, error) {
	return p.keeper.fetch(ctx, scope, of, last)
}

// Unlimited is the storage without its limits.
func (p Plan) Unlimited() adk.Storage {
	all := *p.keeper
	all.config.Limit = nil
	return storages.Of(&all)
}
