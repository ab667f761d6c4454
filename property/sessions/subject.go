package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	journals "github.com/adkreplay/adkreplay/replay/sessions"
)

// Subject is code that runs sessions, and that can be run again and again.
type Subject struct {
	// Name is its name in reports.
	Name string
	// Open makes what one run of a schedule needs, anew: a store, a storage and whatever else
	// outlives a process.
	Open func() Instance
	// Deliveries are sent in the order of their numbers in schedules. They also come again, to
	// another session and to another tenant. Required.
	Deliveries []session.Delivery
	// Erases makes schedules erase sessions too. A check must then expect that.
	Erases bool
	// Check is called for every run, in addition to the invariants, at the end, when all deliveries
	// are settled. An error is a violation.
	Check func(Run) error

	// mutant wraps the store of a host, for tests of the explorer. told reports an outcome as the
	// host would.
	mutant func(s session.Store, told func(session.Outcome)) session.Store
}

// Release makes the config of a host of one release of a program. host returns that host once it is
// made, for turns that delegate.
//
// The explorer sets clock, ids, name and NoWait, and a Lease of a minute if there is none. It also
// calls the Probe, Journal and Notify of the config.
type Release func(host func() *session.Host) session.Config

// Instance is what one run has for itself.
type Instance struct {
	// Releases make the config of a host, one for each release of the program, the oldest first.
	// One is enough. Each is called once for each process. What the configs share is what processes
	// share: the store and the storage, but no locks and no variables.
	Releases []Release
	// Check is called for this run in addition to Subject.Check. It may look into what Open has
	// made for the run.
	Check func(Run) error
	// Close is called once, when the run is over and was judged, but not if the run hangs. It may
	// be nil.
	Close func()
}

// Run is a run that is over: all faults have stopped, and every delivery that can be settled is.
type Run struct {
	Schedule Schedule
	// Host is a host of the newest release, for State and History.
	Host *session.Host
	// Storage is the agent's storage. Use Scope to look into it.
	Storage adk.Storage
	// Sessions are those that have accepted a delivery and were not erased, in the order in which
	// they began.
	Sessions []session.SessionID
	// Outcomes are what Notify received, in order.
	Outcomes []session.Outcome
	// Journal has the steps of all processes, in order.
	Journal *journals.Journal
}

// Scope returns the scope in which the records of a session are fetched.
func (r Run) Scope(id session.SessionID) adk.Scope { return storage.Partition(id).Scope() }

// Values returns the final values of a session, by key.
func (r Run) Values(id session.SessionID) (map[string]json.RawMessage, error) {
	state, err := r.Host.State(context.Background(), id.Tenant, id.Session)
	values := map[string]json.RawMessage{}
	for _, key := range state.Keys {
		values[key.Name] = key.Value
	}
	return values, err
}

// Validate returns an error if the subject cannot be run.
func (s Subject) Validate() error {
	if s.Open == nil {
		return errors.New("the subject has no Open: it makes what one run needs")
	}
	if len(s.Deliveries) == 0 {
		return fmt.Errorf("%s has no Deliveries: they are what is sent", s.Name)
	}
	for i, d := range s.Deliveries {
		if err := d.Check(); err != nil {
			return fmt.Errorf("%s: delivery %d: %w", s.Name, i+1, err)
		}
	}
	i := s.Open()
	defer i.close()
	if len(i.Releases) == 0 {
		return fmt.Errorf("%s: Open gives no Releases: they make the config of a host", s.Name)
	}
	for n, release := range i.Releases {
		if _, err := session.NewHost(release(func() *session.Host { return nil })); err != nil {
			return fmt.Errorf("%s: release %d: %w", s.Name, n+1, err)
		}
	}
	return nil
}

func (i Instance) close() {
	if i.Close != nil {
		i.Close()
	}
}

// sent returns a delivery as an action sends it.
func (s Subject) sent(a Action) session.Delivery {
	d := s.Deliveries[a.Arg-1]
	switch a.Verb {
	case ToSession:
		d.Session += "-second"
	case ToTenant:
		d.Tenant += "-other"
	case OtherPayload:
		d.Payload, _ = json.Marshal(map[string]json.RawMessage{"another": d.Payload})
	case OtherChannel:
		d.ID += "-moved"
		state := d.ChannelState
		if len(state) == 0 {
			state = json.RawMessage("null")
		}
		d.ChannelState, _ = json.Marshal(map[string]json.RawMessage{"another": state})
	}
	return d
}
