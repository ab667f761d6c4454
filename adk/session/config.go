package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/internal/storages"
)

// Channel turns payloads into records. The host makes a new one for each attempt, from the kind and
// the state that the session began with.
type Channel interface {
	// State returns the state that the channel was made from, which never changes (SES-18). Values
	// for authored code belong into a key.
	State() (json.RawMessage, error)
	// Deliver is called first in each turn. It sees the session's values and may set them; it adds
	// records and stores them. Its error ends the attempt but does not fail the delivery at once:
	// the delivery is tried again as long as Config.Attempts allows, whatever the error wraps.
	Deliver(ctx context.Context, tc *adk.TurnContext, d Delivery) error
}

// Provider makes values for a turn, which it usually keeps under a RuntimeKey.
type Provider interface {
	// Name is unique among the providers of a host, and has no dots.
	Name() string
	// Needs returns the names of the providers that have to come before this one.
	Needs() []string
	// Create is called once an attempt, with the provider's snapshot of the last commit, or nil if
	// there is none. active is false if the provider has nothing to do in this turn.
	Create(ctx context.Context, tc *adk.TurnContext, snapshot json.RawMessage) (active bool, err error)
}

// Committer is a Provider that keeps a snapshot of its own between turns. If the provider was
// active, the host asks it for the snapshot when turn output has ended: JSON of at most MaxSnapshot
// bytes. An empty result is not JSON and fails turn output: a provider that has nothing to keep
// returns null, or does not implement Committer.
type Committer interface {
	Commit(ctx context.Context, tc *adk.TurnContext) (snapshot json.RawMessage, err error)
}

// Persist says when the records that a turn stores are written.
type Persist string

// The ways to persist (SES-23). Staged, the zero value, writes with the commit, so that an attempt
// that fails leaves nothing. Direct writes at once, as the engine alone does.
const (
	Staged Persist = ""
	Direct Persist = "direct"
)

// Config holds all that a host is made from.
type Config struct {
	// Agent configures the runner of the turns; required. No name of its middlewares may begin with
	// "session-".
	Agent adk.Config
	// Store keeps the sessions; required.
	Store Store
	// Keys are the keys that the host's turns use. Values that a session holds under other keys are
	// kept, but no turn sees them.
	Keys []AnyKey
	// Channels has, for each kind of channel, the function that makes a channel from its stored
	// state; required.
	Channels map[string]func(state json.RawMessage) (Channel, error)
	// Providers are called in this order, after the channel.
	Providers []Provider
	// Prompt returns an attempt's prompt and standing instructions; required. With an empty prompt
	// the attempt fails with E_INVALID_TURN_CONTEXT.
	Prompt func(Seed) (prompt string, instructions []string, err error)
	// Listen returns the listeners of one attempt's turn, for streaming; optional.
	Listen func(Seed) (adk.Functional, adk.Observability)
	// Wrap wraps the storage as turns see it, outside of what the host keeps back until the commit;
	// it is for spools or encryption. Optional. It sees the partition of the session. Its effects
	// happen when the turn asks for them, even if the turn is not committed later; artifact.Sweep
	// removes the bodies that no record names then.
	Wrap func(adk.Storage) adk.Storage
	// Persist is Staged or Direct.
	Persist Persist
	// Name is the host's name in leases and journals; empty means a new id. No two running hosts
	// may have the same name.
	Name string
	// Lease is how long a session stays claimed after its host was last heard of; 0 means 15
	// minutes. While a turn runs, the host renews the lease every third of that time.
	Lease time.Duration
	// Attempts is how often a delivery is tried; 0 means 3. If the process ended during the last
	// attempt but one, the host runs nothing else in parallel with the last one.
	Attempts int
	// NoWait makes Deliver return E_SESSION_BUSY where it would wait: for what is under way in the
	// session, in this host or another one, or for a retry to be due.
	NoWait bool
	// Notify is called with the outcome of each delivery after it was settled: at least once, and
	// again until it returns nil. Code that sends messages therefore has to skip those of a
	// delivery that were sent already. The session counts as under way until Notify returns: a
	// Deliver to the same session from within it stores the delivery and returns E_SESSION_BUSY.
	// Optional.
	Notify func(ctx context.Context, o Outcome) error
	// Failed is called with the reason why an attempt failed, before the failure is stored. The
	// reason may lie in the turn or around it, for example if Prompt fails or the store refuses
	// what the turn has left. Unlike the journal, the error may hold parts of the turn's input. A
	// panic is ignored. Optional.
	Failed func(s Seed, why error)
	// Journal is called with each step, in order within a session; optional.
	Journal func(Step)
}

// The defaults of a Config.
const (
	defaultLease    = 15 * time.Minute
	defaultAttempts = 3
)

// The names of the host's own middlewares. No other middleware's name may begin with the prefix.
const (
	ownPrefix      = "session-"
	nameDeliver    = ownPrefix + "deliver"
	nameProvide    = ownPrefix + "provide"
	nameDispatch   = ownPrefix + "dispatch"
	nameDispatched = ownPrefix + "nested"
	nameMerge      = ownPrefix + "merge"
	nameCollect    = ownPrefix + "collect" // the on-ack handler
)

// NewHost makes a host. The error is E_INVALID_SESSION_CONFIG and lists every fault (SES-1).
func NewHost(c Config) (*Host, error) {
	c.Keys, c.Providers, c.Channels = slices.Clone(c.Keys), slices.Clone(c.Providers), maps.Clone(c.Channels)
	if c.Agent.Clock == nil {
		c.Agent.Clock = adk.SystemClock()
	}
	f := faults{code: adk.E_INVALID_SESSION_CONFIG}
	c.check(&f)
	if err := f.err(); err != nil {
		return nil, err
	}
	c.Lease = cmp.Or(c.Lease, defaultLease)
	c.Attempts = cmp.Or(c.Attempts, defaultAttempts)
	if c.Name == "" {
		c.Name = adk.UUIDs().NewID()
	}
	h := &Host{config: c, keys: map[string]*keyInfo{}, turns: map[string]*turn{}, places: map[SessionID]*place{},
		refused: map[SessionID]time.Time{}, stalled: map[SessionID]int64{}, acceptances: map[DeliveryID]acceptance{}}
	for _, key := range c.Keys {
		if info := key.durable(); info != nil {
			h.keys[info.name] = info
		}
	}
	h.plan, h.planned = storage.PlanOf(c.Agent.Storage)
	h.held = h.planned && c.Store.Holds(c.Agent.Storage)
	h.agent = h.agentOf(c.Agent)
	runner, err := adk.NewRunner(h.agent)
	if err != nil { // Wrap made an incomplete storage of a complete one
		return nil, &adk.Error{Code: adk.E_INVALID_SESSION_CONFIG, Message: "Wrap gives no storage", Cause: err}
	}
	h.runner = runner
	return h, nil
}

// check adds the faults of a config to f.
func (c Config) check(f *faults) {
	if _, err := adk.NewRunner(c.Agent); err != nil {
		if whole, ok := errors.AsType[*adk.Error](err); ok {
			for _, one := range whole.Faults {
				f.add("Agent."+one.Path, "%s", one.Message)
			}
		}
	}
	for _, name := range middlewareNames(c.Agent) {
		if strings.HasPrefix(name, ownPrefix) {
			f.add("Agent", "has a middleware %.64q: names that begin with %q are the host's own", name, ownPrefix)
		}
	}
	if c.Store == nil {
		f.add("Store", "is missing")
	}
	if c.Prompt == nil {
		f.add("Prompt", "is missing")
	}
	if len(c.Channels) == 0 {
		f.add("Channels", "is missing, want one at least")
	}
	for _, kind := range slices.Sorted(maps.Keys(c.Channels)) {
		if f.id("Channels", kind, true); c.Channels[kind] == nil {
			f.add("Channels", "has nothing that makes a %.64q", kind)
		}
	}
	if c.Persist != Staged && c.Persist != Direct {
		f.add("Persist", "is %.32q, want Staged or Direct", c.Persist)
	}
	if c.Lease < 0 || c.Lease > 0 && c.Lease < time.Second {
		f.add("Lease", "is %s, want a second or more", c.Lease)
	}
	if c.Attempts < 0 {
		f.add("Attempts", "is %d, want 1 or more", c.Attempts)
	}
	f.id("Name", c.Name, false)
	c.checkKeys(f)
	c.checkProviders(f)
}

func middlewareNames(c adk.Config) (names []string) {
	for _, list := range [][]adk.TurnMiddleware{c.TurnInput, c.TurnOutput} {
		for _, m := range list {
			names = append(names, m.Name)
		}
	}
	for _, list := range [][]adk.DispatchMiddleware{c.DispatchInput, c.DispatchOutput} {
		for _, m := range list {
			names = append(names, m.Name)
		}
	}
	return names
}

// checkKeys compares the keys with one another. The stash nests at dots, so no name may lie below
// another one.
func (c Config) checkKeys(f *faults) {
	seen := map[string]bool{}
	var names []string
	for i, key := range c.Keys {
		if key == nil || isNil(key) {
			f.add("Keys", "has nil at %d", i)
			continue
		}
		if name := key.Name(); seen[name] {
			f.add("Keys", "names %.64q twice", name)
		} else {
			seen[name] = true
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for above, _, below := cutLast(name); below; above, _, below = cutLast(above) {
			if seen[above] {
				f.add("Keys", "has %.64q below %.64q: one of them needs another name", name, above)
			}
		}
	}
}

// isNil reports whether a key is a nil pointer.
func isNil(key AnyKey) (ok bool) {
	defer func() { ok = recover() != nil }()
	key.Name()
	return false
}

// cutLast cuts a name at its last dot.
func cutLast(name string) (above, last string, found bool) {
	at := strings.LastIndexByte(name, '.')
	if at < 0 {
		return name, "", false
	}
	return name[:at], name[at+1:], true
}

// checkProviders checks the providers' names, and that each comes after those it needs.
func (c Config) checkProviders(f *faults) {
	before := map[string]bool{}
	for i, provider := range c.Providers {
		if provider == nil {
			f.add("Providers", "has nil at %d", i)
			continue
		}
		name := provider.Name()
		if fault := segmentFault(name); fault != "" || strings.Contains(name, ".") {
			f.add("Providers", "has the name %.64q, want one without dots and blanks", name)
		}
		if before[name] {
			f.add("Providers", "names %.64q twice", name)
		}
		for _, needed := range provider.Needs() {
			if !before[needed] {
				f.add("Providers", "has %.64q, which needs %.64q before it", name, needed)
			}
		}
		before[name] = true
	}
}

// agentOf returns the agent with the host's own middlewares added and its storage replaced.
func (h *Host) agentOf(c adk.Config) adk.Config {
	staged := storages.Of(newStage(h, c.Storage))
	if h.config.Wrap != nil {
		staged = partitionedOf(h, h.config.Wrap(staged))
	}
	c.Storage = staged
	c.TurnInput = append([]adk.TurnMiddleware{{Name: nameDeliver, Run: h.deliverHook}, {Name: nameProvide, Run: h.provide}}, c.TurnInput...)
	c.DispatchInput = append([]adk.DispatchMiddleware{{Name: nameDispatch, Run: h.noteDispatch}}, c.DispatchInput...)
	c.TurnOutput = append([]adk.TurnMiddleware{{Name: nameMerge, Run: h.merge}}, c.TurnOutput...)
	return c
}

// Agent returns the config of the host's runner. It is for replays, as replay.Live.Config. In a
// turn that no host has claimed, what the turn stores reaches no storage, and no session is touched
// (SES-33).
func (h *Host) Agent() adk.Config { return h.agent }

// String names a host where it is printed.
func (h *Host) String() string { return fmt.Sprintf("session host %q", h.config.Name) }
