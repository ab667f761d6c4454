package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/property/internal/wanted"
)

// ledger is a simple model of the store: what sessions must hold, derived from what calls of the
// store have answered, and from nothing else. An answer that does not follow from the earlier ones
// is a violation.
type ledger struct {
	mu       sync.Mutex
	actor    *process // the process whose call is reported
	accounts map[session.SessionID]*account
	order    []session.SessionID
	gone     map[session.SessionID]bool // sessions that were erased
	// forgotten are the erased sessions whose records are gone too, according to a host.
	forgotten []session.SessionID
	// wrote are the writes of commits, in order.
	wrote      []written
	told       []session.Outcome
	violations []Violation
}

// account is the model of a session.
type account struct {
	id       session.SessionID
	kind     string
	channel  json.RawMessage
	epoch    int64
	owner    string
	until    time.Time
	lease    time.Duration // its length, when it was taken or last renewed
	revision int64
	values   map[string]session.Value
	// snapshots are those of providers, by name.
	snapshots map[string]json.RawMessage
	entries   []*entry // in the order of Seq
}

// entry is the model of a delivery.
type entry struct {
	id, payload string
	state       session.DeliveryState
	attempts    int
	commits     int
	epoch       int64 // of its last attempt
	unapplied   bool
	tellings    int
	answer      *session.Outcome // the outcome that Deliver returned
	ids         wanted.IDs       // the ids that its attempts have made
	made        map[int]int      // the attempts that made the ids, by the numbers of the ids
	writes      []asking
	asked       []asking // all writes, including those that were recognized by their keys
}

// asking is a write that an attempt asked for.
type asking struct {
	wanted.Write
	attempt int
}

// written is a write of a commit.
type written struct {
	by session.SessionID
	session.Write
}

func newLedger() *ledger {
	return &ledger{accounts: map[session.SessionID]*account{}, gone: map[session.SessionID]bool{}}
}

// telling reports something about a process to the ledger.
func (l *ledger) telling(p *process, tell func(*ledger)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.actor = p
	tell(l)
	l.actor = nil
}

// wrong records a violation.
func (l *ledger) wrong(i *Invariant, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if l.actor != nil {
		text = "host " + l.actor.name + ": " + text
	}
	l.violations = append(l.violations, Violation{Invariant: i.Name, Rule: i.Rule, Text: text})
}

func (l *ledger) of(id session.SessionID) *account {
	a := l.accounts[id]
	if a == nil {
		a = &account{id: id, values: map[string]session.Value{}, snapshots: map[string]json.RawMessage{}}
		l.accounts[id] = a
		l.order = append(l.order, id)
	}
	return a
}

func (a *account) entry(id string) *entry {
	for _, e := range a.entries {
		if e.id == id {
			return e
		}
	}
	return nil
}

// next returns the first unsettled delivery and its Seq.
func (a *account) next() (*entry, int64) {
	for i, e := range a.entries {
		if !e.state.Settled() {
			return e, int64(i + 1)
		}
	}
	return nil, 0
}

func (a *account) String() string {
	if a.id.Tenant == "" {
		return fmt.Sprintf("session %q", a.id.Session)
	}
	return fmt.Sprintf("session %q of tenant %q", a.id.Session, a.id.Tenant)
}

// accepted records that a delivery was accepted.
func (l *ledger) accepted(d session.Delivery, got session.Accepted) {
	a := l.of(d.SessionID())
	if l.gone[a.id] {
		l.wrong(once, "%q was accepted by %s, which was erased", d.ID, a)
	}
	e := a.entry(d.ID)
	known := e != nil
	switch {
	case l.actor != nil && !l.actor.sends(d.DeliveryID()):
		l.wrong(once, "%q was accepted, which nobody has sent", d.ID)
	case known && e.payload != d.Digest():
		l.wrong(once, "%q was accepted with another payload than before", d.ID)
	case len(a.entries) > 0 && (a.kind != d.Kind || len(d.ChannelState) > 0 && !sameJSON(a.channel, d.ChannelState)):
		l.wrong(channels, "%q was accepted for another channel than the one that %s began with", d.ID, a)
	}
	if !known {
		e = &entry{id: d.ID, payload: d.Digest(), state: session.Unsettled, made: map[int]int{}}
		if len(a.entries) == 0 {
			a.kind, a.channel = d.Kind, d.ChannelState
		}
		a.entries = append(a.entries, e)
	}
	if seq := int64(slices.Index(a.entries, e) + 1); got.Seq != seq || got.Known != known || got.State != e.state {
		l.wrong(once, "%q of %s is number %d, %s, known %v: want number %d, %s, known %v", d.ID, a, got.Seq, got.State, got.Known, seq, e.state, known)
	}
}

func sameJSON(a, b json.RawMessage) bool {
	return bytes.Equal(session.Canonical(a), session.Canonical(b))
}

func (l *ledger) claimed(id session.SessionID, c session.Claim, now, until time.Time) {
	a := l.of(id)
	if c.SessionID != id {
		l.wrong(apart, "a claim of %s is one of session %q of tenant %q", a, c.Session, c.Tenant)
	}
	if c.Epoch <= a.epoch {
		l.wrong(epochs, "a claim of %s has epoch %d, and one before it had %d", a, c.Epoch, a.epoch)
	}
	if left := a.until.Sub(now); a.owner != "" && left > 0 && left <= 2*a.lease { // else a clock was set back
		l.wrong(epochs, "%s was claimed, and host %s has it for %s more", a, a.owner, a.until.Sub(now))
	}
	a.epoch, a.owner, a.until, a.lease = c.Epoch, c.Owner, until, until.Sub(now)
}

// started records an acceptance and, if an attempt has begun, also a claim, a load and a begin.
func (l *ledger) started(d session.Delivery, got session.Started, now, until time.Time) {
	l.accepted(d, got.Accepted)
	if got.Begun {
		l.claimed(d.SessionID(), got.Claim, now, until)
		l.loaded(got.Claim, got.Loaded)
		l.begun(got.Claim, d.ID, got.Loaded.Next.Attempts)
	}
}

// holds records a violation unless c is the last claim of its session.
func (l *ledger) holds(c session.Claim, what string) *account {
	a := l.of(c.SessionID)
	if c.Epoch != a.epoch {
		l.wrong(epochs, "%s of epoch %d succeeded at %s, which has epoch %d", what, c.Epoch, a, a.epoch)
	}
	return a
}

func (l *ledger) renewed(c session.Claim, now, until time.Time) {
	a := l.holds(c, "a renewal")
	a.until, a.lease = until, until.Sub(now)
}

func (l *ledger) released(c session.Claim) {
	if a := l.of(c.SessionID); a.epoch == c.Epoch {
		a.owner = ""
	}
}

func (l *ledger) loaded(c session.Claim, got session.Loaded) {
	a := l.holds(c, "a load")
	l.same(a, got)
	for _, name := range slices.Sorted(maps.Keys(a.snapshots)) {
		if want := a.snapshots[name]; !sameJSON(want, got.Snapshots[name]) {
			l.wrong(changes, "the provider %q of %s has the snapshot %.*s, and its commits have left %.*s", name, a, shownBytes, got.Snapshots[name], shownBytes, want)
		}
	}
	next, seq := a.next()
	switch {
	case next == nil && got.Next == nil:
	case next == nil || got.Next == nil || got.Next.ID != next.id || got.Next.Seq != seq:
		l.wrong(inOrder, "the next delivery of %s is %s, want %s", a, nameOf(got.Next), nameOfEntry(next, seq))
	case got.Next.SessionID() != a.id:
		l.wrong(apart, "the next delivery of %s is one of session %q of tenant %q", a, got.Next.Session, got.Next.Tenant)
	case got.Next.Digest() != next.payload:
		l.wrong(once, "%q of %s has another payload than was accepted", next.id, a)
	}
}

func nameOf(d *session.Accepted) string {
	if d == nil {
		return "none"
	}
	return fmt.Sprintf("%q, number %d", d.ID, d.Seq)
}

func nameOfEntry(e *entry, seq int64) string {
	if e == nil {
		return "none"
	}
	return fmt.Sprintf("%q, number %d", e.id, seq)
}

// same compares what a session has with what it must have.
func (l *ledger) same(a *account, got session.Loaded) {
	if got.SessionID != a.id {
		l.wrong(apart, "session %q of tenant %q was given in the place of %s", got.Session, got.Tenant, a)
	}
	if got.Revision != a.revision {
		l.wrong(once, "%s has revision %d after %d commits", a, got.Revision, a.revision)
	}
	keys := maps.Clone(a.values)
	maps.Copy(keys, got.Values)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		held, has := got.Values[key]
		want, wanted := a.values[key]
		if has == wanted && held.Version == want.Version && sameJSON(held.Body, want.Body) {
			continue
		}
		i := changes
		if has && l.isOthers(a, key, held) {
			i = apart
		}
		l.wrong(i, "%s holds %s under %q, and its commits have left %s", a, shown(held, has), key, shown(want, wanted))
	}
}

// isOthers reports whether a session of another tenant has the value under the key.
func (l *ledger) isOthers(a *account, key string, v session.Value) bool {
	for id, other := range l.accounts {
		if held, has := other.values[key]; has && id.Tenant != a.id.Tenant && sameJSON(held.Body, v.Body) {
			return true
		}
	}
	return false
}

// shownBytes is how much of a value is shown.
const shownBytes = 60

func shown(v session.Value, has bool) string {
	if !has {
		return "nothing"
	}
	return fmt.Sprintf("%.*s", shownBytes, v.Body)
}

func (l *ledger) begun(c session.Claim, id string, attempt int) {
	if l.actor != nil {
		l.actor.began, l.actor.kept, l.actor.tries = c.SessionID, map[string]bool{}, nil
	}
	a := l.holds(c, "an attempt")
	e := a.entry(id)
	if l.actor != nil {
		l.actor.tries, l.actor.attempt = e, attempt
	}
	if e == nil {
		l.wrong(apart, "an attempt was begun at %q, which %s has not", id, a)
		return
	}
	if next, seq := a.next(); next != e {
		l.wrong(inOrder, "an attempt was begun at %q of %s, want %s", id, a, nameOfEntry(next, seq))
	}
	if e.attempts++; attempt != e.attempts {
		l.wrong(changes, "attempt %d at %q of %s was begun, want %d", attempt, id, a, e.attempts)
	}
	e.epoch = c.Epoch
}

// made records an id that a turn makes.
func (l *ledger) made(x *adk.Crossing) {
	if e := l.actor.tries; e != nil {
		one := *x
		one.Seq = len(e.made) + 1 // numbered through all attempts
		e.made[one.Seq] = l.actor.attempt
		e.ids.Take(&one)
	}
}

// asked records a write. If an earlier attempt has asked for the same write, that one was done,
// whatever became of the attempt, and only an equal key prevents it from being done again. A write
// with the same key is recognized. A write whose key was not made for its attempt is a different
// write.
func (l *ledger) asked(w wanted.Write) {
	e := l.actor.tries
	if e == nil {
		return
	}
	this := e.ids.Apart(w)
	before, attempt := 0, l.actor.attempt
	e.asked = append(e.asked, asking{w, attempt})
	for _, other := range e.writes {
		that := e.ids.Apart(other.Write)
		switch {
		case this.One != "" && this.One == that.One:
			return
		case this.General == that.General && other.attempt != attempt && (this.One == "" || e.isMadeFor(attempt, this, other.attempt, that)):
			before = other.attempt
		}
	}
	e.writes = append(e.writes, asking{w, attempt})
	switch {
	case before == 0:
	case this.One == "":
		l.wrong(doneOnce, "%s writes the same in attempt %d at %q as in attempt %d, and has no idempotency key to be known by", w.By, attempt, e.id, before)
	default:
		l.hasAnotherKey(w, attempt, e, before)
	}
}

func (l *ledger) hasAnotherKey(w wanted.Write, attempt int, e *entry, before int) {
	l.wrong(doneOnce, "%s writes the same in attempt %d at %q as in attempt %d, and its idempotency key is another: that of a delivery stays where it is made of session.Seed.Delivery", w.By, attempt, e.id, before)
}

// knownAgain compares the writes of the attempt that is committed with those of earlier attempts
// that are equal except for their keys. The committed attempt has ended, so it has repeated these
// writes, in whatever order its strands made them. If it has made at least as many, and none under
// a key of the earlier attempt, the keys are made of something that does not stay the same, such as
// the time or a digest of an id.
func (l *ledger) knownAgain(e *entry) {
	keys := make([]map[string]map[string]bool, e.attempts+1) // of each attempt, by what is written
	said := map[string]bool{}
	for _, one := range e.asked {
		this := e.ids.Apart(one.Write)
		if this.One == "" || one.attempt > e.attempts {
			continue
		}
		if keys[one.attempt] == nil {
			keys[one.attempt] = map[string]map[string]bool{}
		}
		if keys[one.attempt][this.General] == nil {
			keys[one.attempt][this.General] = map[string]bool{}
		}
		keys[one.attempt][this.General][this.One] = true
	}
	for _, one := range e.asked {
		what := e.ids.Apart(one.Write).General
		now, then := keys[e.attempts][what], keys[min(one.attempt, e.attempts)][what]
		isKnown := func(key string) bool { return then[key] }
		if one.attempt >= e.attempts || len(then) == 0 || len(now) < len(then) || said[what] || slices.ContainsFunc(slices.Collect(maps.Keys(now)), isKnown) {
			continue
		}
		said[what] = true
		l.hasAnotherKey(one.Write, e.attempts, e, one.attempt)
	}
}

// isMadeFor reports whether the keys of two writes were each made for their own attempt: both were
// made in them, or they differ only in the number of the attempt.
func (e *entry) isMadeFor(attempt int, this wanted.Parts, before int, that wanted.Parts) bool {
	made := func(p wanted.Parts, attempt int) bool { return p.Latest > 0 && e.made[p.Latest] == attempt }
	numbers, others := wholeNumber.FindAllString(this.One, -1), wholeNumber.FindAllString(that.One, -1)
	isOfAttempts := wholeNumber.ReplaceAllString(this.One, "#") == wholeNumber.ReplaceAllString(that.One, "#")
	for i := 0; isOfAttempts && i < len(numbers); i++ {
		isOfAttempts = numbers[i] == others[i] || numbers[i] == strconv.Itoa(attempt) && others[i] == strconv.Itoa(before)
	}
	return isOfAttempts || made(this, attempt) && made(that, before)
}

var wholeNumber = regexp.MustCompile(`[0-9]+`)

func (l *ledger) committed(c session.Claim, change session.Commit) {
	a := l.holds(c, "a commit")
	e := a.entry(change.Delivery)
	if e == nil {
		l.wrong(apart, "%q was committed, which %s has not", change.Delivery, a)
		return
	}
	if e.commits++; e.commits > 1 {
		l.wrong(once, "%q of %s was committed %d times", e.id, a, e.commits)
	}
	if next, seq := a.next(); next != e {
		l.wrong(inOrder, "%q of %s was committed, want %s", e.id, a, nameOfEntry(next, seq))
	}
	if change.Revision != a.revision || change.Attempt != e.attempts || e.epoch != c.Epoch {
		l.wrong(epochs, "attempt %d at %q of %s was committed on revision %d, want attempt %d of epoch %d, on %d", change.Attempt, e.id, a, change.Revision, e.attempts, e.epoch, a.revision)
	}
	l.knownAgain(e)
	e.state = session.Committed
	e.unapplied = !change.Held && len(change.Writes) > 0
	a.revision++
	maps.Copy(a.values, change.Puts)
	maps.Copy(a.snapshots, change.Snapshots)
	for _, key := range change.Deletes {
		delete(a.values, key)
	}
	for _, w := range change.Writes {
		l.wrote = append(l.wrote, written{a.id, w})
	}
	for _, child := range change.Children {
		l.child(child)
	}
	if change.Release {
		l.released(c)
	}
}

// child records a delivery that a commit has accepted.
func (l *ledger) child(d session.Delivery) {
	if a := l.of(d.SessionID()); a.entry(d.ID) == nil {
		if len(a.entries) == 0 {
			a.kind, a.channel = d.Kind, d.ChannelState
		}
		a.entries = append(a.entries, &entry{id: d.ID, payload: d.Digest(), state: session.Unsettled, made: map[int]int{}})
	}
}

func (l *ledger) failed(c session.Claim, f session.Failure) {
	a := l.holds(c, "a failure")
	e := a.entry(f.Delivery)
	if e == nil {
		l.wrong(apart, "%q has failed, which %s has not", f.Delivery, a)
		return
	}
	if next, seq := a.next(); next != e {
		l.wrong(inOrder, "%q of %s has failed, want %s", e.id, a, nameOfEntry(next, seq))
	}
	if f.GiveBack {
		e.attempts--
	}
	if f.Final {
		e.state = session.Failed
	}
}

func (l *ledger) applied(id session.DeliveryID) {
	if e := l.of(id.SessionID).entry(id.Delivery); e != nil {
		e.unapplied = false
	}
}

// erased removes a session.
func (l *ledger) erased(id session.SessionID) {
	if a := l.accounts[id]; a == nil || len(a.entries) == 0 && !l.gone[id] {
		return // there is nothing to erase
	}
	l.gone[id] = true
	delete(l.accounts, id)
	l.order = slices.DeleteFunc(l.order, func(one session.SessionID) bool { return one == id })
	l.wrote = slices.DeleteFunc(l.wrote, func(w written) bool { return w.by == id && w.Place.Session != "" })
}

// forgets notes that a host has erased a session with its records, if that session existed.
func (l *ledger) forgets(id session.SessionID) {
	if l.gone[id] {
		l.forgotten = append(l.forgotten, id)
	}
}

// found compares what the store says of a delivery with the model.
func (l *ledger) found(id session.DeliveryID, got session.Accepted, known bool) {
	a := l.of(id.SessionID)
	e := a.entry(id.Delivery)
	if known != (e != nil) || known && got.State != e.state {
		l.wrong(once, "%q of %s is known %v, %s, and it should be %s", id.Delivery, a, known, got.State, stateOf(e))
	}
}

func stateOf(e *entry) string {
	if e == nil {
		return "unknown"
	}
	return string(e.state)
}

// notified records an outcome that Config.Notify received.
func (l *ledger) notified(o session.Outcome) {
	l.told = append(l.told, o)
	a := l.of(o.Delivery.SessionID)
	if l.gone[a.id] { // it was settled before it was erased
		return
	}
	e := a.entry(o.Delivery.Delivery)
	if e == nil || !e.state.Settled() || o.State != e.state {
		l.wrong(told, "somebody was told that %q of %s is %s, and it is %s", o.Delivery.Delivery, a, o.State, stateOf(e))
	}
	if e != nil {
		e.tellings++
	}
}

// stepped compares a step that a host writes to its journal with what the host did.
func (l *ledger) stepped(s session.Step) {
	a := l.of(s.SessionID)
	e := a.entry(s.Delivery)
	if e == nil {
		return
	}
	committed := e.state == session.Committed && e.epoch == s.Epoch && e.attempts == s.Attempt
	switch {
	case s.Kind == session.StepCommitted && !committed:
		l.wrong(changes, "the journal has a commit of attempt %d at %q of %s, which has not committed", s.Attempt, e.id, a)
	case s.Kind == session.StepDropped && committed:
		l.wrong(changes, "the journal has attempt %d at %q of %s as dropped, which has committed", s.Attempt, e.id, a)
	case s.Kind == session.StepFailed && e.state != session.Failed:
		l.wrong(changes, "the journal has %q of %s as failed, and it is %s", e.id, a, e.state)
	}
}

// answered records the outcome that Deliver returned for a settled delivery.
func (l *ledger) answered(d session.Delivery, o session.Outcome) {
	a := l.of(d.SessionID())
	e := a.entry(d.ID)
	if l.gone[a.id] { // it was settled before it was erased
		return
	}
	if o.Delivery != d.DeliveryID() {
		l.wrong(apart, "Deliver of %s answers for %s", d.DeliveryID(), o.Delivery)
		return
	}
	if e == nil || !e.state.Settled() || o.State != e.state {
		l.wrong(told, "Deliver says that %q of %s is %s, and it is %s", d.ID, a, o.State, stateOf(e))
		return
	}
	o.Duplicate = false
	if e.answer != nil && *e.answer != o {
		l.wrong(once, "Deliver said %+v of %q, and says %+v", *e.answer, d.ID, o)
	}
	e.answer = &o
}

// audit compares the contents of a store with the ledger.
func (l *ledger) audit(store session.Store) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx := context.Background()
	for _, id := range l.order {
		a := l.accounts[id]
		if len(a.entries) == 0 {
			continue
		}
		got, found, err := store.Look(ctx, id)
		if err != nil || !found {
			l.wrong(once, "%s is not there: %v", a, err)
			continue
		}
		l.same(a, got)
		all, err := store.History(ctx, id, 0, len(a.entries)+1)
		if err != nil || len(all) != len(a.entries) {
			l.wrong(once, "%s has %d deliveries, want %d: %v", a, len(all), len(a.entries), err)
			continue
		}
		for i, e := range a.entries {
			got := all[len(all)-1-i]
			if got.ID != e.id || got.State != e.state || got.Attempts != e.attempts {
				l.wrong(once, "number %d of %s is %q, %s, after %d attempts, want %q, %s, after %d", i+1, a, got.ID, got.State, got.Attempts, e.id, e.state, e.attempts)
			}
		}
	}
}

// unsettled lists the deliveries that are not settled, or not applied.
func (l *ledger) unsettled() (texts []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.order {
		for _, e := range l.accounts[id].entries {
			switch {
			case !e.state.Settled():
				texts = append(texts, fmt.Sprintf("%q of %s is not settled", e.id, l.accounts[id]))
			case e.unapplied:
				texts = append(texts, fmt.Sprintf("what %q of %s has stored is not written", e.id, l.accounts[id]))
			}
		}
	}
	return texts
}

// untold lists the settled deliveries of which no outcome was reported.
func (l *ledger) untold() (texts []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.order {
		for _, e := range l.accounts[id].entries {
			if e.state.Settled() && e.tellings == 0 {
				texts = append(texts, fmt.Sprintf("nobody was told that %q of %s is %s", e.id, l.accounts[id], e.state))
			}
		}
	}
	return texts
}

// row is a record as a storage must hold it.
type row struct {
	key  string
	body json.RawMessage
}

// rows returns what the commits have left in each place, in addition to what was there before.
func (l *ledger) rows(before map[storage.Place][]row) map[storage.Place][]row {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[storage.Place][]row{}
	for place, rows := range before {
		all[place] = slices.Clone(rows)
	}
	for _, w := range l.wrote {
		rows := all[w.Place]
		at := slices.IndexFunc(rows, func(r row) bool { return r.key == w.Key })
		switch {
		case len(w.Body) == 0 && at >= 0:
			rows = slices.Delete(slices.Clone(rows), at, at+1)
		case len(w.Body) == 0: // it deletes what is not there
		case at >= 0:
			rows[at].body = w.Body
		default:
			rows = append(rows, row{w.Key, w.Body})
		}
		all[w.Place] = rows
	}
	return all
}

// hasTenantBeside reports whether another tenant has sessions.
func (l *ledger) hasTenantBeside(tenant string) bool {
	return slices.ContainsFunc(l.order, func(id session.SessionID) bool { return id.Tenant != tenant })
}

// fetched compares a record that a turn has fetched with what other tenants have stored.
func (l *ledger) fetched(id session.SessionID, of adk.CollectionName, r row) {
	others := ""
	for _, w := range l.wrote {
		if w.Place.Collection != of || w.Key != r.key || !sameJSON(w.Body, r.body) {
			continue
		}
		if w.by.Tenant == id.Tenant {
			return
		}
		others = w.by.Tenant
	}
	if others != "" {
		l.wrong(apart, "a turn of tenant %q has fetched %q of %s, which tenant %q has stored", id.Tenant, r.key, of, others)
	}
}
