package storage

import (
	"context"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/storages"
)

// Plan says what a storage made by New would do, without doing it. It is for code that keeps writes
// back until a turn has succeeded, as package session does.
type Plan struct{ keeper *keeper }

// PlanOf returns the plan of a storage; ok is false if New did not make the obligations for its
// records. Those for tools may be others.
func PlanOf(s adk.Storage) (p Plan, ok bool) {
	made, ok := storages.Made(s).(*keeper)
	return Plan{made}, ok
}

// Rows returns the rows in which the storage keeps its records.
func (p Plan) Rows() Rows { return p.keeper.rows }

// Change returns what storing or mutating a record would write or, if record is nil, what deleting
// the key would write. Errors are those of the obligation.
func (p Plan) Change(scope adk.Scope, of adk.CollectionName, verb adk.Kind, record adk.Record, key string) (Change, error) {
	return p.keeper.change(scope, of, verb, record, key)
}

// Shared reports whether all sessions of a tenant share a collection.
func (p Plan) Shared(of adk.CollectionName) bool { return p.keeper.config.shared(of) }

// Strict reports whether the storage refuses a turn whose stash has no tenant or no session. It
// does not if Config.Partition is set, which then decides.
func (p Plan) Strict() bool {
	c := p.keeper.config
	return c.Partition == nil && c.Strict != nil && *c.Strict
}

// Limit returns how many records a fetch of the collection returns at most; 0 means all.
func (p Plan) Limit(of adk.CollectionName) int { return p.keeper.config.Limit[of] }

// Last returns the last records of a collection, whatever its limit, or all of them if last is 0.
// Errors are those of the obligation.
func (p Plan) Last(ctx context.Context, scope adk.Scope, of adk.CollectionName, last int) ([]adk.Record, error) {
	return p.keeper.fetch(ctx, scope, of, last)
}

// Unlimited returns the storage without its limits.
func (p Plan) Unlimited() adk.Storage {
	all := *p.keeper
	all.config.Limit = nil
	return storages.Of(&all)
}
