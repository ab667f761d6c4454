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

// Caller is a handle of a turn that delegates: a *adk.TurnContext or a *adk.DispatchContext.
type Caller interface {
	Stasher
	TurnID() string
	NewID() string
}

// Delegate has a delivery accepted together with the commit of the turn that asks for it,
// and never waits for it: Resume settles it, or whoever delivers it again. It gets a session
// and an id of its own, where d has none, the caller's tenant, the caller's delivery as its
// Parent, and the caller's initiator whatever d says (SES-14). Without an Auth it has the
// caller's. Errors are E_INVALID_DELIVERY and E_SESSION_OUTSIDE.
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

// State is a session as a viewer sees it: a copy. The auth of each delivery stands in it as it came,
// which is not for everybody who may see the session.
type State struct {
	SessionID
	Kind         string
	ChannelState json.RawMessage
	Revision     int64
	// Keys are those of all values, sorted.
	Keys []KeyState
	// Deliveries are the latest, the last one first; History gives the others.
	Deliveries []Accepted
}

// String says what is there, and none of the values, payloads and auths.
func (s State) String() string {
	names := make([]string, len(s.Keys))
	for i, key := range s.Keys {
		names[i] = key.Name
	}
	return fmt.Sprintf("%s: kind %.64q, revision %d, keys %q, the latest %d of its deliveries", s.SessionID, s.Kind, s.Revision, names, len(s.Deliveries))
}

// KeyState is a value of a session.
type KeyState struct {
	Name    string
	Version int
	// Size is the length of the value's JSON.
	Size int
	// Value is there for keys that the host knows.
	Value json.RawMessage
}

// shownDeliveries is how many deliveries a State has.
const shownDeliveries = 100

// State gives a session for viewers. One that is not there is the zero State with its name.
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

// History gives the deliveries of a session in pages: those whose Seq is below before, or
// the latest where that is 0, the last one first.
func (h *Host) History(ctx context.Context, p storage.Partition, before int64, limit int) ([]Accepted, error) {
	return h.config.Store.History(ctx, SessionID{p.Tenant, p.Session}, before, limit)
}

// Backlog gives how many deliveries are unsettled, and when the oldest of them was accepted.
func (h *Host) Backlog(ctx context.Context) (unsettled int, oldest time.Time, err error) {
	return h.config.Store.Backlog(ctx)
}

// Purge forgets deliveries that were settled before a time, and gives how many: an id that
// comes again after that is a new delivery.
func (h *Host) Purge(ctx context.Context, before time.Time) (purged int, err error) {
	return h.config.Store.Purge(ctx, before)
}

// EraseSession forgets a session: its values and deliveries, its records and, where
// Config.Wrap spools them, those of their bodies that artifact.Spooling deletes. That it was
// erased is kept, so that nothing of it comes again: a turn under way does not commit, and
// later deliveries are E_SESSION_ERASED. What that turn writes at once, with Direct, its host
// erases when it is over; where that is gone by then, who erases the session again does. The
// journal is told, for who keeps one. It can be called again where it failed. Nobody who asks
// the storage finds any of it; how long the bytes stay on its disk docs/sessions.md says.
func (h *Host) EraseSession(ctx context.Context, tenant, session string) error {
	id := SessionID{tenant, session}
	epoch, err := h.config.Store.Erase(ctx, id, asMillis(h.now()))
	if err != nil {
		return err
	}
	if err := h.eraseRecords(ctx, id, false); err != nil {
		return err
	}
	if epoch > 0 { // there was one
		h.tell(Step{Kind: StepErased, SessionID: id, Epoch: epoch})
	}
	return nil
}

// erasePage is how many sessions of a tenant are asked for at once.
const erasePage = 100

// EraseTenant forgets all sessions of a tenant, as EraseSession does, and the records that
// they share. It can be called again where it failed, or was interrupted: records of sessions
// that were erased before are looked for too. The name of the tenant is not kept from anybody: a
// session that begins under it afterwards is a new one, and so is what turns under way store in
// what the sessions share.
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

// eraseBehind deletes what a turn has written at once to a session that was erased meanwhile.
func (h *Host) eraseBehind(ctx context.Context, id SessionID) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	if _, found, err := h.config.Store.Look(ctx, id); found || err != nil {
		return err
	}
	return h.eraseRecords(ctx, id, false)
}

// eraseRecords deletes the records of a session, or those that its tenant shares.
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

// eraseAll deletes the records of a collection. A storage may give some of them at a time; one
// that deletes nothing ends it.
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
