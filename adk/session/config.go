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

// Channel turns payloads into records. It is made anew for each attempt, of the kind and
// the state that the session began with.
type Channel interface {
	// State is what the channel was made from. It never changes: values for authored code
	// belong into a key (SES-18).
	State() (json.RawMessage, error)
	// Deliver is called first in each turn. It sees the session's values, may set them,
	// adds records and stores them. Its error ends the attempt and never the delivery at once:
	// that is tried again as long as Config.Attempts allow, whatever the error wraps.
	Deliver(ctx context.Context, tc *adk.TurnContext, d Delivery) error
}

// Provider makes values for a turn, which it usually keeps under a RuntimeKey.
type Provider interface {
	// Name is unique among the providers of a host, and without dots.
	Name() string
	// Needs are the names of providers that come before it.
	Needs() []string
	// Create is called once an attempt, with the snapshot of the last commit; nil where
	// there is none. A provider that has nothing to do is not active.
	Create(ctx context.Context, tc *adk.TurnContext, snapshot json.RawMessage) (active bool, err error)
}

// Committer is a Provider that keeps something of its own between turns. It is asked when
// the turn's output is over, if it was active: for JSON of at most MaxSnapshot bytes. Nothing is no
// JSON, and fails the output: who has nothing to keep gives null, or is no Committer.
type Committer interface {
	Commit(ctx context.Context, tc *adk.TurnContext) (snapshot json.RawMessage, err error)
}

// Persist says when what a turn stores is written.
type Persist string

// The ways to persist (SES-23). Staged, the zero value, writes with the commit, so that an
// attempt that fails leaves nothing; Direct writes at once, as the engine alone does.
const (
	Staged Persist = ""
	Direct Persist = "direct"
)

// Config is all that a host is made of.
type Config struct {
	// Agent is what runs the turns; required. Names of its middlewares do not begin with
	// "session-".
	Agent adk.Config
	// Store keeps the sessions; required.
	Store Store
	// Keys are those that the host's turns use. What a session holds under others is kept,
	// and no turn sees it.
	Keys []AnyKey
	// Channels make a channel of its stored state, by its kind; required.
	Channels map[string]func(state json.RawMessage) (Channel, error)
	// Providers are asked in this order, after the channel.
	Providers []Provider
	// Prompt gives an attempt its prompt and its standing instructions; required. With an empty
	// prompt the attempt fails, with E_INVALID_TURN_CONTEXT.
	Prompt func(Seed) (prompt string, instructions []string, err error)
	// Listen gives the listeners of one attempt's turn, for streaming; optional.
	Listen func(Seed) (adk.Functional, adk.Observability)
	// Wrap stands around the storage as turns see it, and around what is kept back of it:
	// for spools, or encryption; optional. It sees the partition of the session. What it does
	// is done when the turn asks for it, also if that is not committed: bodies that nobody
	// names then are for artifact.Sweep.
	Wrap func(adk.Storage) adk.Storage
	// Persist is Staged or Direct.
	Persist Persist
	// Name is the host's, in leases and journals; empty is a new id. No two hosts that run
	// have the same.
	Name string
	// Lease is how long nobody else claims a session of which nothing is heard; 0 means 15
	// minutes. It is renewed every third of that while a turn runs.
	Lease time.Duration
	// Attempts is how often a delivery is tried; 0 means 3. Where the process ended at the last but
	// one, the host runs nothing else beside the last.
	Attempts int
	// NoWait has Deliver answer E_SESSION_BUSY where it would wait for what is under way in the
	// session, in this host or another one, or for a retry to be due.
	NoWait bool
	// Notify is told the outcome of each delivery, after it was settled, at least once and
	// again until it returns nil: who sends messages leaves out those of a delivery that
	// were sent. The session is under way until it returns: who delivers to that one here is told
	// E_SESSION_BUSY, and the delivery is accepted. Optional.
	Notify func(ctx context.Context, o Outcome) error
	// Failed is told why an attempt failed, before that is kept: in its turn or around it, as where
	// Prompt fails or the store refuses what the turn has left. It may hold what the turn was given,
	// which no journal does. One that panics disturbs nothing. Optional.
	Failed func(s Seed, why error)
	// Journal is told each step, in their order within a session; optional.
	Journal func(Step)
}

// What a config means that says nothing.
const (
	defaultLease    = 15 * time.Minute
	defaultAttempts = 3
)

// The middlewares of a host, whose names begin so that nobody else's do.
const (
	ownPrefix      = "session-"
	nameDeliver    = ownPrefix + "deliver"
	nameProvide    = ownPrefix + "provide"
	nameDispatch   = ownPrefix + "dispatch"
	nameDispatched = ownPrefix + "nested"
	nameMerge      = ownPrefix + "merge"
	nameCollect    = ownPrefix + "collect" // on ack
)

// NewHost makes a host. The error is E_INVALID_SESSION_CONFIG, with every fault (SES-1).
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
	if err != nil { // which Wrap has made of a storage that was whole
		return nil, &adk.Error{Code: adk.E_INVALID_SESSION_CONFIG, Message: "Wrap gives no storage", Cause: err}
	}
	h.runner = runner
	return h, nil
}

// check finds what is wrong with a config.
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

// checkKeys holds the keys against one another: the stash nests, so no name may lie below
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

// checkProviders holds the providers against one another.
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

// agentOf is the agent with the host's own middlewares and its storage in place.
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

// Agent is what the host's runner is made of: for replays, as replay.Live.Config. In a turn
// that no host has claimed, nothing that it stores reaches a storage, and no session is
// touched (SES-33).
func (h *Host) Agent() adk.Config { return h.agent }

// String names a host where it is printed.
func (h *Host) String() string { return fmt.Sprintf("session host %q", h.config.Name) }
