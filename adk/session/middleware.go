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

// turn is what the host keeps of a turn while it runs, beside the stash: what the commit
// needs. A turn that no attempt has begun, as in a replay, has one too, which leads nowhere.
type turn struct {
	attempt *attempt // nil where nobody has claimed the turn
	// ended is the error of the context of such a turn: nil until its run is over.
	ended func() error

	mu        sync.Mutex
	channel   Channel
	active    []Provider
	collected *changes // of the main dispatch, when it was acked
	writes    []Write
	children  []Delivery
	// left is what the turn has left for the commit; nil until its output is over.
	left *leftover
	// verdict is a failure that no other attempt can mend.
	verdict error
}

// leftover is what a turn leaves.
type leftover struct {
	values       map[string]json.RawMessage
	own          map[string]any // all below "session" but the values
	snapshots    map[string]json.RawMessage
	outputFailed bool
}

// changes are those of a dispatch to the values: leaves, and nil where one was removed.
type changes map[string]json.RawMessage

// changesOf compares two times of the values.
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

// set makes changes in a stash.
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

// turnOf is the turn of an id. One that nobody has claimed lives as long as its context.
func (h *Host) turnOf(ctx context.Context, id string) *turn {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.turns[id]
	if t == nil || t.attempt == nil && t.ended() != nil { // replays have runs of one id
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

// deliverHook is the first of the turn's input: the channel turns the payload into records.
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
	return tc.Stash().Set(stashPayload, nil) // it is the channel's alone
}

func unknownChannel(kind string) error {
	return &adk.Error{Code: adk.E_SESSION_UNKNOWN_CHANNEL, Message: fmt.Sprintf("this host has no channel of the kind %.64q: add it to Config.Channels", kind)}
}

// fixed is the error of a channel whose state is another than the stored one (SES-18), which
// no other attempt can mend.
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

// provide is the second of the turn's input: it asks the providers.
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

// noteDispatch is the first of the dispatch's input: what the turn's own dispatch changes is
// collected when it is acked (SES-6).
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

// collect notes that the changes of a dispatch are kept, and has take given them when it is
// acked. It seals first: who sets a value looks afterwards whether it was too late.
func collect(dc *adk.DispatchContext, take func(changes)) error {
	s := dc.Stash()
	if s.Has(stashSealed) { // as the dispatch was that this one was called from
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

// merge is the first of the turn's output: it has the changes of the dispatch in the turn
// before anybody looks, and when all others are over it sees what the turn leaves.
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

// snapshots asks the providers that were active. The first that fails ends it; what those
// before it gave is kept.
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

// Dispatch is adk.Dispatch for a dispatch whose changes to the session's values are kept: it
// may set them, and what it has set is the calling context's when it was acked. Its Source
// is that context, of a host's turn; otherwise it is E_SESSION_OUTSIDE. Where the calling
// dispatch was acked itself meanwhile, it is E_SESSION_SEALED.
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
