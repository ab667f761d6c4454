package session

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
)

// turn is what the host remembers of a running turn outside of its stash: what the commit needs. A
// turn without an attempt, as in a replay, has one too, but nothing of it is committed.
type turn struct {
	attempt *attempt // nil if no host has claimed the turn
	// ended returns the error of the context of a turn without an attempt: nil until its run is
	// over.
	ended func() error

	mu        sync.Mutex
	channel   Channel
	active    []Provider
	collected *changes // set when the main dispatch is acked
	writes    []Write
	children  []Delivery
	// left is what the turn leaves for the commit; nil until turn output has ended.
	left *leftover
	// verdict is a failure that another attempt would not repair.
	verdict error
}

// leftover is what a turn leaves for the commit.
type leftover struct {
	values       map[string]json.RawMessage
	own          map[string]any // all below "session" except the values
	snapshots    map[string]json.RawMessage
	outputFailed bool
}

// changes are a dispatch's changes to the values, by key: the new leaf, or nil for a removed value.
type changes map[string]json.RawMessage

// changesOf compares the values before and after.
func changesOf(before, after map[string]json.RawMessage) changes {
	all := changes{}
	for key, leaf := range after {
		if old, had := before[key]; !had || string(old) != string(leaf) {
			all[key] = leaf
		}
	}
	for key := range before {
		if _, has := after[key]; !has {
			all[key] = nil
		}
	}
	return all
}

// set makes the changes in a stash.
func (c changes) set(s adk.Stash) error {
	for _, key := range slices.Sorted(maps.Keys(c)) {
		var leaf any
		if c[key] != nil {
			leaf = c[key]
		}
		if err := s.Set(stashContext+"."+key, leaf); err != nil {
			return err
		}
	}
	return nil
}

// turnOf returns the turn with an id. For a turn that no host has claimed it makes one, which is
// forgotten when ctx is done.
func (h *Host) turnOf(ctx context.Context, id string) *turn {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.turns[id]
	if t == nil || t.attempt == nil && t.ended() != nil { // several runs of a replay may have one id
		t = &turn{ended: ctx.Err}
		h.turns[id] = t
		context.AfterFunc(ctx, func() { h.forget(id, t) })
	}
	return t
}

func (h *Host) forget(id string, t *turn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.turns[id] == t {
		delete(h.turns, id)
	}
}

// deliverHook is the first middleware of turn input: it makes the channel turn the payload into
// records.
func (h *Host) deliverHook(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	if err := h.deliver(ctx, tc, h.turnOf(ctx, tc.TurnID())); err != nil {
		return err
	}
	next(ctx)
	return nil
}

func (h *Host) deliver(ctx context.Context, tc *adk.TurnContext, t *turn) error {
	seed, err := SeedOf(tc)
	if err != nil {
		return err
	}
	newChannel := h.config.Channels[seed.Kind]
	if newChannel == nil {
		return unknownChannel(seed.Kind)
	}
	payload, _ := tc.Stash().Get(stashPayload, nil).(json.RawMessage)
	channel, err := newChannel(seed.ChannelState)
	if err != nil {
		return fmt.Errorf("session: making the channel %.64q: %w", seed.Kind, err)
	}
	if channel == nil {
		return fmt.Errorf("session: what makes the channel %.64q gave nil", seed.Kind)
	}
	t.mu.Lock()
	t.channel = channel
	t.mu.Unlock()
	if err := t.fixed(seed.ChannelState); err != nil {
		return err
	}
	d := Delivery{Tenant: seed.Tenant, Session: seed.Session, ID: seed.Delivery, Kind: seed.Kind, ChannelState: seed.ChannelState,
		Payload: payload, Auth: seed.Auth, Initiator: seed.Initiator}
	if seed.Parent != nil {
		d.Parent = *seed.Parent
	}
	if err := channel.Deliver(ctx, tc, d); err != nil {
		return err
	}
	if err := t.fixed(seed.ChannelState); err != nil {
		return err
	}
	return tc.Stash().Set(stashPayload, nil) // only the channel may see the payload
}

func unknownChannel(kind string) error {
	return &adk.Error{Code: adk.E_SESSION_UNKNOWN_CHANNEL, Message: fmt.Sprintf("this host has no channel of the kind %.64q: add it to Config.Channels", kind)}
}

// fixed returns an error if the channel's state differs from the stored one (SES-18). If it
// differs, fixed also sets the verdict, because another attempt would not repair that.
func (t *turn) fixed(stored json.RawMessage) error {
	if t.channel == nil {
		return nil
	}
	var state json.RawMessage
	if err := contained(func() (err error) { state, err = t.channel.State(); return err }); err != nil {
		return fmt.Errorf("session: asking the channel for its state: %w", err)
	}
	if sameJSON(state, stored) {
		return nil
	}
	err := &adk.Error{Code: adk.E_SESSION_CHANNEL_STATE_CHANGED, Message: "the channel's state is another than " +
		"the one that the session began with: values for authored code belong into a key, bookkeeping of the channel's own into a provider's snapshot"}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.verdict = err
	return err
}

// provide is the second middleware of turn input: it calls the providers.
func (h *Host) provide(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	t := h.turnOf(ctx, tc.TurnID())
	for _, provider := range h.config.Providers {
		snapshot, _ := tc.Stash().Get(stashInternal+"."+provider.Name(), nil).(json.RawMessage)
		active, err := provider.Create(ctx, tc, snapshot)
		if err != nil {
			return fmt.Errorf("session: provider %q: %w", provider.Name(), err)
		}
		if active {
			t.mu.Lock()
			t.active = append(t.active, provider)
			t.mu.Unlock()
		}
	}
	next(ctx)
	return nil
}

// noteDispatch is the first middleware of dispatch input: it collects the changes of the turn's own
// dispatch when that is acked (SES-6).
func (h *Host) noteDispatch(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
	if dc.Iteration() == 0 {
		t := h.turnOf(ctx, dc.TurnID())
		if err := collect(dc, func(c changes) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.collected = &c
		}); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}

// collect marks the stash as that of a dispatch whose changes are kept, and passes them to take
// when the dispatch is acked. It seals the stash before it compares the values. A concurrent setter
// checks the seal after writing, so it learns that it may have been too late.
func collect(dc *adk.DispatchContext, take func(changes)) error {
	s := dc.Stash()
	if s.Has(stashSealed) { // left over from the calling dispatch
		if err := s.Set(stashSealed, nil); err != nil {
			return err
		}
	}
	if err := s.Set(stashDispatch, dc.DispatchID()); err != nil {
		return err
	}
	before := valuesIn(s)
	_, err := dc.OnAck(nameCollect, func(_ context.Context, dc *adk.DispatchContext) {
		if dc.Stash().Set(stashSealed, true) == nil {
			take(changesOf(before, valuesIn(dc.Stash())))
		}
	})
	return err
}

// merge is the first middleware of turn output: it copies the dispatch's changes into the turn's
// stash before other middlewares run. After all others have ended, it notes what the turn leaves.
func (h *Host) merge(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	t := h.turnOf(ctx, tc.TurnID())
	t.mu.Lock()
	collected := t.collected
	t.mu.Unlock()
	if collected != nil {
		if err := collected.set(tc.Stash()); err != nil {
			return err
		}
	}
	next(ctx)
	left := &leftover{snapshots: map[string]json.RawMessage{}, outputFailed: tc.Aborted()}
	err := t.snapshots(ctx, tc, left)
	left.values = valuesIn(tc.Stash())
	left.own, _ = tc.Stash().Get(stashRoot, nil).(map[string]any)
	delete(left.own, "context")
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = left
	return err
}

// snapshots asks the active providers for their snapshots. It stops at the first error, and keeps
// the snapshots that it has by then.
func (t *turn) snapshots(ctx context.Context, tc *adk.TurnContext, left *leftover) error {
	for _, provider := range t.active {
		committer, ok := provider.(Committer)
		if !ok {
			continue
		}
		if err := contained(func() error {
			snapshot, err := committer.Commit(ctx, tc)
			if err == nil {
				err = snapshotFault(provider.Name(), snapshot)
			}
			if err == nil {
				left.snapshots[provider.Name()] = slices.Clone(snapshot)
			}
			return err
		}); err != nil {
			return fmt.Errorf("session: provider %q: %w", provider.Name(), err)
		}
	}
	return nil
}

func snapshotFault(provider string, snapshot json.RawMessage) error {
	switch {
	case len(snapshot) > MaxSnapshot:
		return &adk.Error{Code: adk.E_SESSION_TOO_LARGE, Message: fmt.Sprintf("the snapshot of %q has %d bytes, want at most %d", provider, len(snapshot), MaxSnapshot)}
	case !json.Valid(snapshot):
		return fmt.Errorf("the snapshot is not JSON")
	}
	return nil
}

// Dispatch is adk.Dispatch for a dispatch whose changes to the session's values are kept: it may
// set values, and when it was acked they become values of the calling context. The Source has to be
// that context, and belong to a host's turn; otherwise the error is E_SESSION_OUTSIDE. If the
// calling dispatch was itself acked meanwhile, the error is E_SESSION_SEALED.
func Dispatch(ctx context.Context, in adk.DispatchInput) (adk.DispatchEnd, error) {
	source, ok := in.Source.(Stasher)
	if !ok {
		return adk.DispatchEnd{}, &adk.Error{Code: adk.E_SESSION_OUTSIDE, Message: "the dispatch has no Source: give the context of a host's turn"}
	}
	if err := writable(source); err != nil {
		return adk.DispatchEnd{}, err
	}
	var mu sync.Mutex
	var collected changes
	note := adk.DispatchMiddleware{Name: nameDispatched, Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		if dc.Iteration() == 0 {
			if err := collect(dc, func(c changes) {
				mu.Lock()
				defer mu.Unlock()
				collected = c
			}); err != nil {
				return err
			}
		}
		next(ctx)
		return nil
	}}
	in.Input = append([]adk.DispatchMiddleware{note}, in.Input...)
	end, err := adk.Dispatch(ctx, in)
	mu.Lock()
	defer mu.Unlock()
	if end.Status != adk.StatusAck || len(collected) == 0 {
		return end, err
	}
	if err := writable(source); err != nil {
		return end, err
	}
	if err := collected.set(source.Stash()); err != nil {
		return end, err
	}
	return end, writable(source)
}
