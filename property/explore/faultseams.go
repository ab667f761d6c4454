package explore

import (
	"context"
	"reflect"
	"runtime"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/callers"
	"github.com/adkreplay/adkreplay/internal/storages"
	"github.com/adkreplay/adkreplay/property/internal/guarded"
	"github.com/adkreplay/adkreplay/property/internal/strays"
	"github.com/adkreplay/adkreplay/property/internal/wanted"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file puts the explorer around the user code of a config, so that it can
// fail. Code is handed over in the config, but for tools, around which an observer can
// stand, and for the strands, the on-ack handlers and the dispatches that user code begins
// inside the turn: nothing can be put around these from outside.

// errBroken is what code fails with that the explorer breaks.
var errBroken error = brokenError{}

type brokenError struct{ callers.Staged }

func (brokenError) Error() string { return "broken by the explorer" }

// moment is when a call fails that a fault was made for.
type moment uint8

const (
	elsewhere  moment = iota // the fault is not one of a call
	beforeBody               // the user code does not run
	amidBody                 // it is broken off where it asks for the operation at the crossing
	afterBody                // it has run, and what it returned is lost
	deaf                     // it runs and does not see that the context ends
	changed                  // it has run, and what it returned is another text
)

// planned is a fault of which is known how to make it.
type planned struct {
	turn.Fault
	moment moment
	call   int            // the call that it is made in, but for elsewhere
	turn   turnOf         // which of the calls of the same that is, or of the asks
	op     int            // the ask that it is made in, where it is one of the world
	down   string         // what is down from there on
	left   int            // for how many calls more
	one    string         // and for whom alone: of what is called for, the part that Member names; empty is for all
	mine   string         // what the call was for with which it began
	same   int            // for how many calls it was for that
	each   map[string]int // where Each is wanted, how often each was called
	hits   int            // for how many calls it was, of the world that asked the same again
	world  *asked         // the ask that is answered with a fault, in the run without it
	answer func() *adk.Answer
	given  map[*asked]bool // which answers of that run were given, once the fault is made
	place  place
	in     int // the call that the crossing belongs to
	fired  bool
	broke  bool // the code was broken off
	within bool // it comes at a fault point, within code of the user's own
}

// fail is how the code ends that the fault breaks.
func (f *planned) fail() error {
	if f.Kind == turn.Panic {
		panic(errBroken)
	}
	return errBroken
}

// enter calls the user code of a seam call, with the faults that are planned for
// it around it. At names what can be down, if it is a collection or a tool, and what says
// for which record or arguments it is called.
func (a *attempt) enter(call int, at string, what wanted.What, body func() error) error {
	a.entered(call)
	for i := range a.faults {
		f := &a.faults[i]
		switch {
		case f.moment != deaf && f.moment != changed && a.strikes(f, call, at, what):
			body = a.broken(f, body)
			a.begins(f, at, what)
		case f.world == nil && at != "" && a.failsAgain(f, call, at, what):
			body = func() error { return errBroken }
		}
	}
	return body()
}

// begins knows the call that a fault begins with which may go on.
func (a *attempt) begins(f *planned, at string, what wanted.What) {
	if f.down != "" {
		a.mu.Lock()
		defer a.mu.Unlock()
		f.first(at, what)
	}
}

// failsAgain reports whether a fault happens again to a call, whose code is then kept from
// running.
func (a *attempt) failsAgain(f *planned, call int, at string, what wanted.What) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !f.fired || f.left <= 0 && !f.Each || !f.goesOn(at, what) {
		return false
	}
	f.hits++
	a.unran = append(a.unran, call)
	return true
}

// broken is code with a fault.
func (a *attempt) broken(f *planned, body func() error) func() error {
	switch f.moment {
	case beforeBody:
		return func() error { a.fire(f, 1); return f.fail() }
	case afterBody:
		return func() error {
			if err := body(); err != nil {
				return err
			}
			a.fire(f, 0)
			return f.fail()
		}
	case amidBody:
		return func() error { return a.breakable(f, body) }
	}
	return body
}

// breakable runs code on a goroutine of its own, so that it can be ended where it
// asks for an operation: its deferred functions run, and nothing else of it. What
// called it waits, and then fails as the code would have. The goroutine has the
// handle, and so the strand, of the code.
func (a *attempt) breakable(f *planned, body func() error) error {
	c := breaking{body: body, over: make(chan struct{})}
	go runBreakable(&c)
	<-c.over
	switch {
	case c.returned:
		return c.err
	case c.panicked != nil:
		panic(c.panicked)
	case f.broke:
		return f.fail()
	}
	runtime.Goexit() // as the code did
	return nil
}

// breaking is code that runs breakably.
type breaking struct {
	body     func() error
	over     chan struct{}
	returned bool
	err      error
	panicked any
}

//go:noinline
func runBreakable(c *breaking) {
	makeRoom()
	defer close(c.over)
	defer func() {
		if !c.returned {
			c.panicked = recover()
		}
	}()
	c.err = c.body()
	c.returned = true
}

// makeRoom grows the goroutine's stack at once, as long as there is next to nothing
// on it, to about what engine and user code take: a stack that grows little by little
// is copied each time, frame by frame, and a twentieth of an exploration went there.
//
//go:noinline
func makeRoom() {
	var room [8 << 10]byte
	runtime.KeepAlive(&room)
}

// runBreakableEntry is where runBreakable begins, as stacks have it.
var runBreakableEntry = reflect.ValueOf(runBreakable).Pointer()

// breakHere ends the goroutine that the fault is to break off; where it is to panic it does,
// and user code may recover. Code that asks from another goroutine than the one that the
// engine called is left alone.
func (a *attempt) breakHere(f *planned, step adk.Step) {
	if f.broke = isBreakable(); !f.broke {
		return
	}
	if step.Kind.Touches() == adk.TouchSeam && strays.InClient() { // as what asks the world does
		a.clients.Add(1)
	}
	if f.Kind == turn.Panic {
		panic(errBroken)
	}
	runtime.Goexit()
}

// isBreakable reports whether the present goroutine runs code for breakable: below
// all that it does stands runBreakable. Code on a goroutine that it started itself,
// or in a strand that uses another one's handle, does not.
func isBreakable() bool {
	var callers [64]uintptr
	for skip := 1; ; skip += len(callers) {
		n := runtime.Callers(skip, callers[:])
		for _, pc := range slices.Backward(callers[:n]) { // it stands at the end
			if runtime.FuncForPC(pc).Entry() == runBreakableEntry {
				return true
			}
		}
		if n < len(callers) {
			return false
		}
	}
}

// deafTo reports whether a tool's call is to be deaf to its context.
func (a *attempt) deafTo(call int, at string) *planned {
	for i := range a.faults {
		if f := &a.faults[i]; f.moment == deaf && a.strikes(f, call, at, wanted.What{}) {
			return f
		}
	}
	return nil
}

// around is a config with the explorer around its user code.
func (a *attempt) around(c adk.Config) adk.Config {
	c = guarded.Config(c, func(call int, do func() error) error { return a.enter(call, "", wanted.What{}, do) })
	c.Storage = a.aroundStorage(c.Storage)
	return c
}

// Handler stands around the handler of every tool, whichever way it came into the run.
func (a *attempt) Handler(tool *adk.Tool, own adk.ToolHandler) adk.ToolHandler {
	at := provider(adk.Seam{Label: adk.LabelTool, Name: tool.Name()})
	return func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
		return a.tool(ctx, dc, at, args, own)
	}
}

// tool calls the handler of a tool.
func (a *attempt) tool(ctx context.Context, dc *adk.DispatchContext, at string, args map[string]any, inner adk.ToolHandler) (result adk.ToolResult, err error) {
	call, _ := dc.Where()
	if f := a.deafTo(call, at); f != nil {
		a.fire(f, 0)
		ctx = context.WithoutCancel(ctx)
		a.present.Load().end(context.Canceled, errBroken)
	}
	err = a.enter(call, at, wanted.What{Args: args}, func() (err error) {
		result, err = inner(ctx, dc, args)
		return err
	})
	if err != nil {
		return nil, err
	}
	return a.changedResult(call, at, result), nil
}

// aroundStorage stands around a storage, and has it give the conversation that is wanted.
func (a *attempt) aroundStorage(s adk.Storage) adk.Storage {
	if s.Messages != nil {
		s.Messages = &givenMessages{s.Messages, a.history}
	}
	return storages.Guarded(s, a)
}

// Guard makes the attempt the guard of its storage.
func (a *attempt) Guard(scope adk.Scope, of adk.CollectionName, record adk.Record, key string, do func() error) error {
	return a.enter(scope.Call, string(of), wanted.What{Record: record, Key: key}, do)
}

// givenMessages are the messages of a storage, and those that the schedule has beside them.
type givenMessages struct {
	adk.Collection[*adk.Message]
	history *history
}

// Fetch gives the conversation that the turn begins with, as far as it has gone on.
func (c *givenMessages) Fetch(ctx context.Context, scope adk.Scope) ([]*adk.Message, error) {
	fetched, err := c.Collection.Fetch(ctx, scope)
	if err != nil {
		return nil, err
	}
	return c.history.give(fetched), nil
}

// Store is the storage's.
func (c *givenMessages) Store(ctx context.Context, scope adk.Scope, m *adk.Message) error {
	if c.history.writeOwn(m, m.Key()) {
		return ctx.Err()
	}
	return c.Collection.Store(ctx, scope, m)
}

// Mutate is the storage's, but of what it does not have.
func (c *givenMessages) Mutate(ctx context.Context, scope adk.Scope, m *adk.Message) error {
	if c.history.writeOwn(m, m.Key()) {
		return ctx.Err()
	}
	return c.Collection.Mutate(ctx, scope, m)
}

// Delete is the storage's, but of what it does not have.
func (c *givenMessages) Delete(ctx context.Context, scope adk.Scope, key string) error {
	if c.history.writeOwn(nil, key) {
		return ctx.Err()
	}
	return c.Collection.Delete(ctx, scope, key)
}
