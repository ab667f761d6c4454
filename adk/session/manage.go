package session

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/internal/storages"
)

// Caller is the handle of a turn that delegates: a *adk.TurnContext or a *adk.DispatchContext.
type Caller interface {
	Stasher
	TurnID() string
	NewID() string
}

// Delegate makes the commit of the calling turn accept a delivery too, and does not wait for it:
// Resume settles the delivery, or a later Deliver of the same. If d has no Session or no ID, it
// gets new ones; without a Tenant or an Auth it gets the caller's. Its Parent is the caller's
// delivery and its Initiator the caller's, whatever d says (SES-14). Errors are E_INVALID_DELIVERY,
// also for another tenant or for the caller's own session, and E_SESSION_OUTSIDE.
func (h *Host) Delegate(from Caller, d Delivery) (DeliveryID, error) {
	seed, err := SeedOf(from)
	if err != nil {
		return DeliveryID{}, err
	}
	if d.Session == "" {
		d.Session = from.NewID()
	}
	if d.ID == "" {
		d.ID = from.NewID()
	}
	if d.Tenant == "" {
		d.Tenant = seed.Tenant
	}
	if len(d.Auth) == 0 {
		d.Auth = seed.Auth
	}
	d.Initiator, d.Parent = seed.Initiator, DeliveryID{SessionID{seed.Tenant, seed.Session}, seed.Delivery}
	f := faults{code: adk.E_INVALID_DELIVERY}
	if d.Tenant != seed.Tenant {
		f.add("Tenant", "is another than the caller's")
	}
	if d.Session == seed.Session {
		f.add("Session", "is the caller's, want one of its own")
	}
	if err := f.err(); err != nil {
		return DeliveryID{}, err
	}
	if err := d.Check(); err != nil {
		return DeliveryID{}, err
	}
	h.mu.Lock()
	t := h.turns[from.TurnID()]
	h.mu.Unlock()
	if t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.children = append(t.children, d)
	}
	return d.DeliveryID(), nil
}

// State is a copy of a session for viewers. It includes the auth of each delivery as it came, which
// not everybody who may see the session should see.
type State struct {
	SessionID
	Kind         string
	ChannelState json.RawMessage
	Revision     int64
	// Keys has all values, sorted by name.
	Keys []KeyState
	// Deliveries has the latest deliveries, the last one first; History returns the others.
	Deliveries []Accepted
}

// String describes the session without its values, payloads and auths.
func (s State) String() string {
	names := make([]string, len(s.Keys))
	for i, key := range s.Keys {
		names[i] = key.Name
	}
	return fmt.Sprintf("%s: kind %.64q, revision %d, keys %q, the latest %d of its deliveries", s.SessionID, s.Kind, s.Revision, names, len(s.Deliveries))
}

// KeyState describes a value of a session.
type KeyState struct {
	Name    string
	Version int
	// Size is the length in bytes of the value's JSON.
	Size int
	// Value is the value's JSON; nil for keys that the host does not know.
	Value json.RawMessage
}

// shownDeliveries is the greatest number of deliveries in a State.
const shownDeliveries = 100

// State returns a session for viewers. For an unknown session it returns a zero State with the
// name.
func (h *Host) State(ctx context.Context, tenant, session string) (State, error) {
	id := SessionID{tenant, session}
	state := State{SessionID: id}
	loaded, found, err := h.config.Store.Look(ctx, id)
	if err != nil || !found {
		return state, named(id, err)
	}
	state.Kind, state.ChannelState, state.Revision = loaded.Kind, loaded.ChannelState, loaded.Revision
	for _, name := range slices.Sorted(maps.Keys(loaded.Values)) {
		value := loaded.Values[name]
		key := KeyState{Name: name, Version: value.Version, Size: len(value.Body)}
		if h.keys[name] != nil {
			key.Value = slices.Clone(value.Body)
		}
		state.Keys = append(state.Keys, key)
	}
	state.Deliveries, err = h.config.Store.History(ctx, id, 0, shownDeliveries)
	return state, named(id, err)
}

// History returns a page of a session's deliveries, the last one first: those whose Seq is below
// before, or the latest ones if before is 0.
func (h *Host) History(ctx context.Context, p storage.Partition, before int64, limit int) ([]Accepted, error) {
	return h.config.Store.History(ctx, SessionID{p.Tenant, p.Session}, before, limit)
}

// Backlog returns how many deliveries are unsettled, and when the oldest of them was accepted.
func (h *Host) Backlog(ctx context.Context) (unsettled int, oldest time.Time, err error) {
	return h.config.Store.Backlog(ctx)
}

// Purge deletes deliveries that were settled before a time, and returns how many. If the id of such
// a delivery comes again, it counts as a new delivery.
func (h *Host) Purge(ctx context.Context, before time.Time) (purged int, err error) {
	return h.config.Store.Purge(ctx, before)
}

// EraseSession deletes a session: its values, deliveries and records, and those spooled bodies that
// artifact.Spooling deletes, if Config.Wrap spools. The store keeps the fact of the erasure, so
// that the session does not come back: a turn under way does not commit, and later deliveries fail
// with E_SESSION_ERASED. If such a turn writes at once (Direct), its host deletes those records
// when the turn ends; if that host is gone by then, erase the session again. The journal gets a
// step. EraseSession may be called again after an error. Afterwards no query to the storage finds
// anything of the session; docs/sessions.md says how long the bytes stay on disk.
func (h *Host) EraseSession(ctx context.Context, tenant, session string) error {
	id := SessionID{tenant, session}
	epoch, err := h.config.Store.Erase(ctx, id, asMillis(h.now()))
	if err != nil {
		return err
	}
	if err := h.eraseRecords(ctx, id, false); err != nil {
		return err
	}
	if epoch > 0 { // the session existed
		h.tell(Step{Kind: StepErased, SessionID: id, Epoch: epoch})
	}
	return nil
}

// erasePage is how many sessions of a tenant the host reads from the store at a time.
const erasePage = 100

// EraseTenant erases all sessions of a tenant, as EraseSession does, and the records that they
// share. It may be called again after an error or an interruption, because it also looks for
// records of sessions that were erased before. The tenant's name stays usable: a later session
// under that name is a new one. What turns under way store in the shared collections afterwards
// stays, too.
func (h *Host) EraseTenant(ctx context.Context, tenant string) error {
	erased := map[SessionID]bool{}
	erase := func(page []SessionID) error {
		for _, id := range page {
			if erased[id] {
				continue
			}
			if err := h.EraseSession(ctx, id.Tenant, id.Session); err != nil {
				return err
			}
			erased[id] = true
		}
		return nil
	}
	for {
		page, err := h.config.Store.Sessions(ctx, tenant, "", erasePage)
		if err == nil {
			err = erase(page)
		}
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
	}
	for after := ""; ; {
		page, err := h.config.Store.Erased(ctx, tenant, after, erasePage)
		if err == nil {
			err = erase(page)
		}
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		after = page[len(page)-1].Session
	}
	return h.eraseRecords(ctx, SessionID{tenant, "-"}, true)
}

// eraseBehind deletes what a turn wrote at once to a session that was erased meanwhile.
func (h *Host) eraseBehind(ctx context.Context, id SessionID) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	if _, found, err := h.config.Store.Look(ctx, id); found || err != nil {
		return err
	}
	return h.eraseRecords(ctx, id, false)
}

// eraseRecords deletes the records of a session or, if shared is set, those that its tenant shares.
func (h *Host) eraseRecords(ctx context.Context, id SessionID, shared bool) error {
	s := h.config.Agent.Storage
	if h.planned {
		tools := s.Tools
		s = h.plan.Unlimited()
		s.Tools = tools
	}
	if h.config.Wrap != nil {
		s = h.config.Wrap(s)
	}
	scope := storage.Partition(id).Scope()
	for of, obligations := range storages.Each(s) {
		if of == adk.Tools || h.shares(of) != shared {
			continue
		}
		if err := eraseAll(ctx, scope, of, obligations); err != nil {
			return fmt.Errorf("session: erasing %s: %w", of, err)
		}
	}
	return nil
}

// eraseAll deletes the records of a collection. A storage may return only some of them at a time,
// so eraseAll fetches until none is left, or until a fetch begins with the same record as the one
// before.
func eraseAll(ctx context.Context, scope adk.Scope, of adk.CollectionName, obligations storages.Obligations) error {
	for first := ""; ; {
		records, err := obligations.Fetch(ctx, scope, of)
		if err != nil || len(records) == 0 || records[0].Key() == first {
			return err
		}
		first = records[0].Key()
		for _, record := range records {
			if err := storages.Delete(ctx, obligations, scope, of, record.Key()); err != nil {
				return err
			}
		}
	}
}

// shares reports whether the sessions of a tenant share a collection.
func (h *Host) shares(of adk.CollectionName) bool {
	if h.planned {
		return h.plan.Shared(of)
	}
	return storages.OutlivesSession(of)
}
