package session

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/internal/ordered"
	"github.com/adkreplay/adkreplay/internal/stash"
	"github.com/adkreplay/adkreplay/internal/storages"
)

// stage is the storage as the turns of a host see it. It keeps back what they write until the
// commit, and shows it to the turn as if it had been written (SES-23). The partition is always that
// of the turn's session, whatever the turn does to its stash.
type stage struct {
	host  *Host
	inner map[adk.CollectionName]storages.Obligations
}

func newStage(h *Host, of adk.Storage) *stage { return &stage{h, storages.Each(of)} }

// Fetch returns the stored records, with the turn's own kept-back writes applied to them.
func (s *stage) Fetch(ctx context.Context, scope adk.Scope, of adk.CollectionName) ([]adk.Record, error) {
	t, scope := s.host.seen(ctx, scope)
	writes := t.writesTo(of)
	if len(writes) == 0 {
		return s.inner[of].Fetch(ctx, scope, of)
	}
	if !s.host.planned || s.host.plan.Limit(of) == 0 {
		fetched, err := s.inner[of].Fetch(ctx, scope, of)
		if err != nil {
			return nil, err
		}
		return overlaid(fetched, writes, nil, 0), nil
	}
	return s.fetchLast(ctx, scope, of, writes)
}

// fetchLast is Fetch for a collection with a limit. It reads limit records, and one more for each
// that the turn has deleted.
func (s *stage) fetchLast(ctx context.Context, scope adk.Scope, of adk.CollectionName, writes []Write) ([]adk.Record, error) {
	limit, deleted := s.host.plan.Limit(of), map[string]bool{}
	for _, w := range writes {
		if w.record == nil {
			deleted[w.Key] = true
		}
	}
	most := limit + len(deleted)
	fetched, err := s.host.plan.Last(ctx, scope, of, most)
	var before map[storage.KeyHash]bool
	if err == nil && len(fetched) == most {
		before, err = s.before(ctx, fetched, writes)
	}
	if err != nil {
		return nil, err
	}
	return overlaid(fetched, writes, before, limit), nil
}

// before returns the keys of those writes whose records are stored, but ahead of the fetched ones.
func (s *stage) before(ctx context.Context, fetched []adk.Record, writes []Write) (map[storage.KeyHash]bool, error) {
	asked := map[storage.KeyHash]bool{}
	for _, w := range writes {
		asked[storage.HashOf(w.Key)] = true
	}
	for _, record := range fetched {
		delete(asked, storage.HashOf(record.Key()))
	}
	known, err := s.host.plan.Rows().Has(ctx, writes[0].Place, slices.Collect(maps.Keys(asked))...)
	before := make(map[storage.KeyHash]bool, len(known))
	for _, key := range known {
		before[key] = true
	}
	return before, err
}

// overlaid returns the records with the writes applied; if limit is above 0, the last limit of
// them. A replaced record whose key is in before lies ahead of the fetched ones; it keeps that
// place and is not part of the result.
func overlaid(fetched []adk.Record, writes []Write, before map[storage.KeyHash]bool, limit int) []adk.Record {
	var all ordered.Set[string, adk.Record]
	for _, record := range fetched {
		all.Add(record.Key(), record)
	}
	for _, w := range writes {
		switch key := storage.HashOf(w.Key); {
		case w.record == nil:
			all.Remove(w.Key)
			delete(before, key)
		case !before[key]:
			all.Add(w.Key, w.record)
		}
	}
	return all.Last(limit)
}

// Write keeps back a write until the commit. In a turn that no host has claimed, the write is never
// made.
func (s *stage) Write(ctx context.Context, scope adk.Scope, of adk.CollectionName, verb adk.Kind, record adk.Record, key string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t, scope := s.host.seen(ctx, scope)
	if t == nil || t.attempt != nil && s.host.writesAtOnce(of) {
		return s.inner[of].Write(ctx, scope, of, verb, record, key)
	}
	w, err := s.kept(t, scope, of, verb, record, key)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writes = append(t.writes, w)
	return nil
}

// Defers reports whether writes to a collection are kept back.
func (s *stage) Defers(of adk.CollectionName) bool { return !s.host.writesAtOnce(of) }

// Owner returns whose records a turn sees, as the storage behind the stage reports it.
func (s *stage) Owner(scope adk.Scope, of adk.CollectionName) (storages.Owner, error) {
	if owned, ok := s.inner[of].(storages.Owned); ok {
		return owned.Owner(scope, of)
	}
	return storages.Owner{}, nil
}

// FetchAll returns the records of a collection, and whether these are all. If the turn has kept
// back writes to it, the answer is false.
func (s *stage) FetchAll(ctx context.Context, scope adk.Scope, of adk.CollectionName) ([]adk.Record, bool, error) {
	t, pinned := s.host.seen(ctx, scope)
	if owned, ok := s.inner[of].(storages.Owned); ok && len(t.writesTo(of)) == 0 {
		return owned.FetchAll(ctx, pinned, of)
	}
	records, err := s.Fetch(ctx, scope, of)
	return records, false, err
}

// partitioned makes the storage that Config.Wrap returned see the partition of the turn's session,
// as the stage does.
type partitioned struct {
	host    *Host
	wrapped map[adk.CollectionName]storages.Obligations
}

func partitionedOf(h *Host, wrapped adk.Storage) adk.Storage {
	p := &partitioned{h, storages.Each(wrapped)}
	all := storages.Of(p)
	if len(p.wrapped) < len(storages.Each(all)) {
		return wrapped // incomplete, so NewRunner refuses it
	}
	return all
}

// Fetch fetches in the partition.
func (p *partitioned) Fetch(ctx context.Context, scope adk.Scope, of adk.CollectionName) ([]adk.Record, error) {
	_, scope = p.host.seen(ctx, scope)
	return p.wrapped[of].Fetch(ctx, scope, of)
}

// Write writes in the partition.
func (p *partitioned) Write(ctx context.Context, scope adk.Scope, of adk.CollectionName, verb adk.Kind, record adk.Record, key string) error {
	_, scope = p.host.seen(ctx, scope)
	return p.wrapped[of].Write(ctx, scope, of, verb, record, key)
}

// kept returns a write in the form in which it is kept back.
func (s *stage) kept(t *turn, scope adk.Scope, of adk.CollectionName, verb adk.Kind, record adk.Record, key string) (Write, error) {
	w := Write{Verb: verb.String(), Key: key, TurnID: scope.TurnID, DispatchID: scope.DispatchID, record: record}
	if s.host.planned {
		change, err := s.host.plan.Change(scope, of, verb, record, key)
		w.Place, w.Body, w.change = change.Place, change.Row.Body, change
		return w, err
	}
	w.Place.Collection = of
	if t.attempt != nil {
		w.Place.Partition = partitionOf(t.attempt.claim.SessionID)
	}
	if record == nil {
		return w, nil
	}
	body, err := record.MarshalJSON()
	w.Body = body
	return w, err
}

// seen returns the turn of a scope, or nil if it has none, and the scope with the partition of the
// turn's session.
func (h *Host) seen(ctx context.Context, scope adk.Scope) (*turn, adk.Scope) {
	if scope.TurnID == "" {
		return nil, scope
	}
	t := h.turnOf(ctx, scope.TurnID)
	if t.attempt != nil {
		scope.Stash = pinned{scope.Stash, t.attempt.claim.SessionID}
	}
	return t, scope
}

func (t *turn) writesTo(of adk.CollectionName) []Write {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.writes), func(w Write) bool { return w.Place.Collection != of })
}

// writesAtOnce reports whether writes to a collection are made at once and not kept back. If the
// store does not hold the records, that is so for collections that a tenant shares: a list that is
// applied late would replace what another session has written meanwhile.
func (h *Host) writesAtOnce(of adk.CollectionName) bool {
	if h.config.Persist == Direct {
		return true
	}
	return !h.held && h.shares(of)
}

// apply makes the writes of a committed delivery if the store does not hold the records. Making
// them twice changes nothing.
func (h *Host) apply(ctx context.Context, a Accepted) error {
	each := storages.Each(h.config.Agent.Storage)
	for _, w := range a.Writes {
		of := w.Place.Collection
		obligations, known := each[of]
		if !known || of.Holds() == adk.RecordTool {
			return fmt.Errorf("session: %s: a write to %.40q, which holds no records", a.DeliveryID(), of)
		}
		record, err := w.read()
		if err != nil {
			return fmt.Errorf("session: %s: %s %.64q: %w", a.DeliveryID(), of, w.Key, err)
		}
		scope := storage.Partition(a.SessionID()).Scope()
		scope.TurnID, scope.DispatchID = w.TurnID, w.DispatchID
		if err := contained(func() error { return obligations.Write(ctx, scope, of, adk.KindByName(w.Verb), record, w.Key) }); err != nil {
			return fmt.Errorf("session: %s: %s %.64q: %w", a.DeliveryID(), of, w.Key, err)
		}
	}
	return nil
}

// read returns the record of a write; nil for a delete.
func (w Write) read() (adk.Record, error) {
	if w.record != nil || len(w.Body) == 0 {
		return w.record, nil
	}
	var parser adk.RecordParser
	return parser.Parse(w.Place.Collection.Holds(), w.Body)
}

// pinned is a stash whose partition is fixed to that of a session.
type pinned struct {
	adk.StashReader
	id SessionID
}

func (p pinned) Get(path string, fallback any) any {
	if path != "storage" && !strings.HasPrefix(path, "storage.") {
		return p.StashReader.Get(path, fallback)
	}
	if value, found := stash.Find(p.All(), path); found {
		return value
	}
	return fallback
}

func (p pinned) Has(path string) bool { return p.Get(path, nil) != nil }

func (p pinned) Keys() []string {
	tree := stash.New(p.All())
	return tree.Keys()
}

func (p pinned) All() map[string]any {
	all := p.StashReader.All()
	if all == nil {
		all = map[string]any{}
	}
	below, ok := all["storage"].(map[string]any)
	if !ok {
		below = map[string]any{}
	}
	_, tenant, _ := cutLast(storage.StashTenant)
	_, session, _ := cutLast(storage.StashSession)
	below[tenant], below[session] = p.id.Tenant, p.id.Session
	all["storage"] = below
	return all
}

// recordsOf describes the writes of a commit for the journal.
func recordsOf(writes []Write) []string {
	texts := make([]string, len(writes))
	for i, w := range writes {
		texts[i] = fmt.Sprintf("%s.%s %s", w.Place.Collection, w.Verb, w.Key)
		if w.Body != nil {
			texts[i] += " " + digestOf(json.RawMessage(w.Body))[:16]
		}
	}
	return slices.Clip(texts)
}
