package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/replay"
)

// begin begins a process with a release. Later processes of a name get a number.
func (r *run) begin(name string, release int) *process {
	before := 0
	for _, p := range r.processes {
		if p.of == name {
			before++
		}
	}
	p := &process{run: r, of: name, name: name, release: release}
	if before > 0 {
		p.name = fmt.Sprint(name, before+1)
	}
	r.mu.Lock()
	r.processes = append(r.processes, p)
	r.mu.Unlock()
	p.config = r.instance.Releases[release](func() *session.Host { return p.host })
	if p.config.Lease == 0 {
		p.config.Lease = usualLease
	}
	host, err := session.NewHost(p.around(p.config))
	if err != nil { // Validate has not seen it: the config differs from the earlier one
		panic(fmt.Errorf("release %d makes no host: %w", release+1, err))
	}
	p.host = host
	return p
}

// around wraps everything in a config by which the run observes the process and breaks it.
func (p *process) around(c session.Config) session.Config {
	c.Name, c.NoWait = p.name, true
	c.Store = pointedStore{c.Store, p}
	if mutant := p.run.subject.mutant; mutant != nil {
		c.Store = mutant(c.Store, func(o session.Outcome) { _ = c.Notify(context.Background(), o) })
	}
	notify, journal := c.Notify, c.Journal
	c.Notify = func(ctx context.Context, o session.Outcome) error { return p.notify(ctx, o, notify) }
	c.Journal = func(s session.Step) {
		p.tell(s)
		if journal != nil && !p.dead.Load() {
			journal(s)
		}
	}
	p.sched = fakes.NewSchedulerOn(p.run.clock, fakes.RunInOrder())
	c.Agent.Probe = adk.MultiProbe(p.sched, probe(p.observe), probe(p.record), c.Agent.Probe)
	c.Agent.Clock, c.Agent.IDs = leaseClock{p.run.clock, p}, fakes.NewIDs(p.name)
	c.Agent = p.aroundAgent(c.Agent)
	c.Channels, c.Providers = p.aroundChannels(c.Channels), p.aroundProviders(c.Providers)
	prompt := c.Prompt
	c.Prompt = func(seed session.Seed) (text string, instructions []string, err error) {
		err = p.call("Prompt", func() (err error) { text, instructions, err = prompt(seed); return err })
		return text, instructions, err
	}
	wrap := c.Wrap
	c.Wrap = func(s adk.Storage) adk.Storage {
		if wrap != nil {
			s = wrap(s)
		}
		return p.aroundStorage(s)
	}
	return c
}

// notify passes on an outcome.
func (p *process) notify(ctx context.Context, o session.Outcome, theirs func(context.Context, session.Outcome) error) error {
	return p.call("Notify", func() error {
		p.run.ledger.telling(p, func(l *ledger) { l.notified(o) })
		if theirs != nil {
			return theirs(ctx, o)
		}
		return nil
	})
}

// call calls something that the config brings. It is a point, as a call of the store is.
func (p *process) call(name string, theirs func() error) error {
	at, err := p.arrive(name)
	if err != nil {
		return err
	}
	if err := theirs(); err != nil {
		return err
	}
	return p.depart(at)
}

func (p *process) aroundChannels(all map[string]func(json.RawMessage) (session.Channel, error)) map[string]func(json.RawMessage) (session.Channel, error) {
	around := maps.Clone(all)
	for kind, newChannel := range all {
		around[kind] = func(state json.RawMessage) (session.Channel, error) {
			channel, err := newChannel(state)
			if err != nil || channel == nil {
				return nil, err
			}
			return pointedChannel{channel, p}, nil
		}
	}
	return around
}

// pointedChannel is a channel whose Deliver is a point.
type pointedChannel struct {
	session.Channel
	p *process
}

func (c pointedChannel) Deliver(ctx context.Context, tc *adk.TurnContext, d session.Delivery) error {
	return c.p.call("Deliver", func() error { return c.Channel.Deliver(ctx, tc, d) })
}

func (p *process) aroundProviders(all []session.Provider) []session.Provider {
	around := make([]session.Provider, len(all))
	for i, provider := range all {
		around[i] = pointedProvider{provider, p}
		if committer, ok := provider.(session.Committer); ok {
			around[i] = pointedCommitter{pointedProvider{provider, p}, committer}
		}
	}
	return around
}

// pointedProvider is a provider whose Create is a point.
type pointedProvider struct {
	session.Provider
	p *process
}

func (w pointedProvider) Create(ctx context.Context, tc *adk.TurnContext, snapshot json.RawMessage) (active bool, err error) {
	err = w.p.call("Create", func() (err error) { active, err = w.Provider.Create(ctx, tc, snapshot); return err })
	return active, err
}

// pointedCommitter is a provider whose Commit is a point too, with the name Snapshot.
type pointedCommitter struct {
	pointedProvider
	committer session.Committer
}

func (w pointedCommitter) Commit(ctx context.Context, tc *adk.TurnContext) (snapshot json.RawMessage, err error) {
	err = w.p.call("Snapshot", func() (err error) { snapshot, err = w.committer.Commit(ctx, tc); return err })
	return snapshot, err
}

// tell records a step of the journal, unless the process has ended.
func (p *process) tell(s session.Step) {
	if p.dead.Load() {
		return
	}
	if s.Kind == session.StepHydrated || s.Kind == session.StepRan {
		p.turning.Store(s.Kind == session.StepHydrated)
	}
	p.run.ledger.telling(p, func(l *ledger) { l.stepped(s) })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps = append(p.steps, s)
	if s.Kind == session.StepRan && p.trace != nil {
		p.run.traces[s.Turn] = p.trace
	}
}

// probe is a function that makes observers.
type probe func(adk.RunInfo) adk.Observer

func (f probe) Observe(info adk.RunInfo) adk.Observer { return f(info) }

// record records the trace of a turn.
func (p *process) record(info adk.RunInfo) adk.Observer {
	p.trace = &bytes.Buffer{}
	return replay.Record(p.trace).Observe(info)
}

// leaseClock is the clock of the run as one process sees it. Its timers end with the process.
type leaseClock struct {
	*fakes.Clock
	p *process
}

// Now returns the time of the clock, less what it was set back by.
func (c leaseClock) Now() time.Time {
	return c.Clock.Now().Add(-time.Duration(c.p.run.behind.Load()) * time.Second)
}

// AfterFunc starts a timer. What a host waits for outside of a turn, such as an answer of its
// store, is over at once, since nothing else happens in the meantime; so is everything that an
// ended process waits for. A host renews its lease on a goroutine of its own when the timer of the
// lease fires. So AfterFunc waits, after firing that timer, until the renewal has got as far as it
// can.
func (c leaseClock) AfterFunc(d time.Duration, fire func()) (stop func() bool) {
	if renews := d == c.p.config.Lease/3; !renews && (!c.p.turning.Load() || c.p.dead.Load()) {
		fire()
		return func() bool { return false }
	}
	return c.Clock.AfterFunc(d, func() {
		if c.p.dead.Load() {
			return
		}
		fire()
		if d == c.p.config.Lease/3 {
			watchdog.Settle(settling, c.p.run.label)
		}
	})
}

// settling is the longest wait for a renewal: many times what one takes.
const settling = time.Second
