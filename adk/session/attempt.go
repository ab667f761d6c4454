package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// attempt is one turn that is run for a delivery, under a claim.
type attempt struct {
	host   *Host
	visit  *visit
	claim  Claim
	loaded Loaded
	number int
	seed   Seed
	turn   *turn
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	turnID string
	// status is the status of the turn's own dispatch; empty if there was none.
	status string
	// failure is the last error of the turn that turn output did not raise.
	failure      *adk.Error
	outputFailed bool
}

// run runs the turn. An error says that no turn was run.
func (a *attempt) run(ctx context.Context) error {
	raw, err := a.host.Begin(a.seed, a.loaded)
	if err != nil {
		return err
	}
	if listen := a.host.config.Listen; listen != nil {
		if err := contained(func() error { raw.Functional, raw.Observability = listen(a.seed); return nil }); err != nil {
			return &adk.Error{Code: adk.E_INPUT_PIPELINE_ERROR, Message: "Config.Listen failed", Cause: err}
		}
	}
	a.listen(&raw.Observability)
	defer a.host.endTurn(a)
	return a.host.runner.Run(ctx, raw)
}

// Begin returns what the host begins an attempt's turn with, at the next delivery of a session:
// prompt, instructions and stash. It is for code that replays sessions or explores their turns. The
// listeners of Config.Listen are not in the result, since they must not hear a replay; the caller
// sets Functional and Observability itself. A turn that waits at gates needs a TurnGateOpen there
// that settles them.
func (h *Host) Begin(seed Seed, l Loaded) (raw adk.RawTurn, err error) {
	err = contained(func() (err error) {
		raw.SystemPrompt, raw.Instructions, err = h.config.Prompt(seed)
		return err
	})
	if err != nil {
		return raw, &adk.Error{Code: adk.E_INPUT_PIPELINE_ERROR, Message: "Config.Prompt failed", Cause: err}
	}
	raw.Stash, err = stashOf(seed, l, func(key string) bool { return h.keys[key] != nil })
	if err != nil {
		err = stateError("the session's values make no stash: %s", err)
	}
	return raw, err
}

// listen makes the attempt observe its own turn, before the listeners that are in o already.
func (a *attempt) listen(o *adk.Observability) {
	theirs := *o
	o.TurnStart = func(e adk.TurnStart) {
		a.begun(e.TurnID)
		if theirs.TurnStart != nil {
			theirs.TurnStart(e)
		}
	}
	o.DispatchEnd = func(e adk.DispatchEnd) {
		if e.Name == "" { // the turn's own
			a.mu.Lock()
			a.status = e.Status
			a.mu.Unlock()
		}
		if theirs.DispatchEnd != nil {
			theirs.DispatchEnd(e)
		}
	}
	o.Error = func(e adk.ErrorEvent) {
		a.failed(e)
		if theirs.Error != nil {
			theirs.Error(e)
		}
	}
}

// begun registers the turn under its id, before any user code of the turn runs. An id that is empty
// or that another running turn has is the fault of Config.Agent.IDs; begun then cancels the
// attempt, and nothing of the turn is kept.
func (a *attempt) begun(id string) {
	a.mu.Lock()
	a.turnID = id
	a.mu.Unlock()
	h := a.host
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.turns[id] != nil || id == "" {
		a.cancel(fmt.Errorf("session: the id %.64q of a turn is empty, or another turn's that is not over", id))
		return
	}
	h.turns[id] = a.turn
}

func (a *attempt) failed(e adk.ErrorEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.Error.Stage == adk.LabelTurnOutput {
		a.outputFailed = true
	} else if e.DispatchName == "" {
		a.failure = e.Error
	}
}

// endTurn removes a turn that has ended from the host's table.
func (h *Host) endTurn(a *attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	h.forget(a.turnID, a.turn)
}

// verdict returns why the attempt does not commit, or nil. If the caller has left, the error is the
// cause of its context.
func (a *attempt) verdict(ctx context.Context, notRun error) error {
	a.mu.Lock()
	failure := a.failure
	a.mu.Unlock()
	a.turn.mu.Lock()
	left, verdict := a.turn.left, a.turn.verdict
	a.turn.mu.Unlock()
	switch {
	case verdict != nil:
		return verdict
	case notRun != nil:
		return notRun
	case left != nil:
		return a.turn.fixed(a.seed.ChannelState)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case failure != nil:
		return failure
	}
	return &adk.Error{Code: adk.E_TURN_ABORTED, Message: "the turn was aborted before its output"}
}

// change returns what the attempt commits, or the error that keeps it from committing.
func (a *attempt) change(at time.Time) (Commit, error) {
	t := a.turn
	t.mu.Lock()
	defer t.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	c := Commit{Delivery: a.seed.Delivery, Attempt: a.number, Revision: a.loaded.Revision, TurnID: a.turnID,
		Writes: t.writes, Held: a.host.held, Children: t.children, OutputFailed: a.outputFailed || t.left.outputFailed,
		Told: a.host.config.Notify == nil, At: asMillis(at)}
	c.Release = c.Told && (c.Held || len(c.Writes) == 0) && a.visit.isLast(a.seed.Seq)
	if len(t.left.snapshots) > 0 {
		c.Snapshots = map[string]json.RawMessage{}
		maps.Copy(c.Snapshots, a.loaded.Snapshots)
		maps.Copy(c.Snapshots, t.left.snapshots)
	}
	if err := a.untouched(); err != nil {
		return c, err
	}
	var err error
	c.Puts, c.Deletes, err = a.changed()
	return c, err
}

// untouched returns an error if user code changed or added leaves below "session" in the stash that
// belong to the host.
func (a *attempt) untouched() error {
	begun, err := stashOf(a.seed, a.loaded, func(string) bool { return false })
	if err != nil {
		return err
	}
	own := begun[stashRoot].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(a.turn.left.own)) {
		path := stashRoot + "." + name
		switch path {
		case stashRuntime, stashDispatch, stashSealed, stashPayload:
		case stashSeed, stashAuth, stashInternal:
			if fmt.Sprint(own[name]) != fmt.Sprint(a.turn.left.own[name]) {
				return stateError("%s in the stash was changed: it is the host's", path)
			}
		default:
			return stateError("%.64q in the stash is not the host's: what lies below %q is", path, stashRoot)
		}
	}
	return nil
}

// changed compares the values that the turn has left with those that it began with. It returns the
// values to put and the keys to delete.
func (a *attempt) changed() (puts map[string]Value, deletes []string, err error) {
	puts = map[string]Value{}
	var faulty []string
	size := 0
	for key, held := range a.loaded.Values {
		if leaf, has := a.turn.left.values[key]; a.host.keys[key] == nil {
			size += len(held.Body)
		} else if !has {
			deletes = append(deletes, key)
		} else if before, _ := unescaped.Marshal(held); string(before) == string(leaf) {
			size += len(held.Body)
			delete(a.turn.left.values, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(a.turn.left.values)) {
		value, ok := parseValue(a.turn.left.values[key])
		info := a.host.keys[key]
		if ok = ok && info != nil && value.Version == info.version; ok {
			ok = !errors.Is(info.check(value.Body), adk.E_INVALID_SESSION_VALUE)
		}
		if !ok {
			faulty = append(faulty, fmt.Sprintf("%.64q", key))
		}
		size += len(value.Body)
		puts[key] = value
	}
	slices.Sort(deletes)
	switch {
	case len(faulty) > 0:
		return nil, nil, stateError("what no key has set stands at %s", strings.Join(faulty, ", "))
	case size > MaxBag:
		return nil, nil, &adk.Error{Code: adk.E_SESSION_TOO_LARGE, Message: fmt.Sprintf("the session's values have %d bytes, want at most %d", size, MaxBag)}
	}
	return puts, deletes, nil
}

// contained calls user code that no seam contains, and returns its panic as an error.
func contained(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &adk.PanicError{Value: value}
		}
	}()
	return f()
}

// codeOf returns the outermost code of an error, or E_TURN_ABORTED if it has none.
func codeOf(err error) adk.Code {
	if whole, ok := errors.AsType[*adk.Error](err); ok {
		return whole.Code
	}
	if code, ok := errors.AsType[adk.Code](err); ok {
		return code
	}
	return adk.E_TURN_ABORTED
}
