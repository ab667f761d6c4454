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

// This file wraps the user code of a config, so that it can fail. Wrapped is what the config hands
// over, and tools, which an observer can wrap wherever they come from. Strands, on-ack handlers and
// dispatches that user code begins inside the turn cannot be wrapped from outside.

// errBroken is the error with which code fails that the explorer breaks.
var errBroken error = brokenError{}

type brokenError struct{ callers.Staged }

func (brokenError) Error() string { return "broken by the explorer" }

// moment is the time at which a fault strikes its call.
type moment uint8

const (
	elsewhere  moment = iota // the fault is not one of a call
	beforeBody               // the user code does not run
	amidBody                 // the user code is broken off where it asks for the operation at the crossing
	afterBody                // the user code has run, and what it returned is lost
	deaf                     // the user code runs and does not see that its context ends
	changed                  // the user code has run, and its result is replaced by another text
)

// planned is a fault, with all that is needed to make it.
type planned struct {
	turn.Fault
	moment moment
	call   int            // the call in which it is made; unused for elsewhere
	turn   turnOf         // which of the similar calls, or asks, that is
	op     int            // the operation of the ask in which it is made, for a fault of the world
	down   string         // what fails from then on
	left   int            // for how many more calls it fails
	one    string         // the only value of the part that Member names for which it fails; empty means all
	mine   string         // what the first failed call was for
	same   int            // how many calls for the same have failed
	each   map[string]int // for a fault with Each: how many calls of each kind have failed
	hits   int            // how many calls it struck; for an ask, also how often the same was asked again
	world  *asked         // the ask to answer with a fault, as it was in the run without the fault
	answer func() *adk.Answer
	given  map[*asked]bool // which answers of that run have been given; set once the fault is made
	place  place
	in     int // the call that the crossing belongs to
	fired  bool
	broke  bool // the code was broken off
	within bool // it comes at a fault point within a function of the user's
}

// fail ends the broken code: it panics or returns errBroken.
func (f *planned) fail() error {
	if f.Kind == turn.Panic {
		panic(errBroken)
	}
	return errBroken
}

// enter calls the user code of a seam call, with the faults that are planned for it. at names the
// collection or tool that is called and may be down; it is empty for other code. what is the record
// or the arguments for which it is called.
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

// begins records the first call of a fault that may go on.
func (a *attempt) begins(f *planned, at string, what wanted.What) {
	if f.down != "" {
		a.mu.Lock()
		defer a.mu.Unlock()
		f.first(at, what)
	}
}

// failsAgain reports whether a fault happens again to a call, whose code then does not run.
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

// broken returns body with a fault.
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

// breakable runs code on a goroutine of its own, so that it can be ended where it asks for an
// operation: then only its deferred functions still run. Its caller waits, and then fails as the
// code would have. The code keeps its handle, and so its strand.
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

// breaking is code that runs under breakable.
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

// makeRoom grows the goroutine's stack at once, while it is almost empty, to about the size that
// engine and user code need. A stack that grows little by little is copied each time, frame by
// frame: that took a twentieth of the time of an exploration.
//
//go:noinline
func makeRoom() {
	var room [8 << 10]byte
	runtime.KeepAlive(&room)
}

// runBreakableEntry is the entry of runBreakable, as it appears in stacks.
var runBreakableEntry = reflect.ValueOf(runBreakable).Pointer()

// breakHere ends the goroutine whose code the fault breaks off. A panic fault panics instead, and
// user code may recover. It does nothing on other goroutines than the one that runs the broken
// code.
func (a *attempt) breakHere(f *planned, step adk.Step) {
	if f.broke = isBreakable(); !f.broke {
		return
	}
	if step.Kind.Touches() == adk.TouchSeam && strays.InClient() { // as for code that asks the world
		a.clients.Add(1)
	}
	if f.Kind == turn.Panic {
		panic(errBroken)
	}
	runtime.Goexit()
}

// isBreakable reports whether the current goroutine was started by breakable: then runBreakable is
// at the bottom of its stack. That is false for a goroutine that the code has started itself, and
// for a strand that uses the handle of another one.
func isBreakable() bool {
	var callers [64]uintptr
	for skip := 1; ; skip += len(callers) {
		n := runtime.Callers(skip, callers[:])
		for _, pc := range slices.Backward(callers[:n]) { // runBreakable is near the end
			if runtime.FuncForPC(pc).Entry() == runBreakableEntry {
				return true
			}
		}
		if n < len(callers) {
			return false
		}
	}
}

// deafTo returns the fault that makes a tool's call ignore its context, nil if there is none.
func (a *attempt) deafTo(call int, at string) *planned {
	for i := range a.faults {
		if f := &a.faults[i]; f.moment == deaf && a.strikes(f, call, at, wanted.What{}) {
			return f
		}
	}
	return nil
}

// around returns a config whose user code the explorer wraps.
func (a *attempt) around(c adk.Config) adk.Config {
	c = guarded.Config(c, func(call int, do func() error) error { return a.enter(call, "", wanted.What{}, do) })
	c.Storage = a.aroundStorage(c.Storage)
	return c
}

// Handler wraps the handler of every tool, wherever the tool comes from.
func (a *attempt) Handler(tool *adk.Tool, own adk.ToolHandler) adk.ToolHandler {
	at := provider(adk.Seam{Label: adk.LabelTool, Name: tool.Name()})
	return func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
		return a.tool(ctx, dc, at, args, own)
	}
}

// tool calls the handler of a tool with the faults that are planned for it.
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

// aroundStorage wraps a storage, and makes it return the conversation of the schedule.
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

// givenMessages are the messages of a storage, together with those that the schedule adds.
type givenMessages struct {
	adk.Collection[*adk.Message]
	history *history
}

// Fetch returns the conversation that the turn begins with, and what was added to it since.
func (c *givenMessages) Fetch(ctx context.Context, scope adk.Scope) ([]*adk.Message, error) {
	fetched, err := c.Collection.Fetch(ctx, scope)
	if err != nil {
		return nil, err
	}
	return c.history.give(fetched), nil
}

// Store writes to the storage, except for messages that the schedule added.
func (c *givenMessages) Store(ctx context.Context, scope adk.Scope, m *adk.Message) error {
	if c.history.writeOwn(m, m.Key()) {
		return ctx.Err()
	}
	return c.Collection.Store(ctx, scope, m)
}

// Mutate writes to the storage, except for messages that the schedule added.
func (c *givenMessages) Mutate(ctx context.Context, scope adk.Scope, m *adk.Message) error {
	if c.history.writeOwn(m, m.Key()) {
		return ctx.Err()
	}
	return c.Collection.Mutate(ctx, scope, m)
}

// Delete deletes in the storage, except for messages that the schedule added.
func (c *givenMessages) Delete(ctx context.Context, scope adk.Scope, key string) error {
	if c.history.writeOwn(nil, key) {
		return ctx.Err()
	}
	return c.Collection.Delete(ctx, scope, key)
}
