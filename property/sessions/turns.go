package sessions

import (
	"context"
	"runtime"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/storages"
	"github.com/adkreplay/adkreplay/property/internal/guarded"
	"github.com/adkreplay/adkreplay/property/internal/wanted"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file breaks the turns of a process. At each crossing the caller may leave, or the process
// may end or stand still; wherever user code of the agent is called, it may fail.

// mark is a crossing of a turn, as far as faults need it.
type mark struct {
	kind adk.Kind
	seam adk.Seam // of a call, or of the call that returns
}

// observer observes the crossings of a turn.
type observer struct {
	p     *process
	t     *task
	seams map[int]adk.Seam
	asks  wanted.Writing
}

func (p *process) observe(adk.RunInfo) adk.Observer {
	return &observer{p: p, t: p.latest.Load(), seams: map[int]adk.Seam{}}
}

// Begin makes the faults that come before a crossing.
func (o *observer) Begin(step adk.Step) {
	p, t := o.p, o.t
	p.run.progress.Add(1)
	if n := t.crossings() + 1; !p.run.isOver() && !p.dead.Load() {
		if t.fires(InTurn(turn.Cancel), n) {
			t.cancel(errBroken)
		}
		if t.fires(StandInTurn, n) {
			p.stands(t)
		}
		if t.fires(InTurn(turn.Crash), n) {
			p.dead.Store(true)
		}
		if n > mostCrossings {
			p.run.ledger.telling(p, func(l *ledger) { l.wrong(hangs, "the turns of one call have more than %d crossings", mostCrossings) })
			p.dead.Store(true)
		}
	}
	if p.dead.Load() {
		p.frozen(t)
	}
	if p.run.isOver() && step.Kind.Class() == adk.ClassOperation && step.Phase != adk.Done {
		runtime.Goexit()
	}
}

// Tell counts a crossing, and makes a cancel after it.
func (o *observer) Tell(x *adk.Crossing) {
	m := mark{kind: x.Kind}
	switch x.Kind {
	case adk.KindCall:
		m.seam = x.Seam
		o.seams[x.ID] = x.Seam
	case adk.KindReturn:
		m.seam = o.seams[x.ID]
	}
	if write, writes := o.asks.Take(x); writes {
		o.p.run.ledger.telling(o.p, func(l *ledger) { l.asked(write) })
	}
	if x.Kind.Names(adk.MadeID) {
		o.p.run.ledger.telling(o.p, func(l *ledger) { l.made(x) })
	}
	o.t.mu.Lock()
	o.t.marks = append(o.t.marks, m)
	n := len(o.t.marks)
	o.t.mu.Unlock()
	if o.t.fires(InTurn(turn.CancelAfter), n) {
		o.t.cancel(errBroken)
	}
}

// Park does nothing.
func (o *observer) Park(int, func() bool) {}

// Resume freezes a strand of a process that has ended.
func (o *observer) Resume(int) {
	if o.p.dead.Load() {
		o.p.frozen(o.t)
	}
}

func (t *task) crossings() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.marks)
}

// enter calls user code of the agent, which may fail instead, or afterwards.
func (p *process) enter(before, after turn.FaultKind, body func() error) error {
	t := p.latest.Load()
	if err := t.breaks(before, t.crossings()); err != nil { // the crossing of the call was counted
		return err
	}
	if err := body(); err != nil {
		return err
	}
	return t.breaks(after, t.crossings()+1)
}

// breaks fails, or panics, if a fault requires it at a crossing.
func (t *task) breaks(k turn.FaultKind, n int) error {
	switch {
	case t.fires(InTurn(k), n):
		return errBroken
	case k == turn.Fail && t.fires(InTurn(turn.Panic), n):
		panic(errBroken)
	}
	return nil
}

func (p *process) aroundAgent(c adk.Config) adk.Config {
	c = guarded.Config(c, func(_ int, do func() error) error { return p.enter(turn.Fail, turn.Fail, do) })
	tools := make([]*adk.Tool, len(c.Tools))
	for i, t := range c.Tools {
		tools[i] = p.aroundTool(t)
	}
	c.Tools = tools
	return c
}

func (p *process) aroundTool(t *adk.Tool) *adk.Tool {
	return t.Around(func(ctx context.Context, dc *adk.DispatchContext, args map[string]any, inner adk.ToolHandler) (result adk.ToolResult, err error) {
		err = p.enter(turn.Fail, turn.Fail, func() (err error) {
			result, err = inner(ctx, dc, args)
			return err
		})
		if err != nil {
			result = nil
		}
		return result, err
	})
}

// aroundStorage wraps the storage that turns see, outside of the layer that keeps writes back.
func (p *process) aroundStorage(s adk.Storage) adk.Storage {
	return storages.Of(brokenStorage{p, storages.Each(s)})
}

type brokenStorage struct {
	p     *process
	inner map[adk.CollectionName]storages.Obligations
}

// Fetch fetches from the inner storage, and checks that turns fetch no records of other tenants.
func (b brokenStorage) Fetch(ctx context.Context, scope adk.Scope, of adk.CollectionName) (fetched []adk.Record, err error) {
	if scope.TurnID == "" {
		return b.inner[of].Fetch(ctx, scope, of)
	}
	err = b.p.enter(turn.StorageBefore, turn.StorageAfter, func() (err error) {
		fetched, err = b.inner[of].Fetch(ctx, scope, of)
		return err
	})
	if of != adk.Tools {
		b.p.fetched(of, fetched)
		return fetched, err
	}
	for i, record := range fetched {
		if tool, ok := record.(*adk.Tool); ok && tool != nil {
			fetched[i] = b.p.aroundTool(tool)
		}
	}
	return fetched, err
}

// Write writes to the inner storage.
func (b brokenStorage) Write(ctx context.Context, scope adk.Scope, of adk.CollectionName, verb adk.Kind, record adk.Record, key string) error {
	if scope.TurnID == "" {
		return b.inner[of].Write(ctx, scope, of, verb, record, key)
	}
	return b.p.enter(turn.StorageBefore, turn.StorageAfter, func() error {
		b.p.mu.Lock()
		b.p.kept[string(of)+" "+key] = true
		b.p.mu.Unlock()
		return b.inner[of].Write(ctx, scope, of, verb, record, key)
	})
}

// fetched holds what a turn has fetched against what other tenants have.
func (p *process) fetched(of adk.CollectionName, fetched []adk.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run.ledger.telling(p, func(l *ledger) {
		if !l.hasTenantBeside(p.began.Tenant) {
			return
		}
		for _, record := range fetched {
			body, err := record.MarshalJSON()
			if err == nil && !p.kept[string(of)+" "+record.Key()] {
				l.fetched(p.began, of, row{record.Key(), body})
			}
		}
	})
}
