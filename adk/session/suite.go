package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
)

// TestStore checks a store, rule by rule, and joins all faults that it finds. newStore may return
// the same store each time, and one that holds other sessions: each check uses a tenant of its own.
func TestStore(newStore func() Store) error {
	var found []error
	for _, one := range storeChecks {
		c := &storeCheck{store: newStore(), tenant: "suite " + adk.UUIDs().NewID(), ctx: context.Background(), now: asMillis(time.Now())}
		if err := contained(func() error { one.check(c); return nil }); err != nil && !errors.Is(err, errGivenUp) {
			c.wrong("%v", err)
		}
		for _, text := range c.found {
			found = append(found, fmt.Errorf("session: %s: %s", one.rule, text))
		}
	}
	return errors.Join(found...)
}

var storeChecks = []struct {
	rule  string
	check func(*storeCheck)
}{
	{"SES-10: what is accepted", (*storeCheck).accepts},
	{"SES-10: many senders", (*storeCheck).manySenders},
	{"SES-10, SES-11: what is started", (*storeCheck).starts},
	{"SES-10: many who start", (*storeCheck).manyStarters},
	{"SES-11: one claim at a time", (*storeCheck).claims},
	{"SES-11: many claimers", (*storeCheck).manyClaimers},
	{"SES-20: who has lost the lease", (*storeCheck).fences},
	{"SES-20: a commit", (*storeCheck).commits},
	{"SES-20: a commit that fails", (*storeCheck).commitsAllOrNothing},
	{"SES-21: a failure", (*storeCheck).fails},
	{"SES-22, SES-23: what is left after the commit", (*storeCheck).leaves},
	{"SES-27: values byte for byte", (*storeCheck).keepsBytes},
	{"SES-27: tenants and names", (*storeCheck).keepsApart},
	{"SES-30: the history", (*storeCheck).remembers},
	{"SES-40: what is erased and purged", (*storeCheck).forgets},
	{"SES-41: a copy that takes the place of a store", (*storeCheck).raisesEpochs},
	{"SES-27: a context that is done", (*storeCheck).heedsContexts},
}

// storeCheck is a check of a store, with the faults that it has found.
type storeCheck struct {
	store  Store
	tenant string
	ctx    context.Context
	now    time.Time

	mu    sync.Mutex
	found []string
}

// errGivenUp ends a check that cannot go on.
var errGivenUp = errors.New("the check was given up")

func (c *storeCheck) wrong(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found = append(c.found, fmt.Sprintf(format, args...))
}

// must ends the check if a call fails that other checks test.
func (c *storeCheck) must(err error) {
	if err != nil {
		c.wrong("%v", err)
		panic(errGivenUp)
	}
}

// equal adds a fault if got differs from want.
func (c *storeCheck) equal(what string, want, got any) {
	if !reflect.DeepEqual(want, got) {
		c.wrong("%s: want %.200v, got %.200v", what, want, got)
	}
}

// refused adds a fault if the error does not have the code.
func (c *storeCheck) refused(what string, err error, code adk.Code) {
	if !errors.Is(err, code) {
		c.wrong("%s: want %s, got %v", what, code, err)
	}
}

func (c *storeCheck) delivery(session, id string) Delivery {
	return Delivery{Tenant: c.tenant, Session: session, ID: id, Kind: "kind", ChannelState: json.RawMessage(`{"room":1}`), Payload: json.RawMessage(`{"say":"` + strings.ReplaceAll(id, `"`, "'") + `"}`), Auth: json.RawMessage(`"ada"`)}
}

func (c *storeCheck) accept(session, id string) Accepted {
	a, err := c.store.Accept(c.ctx, c.delivery(session, id), c.now)
	c.must(err)
	return a
}

// claim claims a session for an hour.
func (c *storeCheck) claim(session string) Claim {
	claim, err := c.store.Claim(c.ctx, SessionID{c.tenant, session}, "owner", c.now, c.now.Add(time.Hour))
	c.must(err)
	return claim
}

func (c *storeCheck) load(claim Claim) Loaded {
	l, err := c.store.Load(c.ctx, claim)
	c.must(err)
	return l
}

func (c *storeCheck) begin(claim Claim, id string) int {
	n, err := c.store.Begin(c.ctx, claim, id)
	c.must(err)
	return n
}

// pending reports whether the session "one" is pending at a time.
func (c *storeCheck) pending(now time.Time) bool {
	ids, err := c.store.Pending(c.ctx, now, 1_000_000)
	c.must(err)
	return slices.Contains(ids, SessionID{c.tenant, "one"})
}

func (c *storeCheck) accepts() {
	first := c.accept("one", "a")
	c.equal("Seq of the first", int64(1), first.Seq)
	c.equal("State of the first", Unsettled, first.State)
	c.equal("Known of the first", false, first.Known)
	c.equal("Seq of the second", int64(2), c.accept("one", "b").Seq)
	c.equal("Seq in another session", int64(1), c.accept("two", "a").Seq)
	again, err := c.store.Accept(c.ctx, c.delivery("one", "a"), c.now.Add(time.Hour))
	c.must(err)
	c.equal("Known of what came again", true, again.Known)
	c.equal("Seq of what came again", int64(1), again.Seq)
	spaced := c.delivery("one", "a")
	spaced.Payload = json.RawMessage(`{ "say" : "a" }`)
	_, err = c.store.Accept(c.ctx, spaced, c.now)
	c.equal("a payload with blanks", nil, err)
	other := c.delivery("one", "a")
	other.Payload = json.RawMessage(`{"say":"b"}`)
	_, err = c.store.Accept(c.ctx, other, c.now)
	c.refused("another payload under the id", err, adk.E_DELIVERY_CONFLICT)
	moved := c.delivery("one", "c")
	moved.ChannelState = json.RawMessage(`{"room":2}`)
	_, err = c.store.Accept(c.ctx, moved, c.now)
	c.refused("another state of the channel", err, adk.E_SESSION_CHANNEL_STATE_CHANGED)
	moved = c.delivery("one", "c")
	moved.Kind = "other"
	_, err = c.store.Accept(c.ctx, moved, c.now)
	c.refused("another kind of channel", err, adk.E_SESSION_CHANNEL_STATE_CHANGED)
	same := c.delivery("one", "c")
	same.ChannelState, same.Initiator = nil, json.RawMessage(`"eve"`)
	third, err := c.store.Accept(c.ctx, same, c.now)
	c.must(err)
	c.equal("Seq after what was refused", int64(3), third.Seq)
	l := c.load(c.claim("one"))
	c.equal("the state of the channel", `{"room":1}`, string(Canonical(l.ChannelState)))
	c.equal("the initiator", `"ada"`, string(l.Initiator))
	if l.Next == nil {
		c.wrong("there is no next delivery")
		return
	}
	c.equal("the next delivery", "a", l.Next.ID)
	c.equal("its payload", `{"say":"a"}`, string(l.Next.Payload))
	c.equal("its auth", `"ada"`, string(l.Next.Auth))
}

// start starts a delivery, with a lease of an hour.
func (c *storeCheck) start(id string) Started {
	s, err := c.store.Start(c.ctx, c.delivery("one", id), "owner", c.now, c.now.Add(time.Hour))
	c.must(err)
	return s
}

func (c *storeCheck) starts() {
	first := c.start("a")
	if !first.Begun { // a store may always do no more than Accept
		c.equal("Seq of a delivery that is new", int64(1), first.Seq)
		c.equal("an attempt at it", 1, c.begin(c.claim("one"), "a"))
		return
	}
	l := c.load(first.Claim)
	c.equal("what was started, and loaded", l, first.Loaded)
	c.equal("the attempts", 1, first.Attempts)
	c.equal("the state of the channel", `{"room":1}`, string(first.Loaded.ChannelState))
	c.equal("the initiator", `"ada"`, string(first.Loaded.Initiator))
	c.equal("the payload", `{"say":"a"}`, string(first.Payload))
	second := c.start("b")
	c.equal("begun while a host has the session", false, second.Begun)
	c.equal("Seq of the second", int64(2), second.Seq)
	c.must(c.store.Commit(c.ctx, first.Claim, Commit{Delivery: "a", Attempt: 1, At: c.now, Puts: map[string]Value{"k": valueOf(1, `1`)}, Snapshots: map[string]json.RawMessage{"p": json.RawMessage(`1`)}, Told: true, Release: true}))
	_, err := c.store.Load(c.ctx, first.Claim)
	c.refused("a load after the release", err, adk.E_SESSION_LEASE_LOST)
	c.equal("begun while another delivery waits", false, c.start("c").Begun)
	claim := c.claim("one")
	for i, id := range []string{"b", "c"} {
		c.must(c.store.Commit(c.ctx, claim, Commit{Delivery: id, Attempt: c.begin(claim, id), Revision: int64(i + 1), At: c.now, Told: id == "b"}))
	}
	c.must(c.store.Release(c.ctx, claim))
	c.equal("begun while an outcome is to be told", false, c.start("d").Begun)
	c.must(c.store.Notified(c.ctx, claim, Notice{Delivery: "c", Release: true, At: c.now}))
	claim = c.claim("one")
	c.must(c.store.Commit(c.ctx, claim, Commit{Delivery: "d", Attempt: c.begin(claim, "d"), Revision: 3, At: c.now}))
	c.must(c.store.Notified(c.ctx, Claim{SessionID: claim.SessionID, Owner: "owner", Epoch: claim.Epoch - 1}, Notice{Delivery: "d", Release: true, At: c.now}))
	c.equal("pending in a claim that another could not end", false, c.pending(c.now))
	c.load(claim)
	c.must(c.store.Notified(c.ctx, claim, Notice{Delivery: "d", Release: true, At: c.now}))
	c.startsAgain(claim)
}

// startsAgain goes on with a session that has four settled deliveries.
func (c *storeCheck) startsAgain(before Claim) {
	again := c.start("d")
	c.equal("known", true, again.Known)
	c.equal("begun of what is settled", false, again.Begun)
	other := c.delivery("one", "e")
	other.ChannelState = json.RawMessage(`{"room":2}`)
	_, err := c.store.Start(c.ctx, other, "owner", c.now, c.now.Add(time.Hour))
	c.refused("another state of the channel", err, adk.E_SESSION_CHANNEL_STATE_CHANGED)
	other = c.delivery("one", "d")
	other.Payload = json.RawMessage(`"another"`)
	_, err = c.store.Start(c.ctx, other, "owner", c.now, c.now.Add(time.Hour))
	c.refused("another payload", err, adk.E_DELIVERY_CONFLICT)
	same := c.delivery("one", "e")
	same.ChannelState, same.Auth, same.Initiator = nil, json.RawMessage(`"eve"`), json.RawMessage(`"eve"`)
	last, err := c.store.Start(c.ctx, same, "owner", c.now, c.now.Add(time.Hour))
	c.must(err)
	c.equal("begun of an idle session", true, last.Begun)
	if !last.Begun {
		return
	}
	c.equal("what was started, and loaded", c.load(last.Claim), last.Loaded)
	c.equal("the values", map[string]Value{"k": valueOf(1, `1`)}, last.Loaded.Values)
	c.equal("the snapshots", map[string]json.RawMessage{"p": json.RawMessage(`1`)}, last.Loaded.Snapshots)
	c.equal("the initiator", `"ada"`, string(last.Loaded.Initiator))
	c.equal("the auth", `"eve"`, string(last.Loaded.Next.Auth))
	c.equal("Seq", int64(5), last.Seq)
	c.equal("the revision", int64(4), last.Loaded.Revision)
	if last.Claim.Epoch <= before.Epoch {
		c.wrong("the epoch went from %d to %d, want it to rise", before.Epoch, last.Claim.Epoch)
	}
	_, err = c.store.Erase(c.ctx, before.SessionID, c.now)
	c.must(err)
	_, err = c.store.Start(c.ctx, c.delivery("one", "f"), "owner", c.now, c.now.Add(time.Hour))
	c.refused("a delivery after the erasing", err, adk.E_SESSION_ERASED)
}

func (c *storeCheck) manyStarters() {
	var mu sync.Mutex
	begun := 0
	c.together(func(i int) {
		if c.start(fmt.Sprint(i)).Begun {
			mu.Lock()
			defer mu.Unlock()
			begun++
		}
	})
	if begun > 1 {
		c.wrong("%d attempts have begun at once", begun)
	}
	page, err := c.store.History(c.ctx, SessionID{c.tenant, "one"}, 0, 2*senders)
	c.must(err)
	c.equal("how many deliveries are there", senders, len(page))
}

// senders is how many goroutines call a store at once.
const senders = 16

// together calls f from many goroutines at once.
func (c *storeCheck) together(f func(i int)) {
	var all sync.WaitGroup
	for i := range senders {
		all.Go(func() {
			if err := contained(func() error { f(i); return nil }); err != nil && !errors.Is(err, errGivenUp) {
				c.wrong("%v", err)
			}
		})
	}
	all.Wait()
}

func (c *storeCheck) manySenders() {
	seqs := make([]int64, senders)
	c.together(func(i int) { seqs[i] = c.accept("one", fmt.Sprint(i/2)).Seq })
	for i := 0; i < senders; i += 2 {
		c.equal("Seq of one delivery sent twice", seqs[i], seqs[i+1])
	}
	slices.Sort(seqs)
	for i, seq := range slices.Compact(seqs) {
		c.equal("Seq of deliveries sent at once", int64(i+1), seq)
	}
}

func (c *storeCheck) claims() {
	id := SessionID{c.tenant, "one"}
	c.accept("one", "a")
	c.equal("pending before the claim", true, c.pending(c.now))
	first := c.claim("one")
	c.equal("pending in the claim", false, c.pending(c.now))
	_, err := c.store.Claim(c.ctx, id, "other", c.now, c.now.Add(time.Hour))
	c.refused("a second claim", err, adk.E_SESSION_BUSY)
	c.must(c.store.Renew(c.ctx, first, c.now, c.now.Add(-time.Hour)))
	c.equal("pending when the lease is over", true, c.pending(c.now))
	second, err := c.store.Claim(c.ctx, id, "other", c.now, c.now.Add(time.Hour))
	c.must(err)
	if second.Epoch <= first.Epoch {
		c.wrong("the epoch went from %d to %d, want it to rise", first.Epoch, second.Epoch)
	}
	c.must(c.store.Release(c.ctx, second))
	third := c.claim("one")
	if third.Epoch <= second.Epoch {
		c.wrong("the epoch went from %d to %d, want it to rise", second.Epoch, third.Epoch)
	}
	_, err = c.store.Claim(c.ctx, SessionID{c.tenant, "none"}, "owner", c.now, c.now.Add(time.Hour))
	c.refused("a claim of no session", err, adk.E_SESSION_LEASE_LOST)
}

func (c *storeCheck) manyClaimers() {
	c.accept("one", "a")
	claimed := make([]bool, senders)
	c.together(func(i int) {
		_, err := c.store.Claim(c.ctx, SessionID{c.tenant, "one"}, fmt.Sprint(i), c.now, c.now.Add(time.Hour))
		if claimed[i] = err == nil; !claimed[i] {
			c.refused("a claim beside another", err, adk.E_SESSION_BUSY)
		}
	})
	n := 0
	for _, ok := range claimed {
		if ok {
			n++
		}
	}
	c.equal("claims that succeeded at once", 1, n)
}

func (c *storeCheck) fences() {
	c.accept("one", "a")
	old := c.claim("one")
	attempt := c.begin(old, "a")
	c.must(c.store.Renew(c.ctx, old, c.now, c.now.Add(-time.Hour)))
	present := c.claim("one")
	_, err := c.store.Load(c.ctx, old)
	c.refused("Load", err, adk.E_SESSION_LEASE_LOST)
	_, err = c.store.Begin(c.ctx, old, "a")
	c.refused("Begin", err, adk.E_SESSION_LEASE_LOST)
	c.refused("Renew", c.store.Renew(c.ctx, old, c.now, c.now.Add(time.Hour)), adk.E_SESSION_LEASE_LOST)
	c.refused("Commit", c.store.Commit(c.ctx, old, Commit{Delivery: "a", Attempt: attempt, At: c.now}), adk.E_SESSION_LEASE_LOST)
	c.refused("Fail", c.store.Fail(c.ctx, old, Failure{Delivery: "a", Attempt: attempt, At: c.now}), adk.E_SESSION_LEASE_LOST)
	c.equal("Release", nil, c.store.Release(c.ctx, old))
	c.refused("a commit of another's attempt", c.store.Commit(c.ctx, present, Commit{Delivery: "a", Attempt: attempt, At: c.now}), adk.E_SESSION_LEASE_LOST)
	attempt = c.begin(present, "a")
	c.equal("the second attempt", 2, attempt)
	c.refused("a commit on another revision", c.store.Commit(c.ctx, present, Commit{Delivery: "a", Attempt: attempt, Revision: 1, At: c.now}), adk.E_SESSION_LEASE_LOST)
	c.must(c.store.Commit(c.ctx, present, Commit{Delivery: "a", Attempt: attempt, At: c.now}))
	c.refused("a second commit", c.store.Commit(c.ctx, present, Commit{Delivery: "a", Attempt: attempt, Revision: 1, At: c.now}), adk.E_SESSION_LEASE_LOST)
	c.equal("Revision", int64(1), c.load(present).Revision)
}

func valueOf(version int, body string) Value { return Value{version, json.RawMessage(body)} }

func (c *storeCheck) commits() {
	c.accept("one", "a")
	c.accept("one", "b")
	claim := c.claim("one")
	child := c.delivery("child", "x")
	child.Parent = DeliveryID{claim.SessionID, "a"}
	c.must(c.store.Commit(c.ctx, claim, Commit{Delivery: "a", Attempt: c.begin(claim, "a"), TurnID: "turn", At: c.now, OutputFailed: true,
		Puts: map[string]Value{"k.a": valueOf(1, `1`), "k.b": valueOf(2, `"two"`)}, Snapshots: map[string]json.RawMessage{"p": json.RawMessage(`[1]`)}, Children: []Delivery{child}}))
	l := c.load(claim)
	c.equal("the values", map[string]Value{"k.a": valueOf(1, `1`), "k.b": valueOf(2, `"two"`)}, l.Values)
	c.equal("the snapshots", map[string]json.RawMessage{"p": json.RawMessage(`[1]`)}, l.Snapshots)
	if l.Next == nil || l.Next.ID != "b" {
		c.wrong("the next delivery is %v, want b", l.Next)
		return
	}
	a, found, err := c.store.Find(c.ctx, DeliveryID{claim.SessionID, "a"})
	c.must(err)
	c.equal("found", true, found)
	c.equal("the outcome", Outcome{Delivery: DeliveryID{claim.SessionID, "a"}, Seq: 1, State: Committed, Attempt: 1, TurnID: "turn", Revision: 1, OutputFailed: true}, a.Outcome)
	c.equal("the epoch", claim.Epoch, a.Epoch)
	c.must(c.store.Commit(c.ctx, claim, Commit{Delivery: "b", Attempt: c.begin(claim, "b"), Revision: 1, At: c.now, Told: true,
		Puts: map[string]Value{"k.b": valueOf(2, `"three"`)}, Deletes: []string{"k.a", "none"}}))
	l = c.load(claim)
	c.equal("the values after the second", map[string]Value{"k.b": valueOf(2, `"three"`)}, l.Values)
	c.equal("the snapshots that did not change", map[string]json.RawMessage{"p": json.RawMessage(`[1]`)}, l.Snapshots)
	c.equal("the revision", int64(2), l.Revision)
	if l.Next != nil {
		c.wrong("there is a next delivery, %s", l.Next.ID)
	}
	born := c.load(c.claim("child"))
	if born.Next == nil || born.Next.Parent != child.Parent {
		c.wrong("the child is not there with its parent")
	}
}

func (c *storeCheck) commitsAllOrNothing() {
	c.accept("one", "a")
	c.accept("child", "x")
	claim := c.claim("one")
	attempt := c.begin(claim, "a")
	refused := c.delivery("child", "x")
	refused.Payload = json.RawMessage(`"another"`)
	err := c.store.Commit(c.ctx, claim, Commit{Delivery: "a", Attempt: attempt, At: c.now, Puts: map[string]Value{"k": valueOf(1, `1`)},
		Snapshots: map[string]json.RawMessage{"p": json.RawMessage(`1`)}, Children: []Delivery{c.delivery("other", "y"), refused}})
	c.refused("a child in conflict", err, adk.E_DELIVERY_CONFLICT)
	err = c.store.Commit(c.ctx, claim, Commit{Delivery: "a", Attempt: attempt, At: c.now, Puts: map[string]Value{"k": valueOf(1, `1`)}, Children: []Delivery{c.delivery("one", "y")}})
	c.refused("a child of the same session", err, adk.E_INVALID_DELIVERY)
	l := c.load(claim)
	c.equal("the revision", int64(0), l.Revision)
	c.equal("how many values", 0, len(l.Values))
	c.equal("how many snapshots", 0, len(l.Snapshots))
	if l.Next == nil || l.Next.ID != "a" {
		c.wrong("the delivery is not the next any more")
	}
	_, found, err := c.store.Find(c.ctx, c.delivery("other", "y").DeliveryID())
	c.must(err)
	c.equal("whether the other child is there", false, found)
}

func (c *storeCheck) fails() {
	c.accept("one", "a")
	claim := c.claim("one")
	c.must(c.store.Fail(c.ctx, claim, Failure{Delivery: "a", Attempt: c.begin(claim, "a"), GiveBack: true, At: c.now}))
	c.equal("attempts after one was given back", 0, c.load(claim).Next.Attempts)
	c.must(c.store.Fail(c.ctx, claim, Failure{Delivery: "a", Attempt: c.begin(claim, "a"), Code: adk.E_INPUT_PIPELINE_ERROR, NotBefore: c.now.Add(time.Minute), At: c.now}))
	next := c.load(claim).Next
	c.equal("attempts after one", 1, next.Attempts)
	c.equal("the code of the last attempt", adk.E_INPUT_PIPELINE_ERROR, next.Outcome.Code)
	c.equal("when the next is due", asMillis(c.now.Add(time.Minute)), next.NotBefore.UTC())
	c.must(c.store.Release(c.ctx, claim))
	c.equal("pending before it is due", false, c.pending(c.now.Add(time.Second)))
	c.equal("pending when it is due", true, c.pending(c.now.Add(2*time.Minute)))
	c.equal("pending when the clock has run back", true, c.pending(c.now.Add(-2*MaxRetryPause)))
	claim = c.claim("one")
	attempt := c.begin(claim, "a")
	c.equal("the code of an attempt that is under way", adk.Code(""), c.load(claim).Next.Outcome.Code)
	c.must(c.store.Fail(c.ctx, claim, Failure{Delivery: "a", Attempt: attempt, GiveBack: true, Code: adk.E_INPUT_PIPELINE_ERROR, At: c.now}))
	c.equal("the code after one was given back", adk.E_INPUT_PIPELINE_ERROR, c.load(claim).Next.Outcome.Code)
	c.must(c.store.Fail(c.ctx, claim, Failure{Delivery: "a", Attempt: c.begin(claim, "a"), TurnID: "turn", Code: adk.E_INVALID_TURN_CONTEXT, Final: true, At: c.now}))
	a, _, err := c.store.Find(c.ctx, DeliveryID{claim.SessionID, "a"})
	c.must(err)
	c.equal("the outcome", Outcome{Delivery: DeliveryID{claim.SessionID, "a"}, Seq: 1, State: Failed, Attempt: 2, TurnID: "turn", Code: adk.E_INVALID_TURN_CONTEXT}, a.Outcome)
	_, err = c.store.Begin(c.ctx, claim, "a")
	c.refused("an attempt at what is settled", err, adk.E_SESSION_LEASE_LOST)
	again := c.accept("one", "a")
	c.equal("the outcome of what comes again", a.Outcome, again.Outcome)
}

func (c *storeCheck) leaves() {
	c.accept("one", "a")
	claim := c.claim("one")
	id := DeliveryID{claim.SessionID, "a"}
	writes := []Write{{Place: storage.Place{Partition: partitionOf(claim.SessionID), Collection: adk.Messages}, Verb: "store", Key: "m\x00%", Body: json.RawMessage(`{"id":"<m>"}`), TurnID: "turn", DispatchID: "dispatch"},
		{Place: storage.Place{Partition: partitionOf(claim.SessionID), Collection: adk.Messages}, Verb: "delete", Key: "n"}}
	c.must(c.store.Commit(c.ctx, claim, Commit{Delivery: "a", Attempt: c.begin(claim, "a"), At: c.now, Writes: writes}))
	l := c.load(claim)
	if len(l.Unapplied) != 1 || len(l.Untold) != 1 {
		c.wrong("%d deliveries to apply and %d to tell, want one each", len(l.Unapplied), len(l.Untold))
		return
	}
	c.equal("the writes", writes, l.Unapplied[0].Writes)
	c.must(c.store.Release(c.ctx, claim))
	c.equal("pending with writes", true, c.pending(c.now))
	c.must(c.store.Applied(c.ctx, id, c.now))
	c.equal("pending with an outcome to tell", true, c.pending(c.now))
	c.must(c.store.Notified(c.ctx, claim, Notice{Delivery: "a", At: c.now}))
	c.equal("pending with nothing left", false, c.pending(c.now))
	a, _, err := c.store.Find(c.ctx, id)
	c.must(err)
	c.equal("how many writes are left", 0, len(a.Writes))
	c.equal("when it was told", asMillis(c.now), a.NotifiedAt.UTC())
	c.must(c.store.Notified(c.ctx, claim, Notice{Delivery: "none", At: c.now}))
}

func (c *storeCheck) keepsBytes() {
	values := map[string]Value{
		"with.dots": valueOf(1, `{"a.b":"\u0000 \ud83c\udf89 é<>&"}`),
		"large":     valueOf(7, `"`+strings.Repeat("x", 64<<10)+`"`),
		"numbers":   valueOf(1, `[9007199254740993,1e400,-0.0]`),
		"spaced":    valueOf(1, `{ "a" : [ ] }`),
		"quote'%_é": valueOf(1, `null`),
	}
	c.accept("one", "a")
	claim := c.claim("one")
	c.must(c.store.Commit(c.ctx, claim, Commit{Delivery: "a", Attempt: c.begin(claim, "a"), Puts: values, At: c.now}))
	c.equal("the values", values, c.load(claim).Values)
}

func (c *storeCheck) keepsApart() {
	tenants := []string{c.tenant, c.tenant + "%", c.tenant + "_", strings.ToUpper(c.tenant), c.tenant + "'", c.tenant + "é", c.tenant + "🎉"}
	for i, tenant := range tenants {
		for _, session := range []string{"s", "S", "s ", "s%", "..", "s/s", `s"`} {
			d := c.delivery(session, "a")
			d.Tenant, d.Payload = tenant, json.RawMessage(fmt.Sprint(i))
			a, err := c.store.Accept(c.ctx, d, c.now)
			c.must(err)
			c.equal("Seq of the first of "+session, int64(1), a.Seq)
			claim, err := c.store.Claim(c.ctx, d.SessionID(), "owner", c.now, c.now.Add(time.Hour))
			c.must(err)
			c.must(c.store.Commit(c.ctx, claim, Commit{Delivery: "a", Attempt: c.begin(claim, "a"), Puts: map[string]Value{"k": valueOf(1, fmt.Sprint(i))}, At: c.now}))
		}
	}
	for i, tenant := range tenants {
		l, found, err := c.store.Look(c.ctx, SessionID{tenant, "s"})
		c.must(err)
		c.equal("found", true, found)
		c.equal("the value of tenant "+tenant, valueOf(1, fmt.Sprint(i)), l.Values["k"])
	}
	_, found, err := c.store.Look(c.ctx, SessionID{c.tenant, "none"})
	c.must(err)
	c.equal("whether a session is there that nobody began", false, found)
}

func (c *storeCheck) remembers() {
	const many = 5
	for i := range many {
		c.accept("one", fmt.Sprint(i))
	}
	c.accept("two", "a")
	id := SessionID{c.tenant, "one"}
	var seqs []int64
	for before := int64(0); ; {
		page, err := c.store.History(c.ctx, id, before, 2)
		c.must(err)
		if len(page) == 0 {
			break
		}
		for _, a := range page {
			seqs = append(seqs, a.Seq)
		}
		before = page[len(page)-1].Seq
		if len(seqs) > many {
			break
		}
	}
	c.equal("the history", []int64{5, 4, 3, 2, 1}, seqs)
}

func (c *storeCheck) forgets() {
	c.accept("one", "a")
	c.accept("one", "b")
	c.accept("two", "a")
	claim := c.claim("one")
	c.must(c.store.Commit(c.ctx, claim, Commit{Delivery: "a", Attempt: c.begin(claim, "a"), Puts: map[string]Value{"k": valueOf(1, `1`)}, Told: true, At: c.now}))
	_, oldest, err := c.store.Backlog(c.ctx)
	c.must(err)
	if oldest.IsZero() || oldest.After(c.now) {
		c.wrong("the oldest unsettled delivery is of %s, want %s or before", oldest, c.now)
	}
	_, err = c.store.Purge(c.ctx, c.now)
	c.must(err)
	_, found, err := c.store.Find(c.ctx, DeliveryID{claim.SessionID, "a"})
	c.must(err)
	c.equal("found after a purge of what is older", true, found)
	purged, err := c.store.Purge(c.ctx, c.now.Add(time.Second))
	c.must(err)
	if purged < 1 {
		c.wrong("%d deliveries were purged, want 1", purged)
	}
	c.equal("Seq after the purge", int64(3), c.accept("one", "a").Seq)
	epoch, err := c.store.Erase(c.ctx, claim.SessionID, c.now)
	c.must(err)
	c.equal("the epoch of what is erased", claim.Epoch+1, epoch)
	c.refused("a commit after the erasing", c.store.Commit(c.ctx, claim, Commit{Delivery: "b", Attempt: 1, Revision: 1, At: c.now}), adk.E_SESSION_LEASE_LOST)
	_, err = c.store.Accept(c.ctx, c.delivery("one", "c"), c.now)
	c.refused("a delivery after the erasing", err, adk.E_SESSION_ERASED)
	_, found, err = c.store.Look(c.ctx, claim.SessionID)
	c.must(err)
	c.equal("found after the erasing", false, found)
	page, err := c.store.History(c.ctx, claim.SessionID, 0, 10)
	c.must(err)
	c.equal("the history after the erasing", 0, len(page))
	c.equal("pending after the erasing", false, c.pending(c.now.Add(2*time.Hour)))
	left, err := c.store.Sessions(c.ctx, c.tenant, "", 10)
	c.must(err)
	c.equal("the sessions that are left", []SessionID{{c.tenant, "two"}}, left)
	erased, err := c.store.Erased(c.ctx, c.tenant, "", 10)
	c.must(err)
	c.equal("the sessions that are erased", []SessionID{claim.SessionID}, erased)
	erased, err = c.store.Erased(c.ctx, c.tenant, "one", 10)
	c.must(err)
	c.equal("how many are erased behind the last", 0, len(erased))
	epoch, err = c.store.Erase(c.ctx, SessionID{c.tenant, "none"}, c.now)
	c.must(err)
	c.equal("the epoch of a session that nobody began", int64(0), epoch)
}

func (c *storeCheck) raisesEpochs() {
	c.accept("one", "a")
	claim := c.claim("one")
	c.must(c.store.RaiseEpochs(c.ctx))
	_, err := c.store.Load(c.ctx, claim)
	c.refused("a claim of before", err, adk.E_SESSION_LEASE_LOST)
	c.claim("one")
}

func (c *storeCheck) heedsContexts() {
	done, cancel := context.WithCancelCause(c.ctx)
	cancel(errGivenUp)
	_, err := c.store.Accept(done, c.delivery("one", "a"), c.now)
	if !errors.Is(err, errGivenUp) {
		c.wrong("Accept: want the cause of the context, got %v", err)
	}
	c.equal("Seq after that", int64(1), c.accept("one", "a").Seq)
}
