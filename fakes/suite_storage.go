package fakes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/adkreplay/adkreplay/adk"
)

// TestStorage checks a storage that keeps what it is given. It reports each fault once, with the
// rule that it breaks, the collections and the checks in which it shows, and where the storage
// panicked; nil means there are none. newStorage is called for each check, and must return a
// storage that holds nothing written by the checks.
//
//	if err := fakes.TestStorage(newStorage); err != nil {
//		t.Error(err)
//	}
//
// Obligations are called as a turn input middleware would call them: their Scope has the id of a
// turn, the same for all of them, no dispatch, and the stash of that turn. The stash holds the
// given values, for example for a storage that reads its tenant there. Without values it is empty,
// but never nil.
//
// A storage that keeps nothing is legal (RUN-2), but fails these checks. TestStorageWith checks
// more of a storage, if the caller says what the storage can do.
func TestStorage(newStorage func() adk.Storage, stash ...map[string]any) error {
	all := map[string]any{}
	for _, values := range stash {
		maps.Copy(all, values)
	}
	return TestStorageWith(newStorage, Suite{Stash: all})
}

// Suite says what TestStorageWith should know about a storage. The zero Suite checks only what
// holds for every storage.
type Suite struct {
	// Stash is the stash of the turn whose obligations are called.
	Stash map[string]any
	// Reopen closes the storage that was made last and opens it again, as another process would.
	// Nil means that the storage does not last.
	Reopen func() (adk.Storage, error)
	// Scopes are other partitions, each different from that of Stash and from one another.
	Scopes []OtherScope
	// Break makes the next write of the storage that was made last fail. Nil means that it cannot
	// be broken.
	Break func()
	// AnyOrder says that the storage itself decides the order of a fetch. The checks then do not
	// require that records come in the order in which their keys were first stored (STO-5).
	AnyOrder bool
	// Many is how many messages the check of a long session stores; 0 means 10,000.
	Many int
}

// OtherScope is a turn of another partition.
type OtherScope struct {
	// Stash is the stash of that turn.
	Stash map[string]any
	// Shared are the collections that the turn shares with the turn of Suite.Stash.
	Shared []adk.CollectionName
}

// usuallyMany is how many messages a long session has by default.
const usuallyMany = 10_000

// TestStorageWith is TestStorage for a storage of which more is known: that it lasts, that it has
// partitions, how to break it.
func TestStorageWith(newStorage func() adk.Storage, suite Suite) error {
	if suite.Many == 0 {
		suite.Many = usuallyMany
	}
	s := storageSuite{Suite: suite, newStorage: newStorage}
	stashes := []map[string]any{suite.Stash}
	for _, other := range suite.Scopes {
		stashes = append(stashes, other.Stash)
	}
	run := watchedRun{progress: s.calls.Load, cancel: func() {}}
	var err error
	if hung := run.do(func() { err = s.inTurns(stashes, nil) }); hung != nil {
		return errors.Join(s.result(), fmt.Errorf("RUN-2: an obligation answers: in the check %v: %w", s.check.Load(), hung))
	}
	if err != nil {
		return err
	}
	return s.result()
}

// storageSuite is one run of the checks.
type storageSuite struct {
	Suite
	newStorage func() adk.Storage
	scope      adk.Scope
	others     []adk.Scope  // the scopes of the turns of Suite.Scopes
	calls      atomic.Int64 // how many calls of obligations have returned; shows that the checks go on
	check      atomic.Value // the name of the running check
	mu         sync.Mutex
	faults     []*storageFault
}

// inTurns runs all checks inside nested turns, one for each stash, because a storage may read the
// stash of a turn through the Scope of a call.
func (s *storageSuite) inTurns(stashes []map[string]any, scopes []adk.Scope) error {
	if len(stashes) == 0 {
		s.scope, s.others = scopes[0], scopes[1:]
		s.checkCollections()
		s.checkTools()
		return nil
	}
	within := func(_ context.Context, tc *adk.TurnContext, _ adk.Next) error {
		return s.inTurns(stashes[1:], append(scopes, adk.Scope{TurnID: tc.TurnID(), Stash: tc.Stash()}))
	}
	storage := NoOpStorage()
	if len(scopes) == 0 {
		storage = s.newStorage()
	}
	runner, err := adk.NewRunner(Deterministic(adk.Config{Executor: Script{}.Executor("suite"), Storage: storage,
		TurnInput: []adk.TurnMiddleware{{Name: "suite", Run: within}}}))
	if err != nil {
		return fmt.Errorf("RUN-2: every obligation is there: %w", err)
	}
	var failed error
	runner.Observe(adk.Observability{Error: func(e adk.ErrorEvent) { failed = e.Error }})
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "suite", Stash: stashes[0]}); err != nil {
		return fmt.Errorf("the stash given: %w", err)
	}
	if cause, ok := errors.AsType[*adk.Error](failed); ok && cause.Stage == "turn-input" {
		return cause.Cause
	}
	return nil
}

// storageFault is one fault, with all places in which it shows.
type storageFault struct {
	collections, rules, checks []string
	err                        error
	stack                      string // where it panicked
}

// Error describes the fault and the checks in which it shows.
func (f *storageFault) Error() string {
	text := fmt.Sprintf("%s: %s: %v", strings.Join(f.collections, ", "), strings.Join(f.rules, "; "), f.err)
	if len(f.checks) > 1 {
		text += "\n    in the checks " + strings.Join(f.checks, ", ")
	}
	return text + f.stack
}

func (f *storageFault) Unwrap() error { return f.err }

// panickedAt returns the innermost call of the stack, whatever called it.
func (f *storageFault) panickedAt() string {
	first, _, _ := strings.Cut(strings.TrimPrefix(f.stack, "\n"), "\n")
	return first
}

// result joins all faults and merges equal ones. Broken rules are equal if rule and text are the
// same, whatever the collection. Errors and panics are equal if text and place are the same,
// whatever the rule.
func (s *storageSuite) result() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []error
	known := map[string]*storageFault{}
	for _, f := range s.faults {
		key := f.err.Error() + f.panickedAt()
		if errors.As(f.err, new(*brokenRule)) {
			key += f.rules[0]
		}
		first := known[key]
		if first == nil {
			known[key] = f
			all = append(all, f)
			continue
		}
		for _, list := range []struct{ to, from *[]string }{{&first.collections, &f.collections}, {&first.rules, &f.rules}, {&first.checks, &f.checks}} {
			if one := (*list.from)[0]; !slices.Contains(*list.to, one) {
				*list.to = append(*list.to, one)
			}
		}
	}
	return errors.Join(all...)
}

// brokenRule is a fault that shows in what a storage holds, as opposed to an error that it returns.
type brokenRule struct{ text string }

func (e *brokenRule) Error() string { return e.text }

// sample makes a record with a key. text is the record's content, for records that have a content
// besides their key.
type sample[T adk.Record] func(key, text string) (T, error)

// shelfOf is a collection together with records to check it with.
type shelfOf[T adk.Record] struct {
	name   adk.CollectionName
	in     func(adk.Storage) adk.Collection[T]
	sample sample[T]
	edgy   func() ([]T, error) // makes records that are hard to store without loss
}

// trial is one check of an empty collection.
type trial[T adk.Record] struct {
	shelfOf[T]
	suite *storageSuite
	check string
	c     adk.Collection[T]
}

func checkCollection[T adk.Record](s *storageSuite, shelf shelfOf[T]) {
	for _, check := range []struct {
		name string
		run  func(*trial[T])
	}{
		{"keeps", (*trial[T]).keeps}, {"replaces", (*trial[T]).replaces}, {"mutates", (*trial[T]).mutates}, {"deletes", (*trial[T]).deletes},
		{"heeds its context", (*trial[T]).heedsContext}, {"keeps order", (*trial[T]).keepsOrder}, {"lends nothing", (*trial[T]).lendsNothing}, {"serves many", (*trial[T]).servesMany},
		{"first come", (*trial[T]).firstCome}, {"any key", (*trial[T]).anyKey}, {"to the edge", (*trial[T]).toTheEdge}, {"one key", (*trial[T]).oneKey},
		{"whole while written", (*trial[T]).wholeWhileWritten}, {"lasts", (*trial[T]).lasts}, {"partitions", (*trial[T]).partitions},
		{"fails whole", (*trial[T]).failsWhole}, {"holds many", (*trial[T]).holdsMany},
	} {
		t := &trial[T]{shelfOf: shelf, suite: s, check: check.name}
		func() {
			defer t.recovered()
			s.check.Store(fmt.Sprintf("%q of %s", check.name, shelf.name))
			t.c = t.in(s.newStorage())
			check.run(t)
		}()
	}
}

// recovered records a panic as a fault. The panic comes from the storage, or from a nil record that
// the storage returned. It must be deferred.
func (t *trial[T]) recovered() {
	if value := recover(); value != nil {
		t.add("RUN-2: obligations do not panic", fmt.Errorf("panic: %s", adk.PanicText(value)), panicStack())
	}
}

// ownFunction is the prefix of the names of this suite's functions in a stack.
const ownFunction = "github.com/adkreplay/adkreplay/fakes.(*trial["

// panicStack describes the calls between the panic that is being recovered and this suite.
func panicStack() (text string) {
	var callers [64]uintptr
	const skip = 3 // runtime.Callers, panicStack and recovered
	frames := runtime.CallersFrames(callers[:runtime.Callers(skip, callers[:])])
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, ownFunction) || !more {
			return text
		}
		if !strings.HasPrefix(f.Function, "runtime.") {
			text += fmt.Sprintf("\n    at %s, %s:%d", f.Function, f.File, f.Line)
		}
	}
}

func (t *trial[T]) keeps() {
	const rule = "RUN-13: what is stored can be fetched"
	t.holds(rule, nil)
	t.store(rule, "a", "1")
	t.store(rule, "b", "2")
	t.holds(rule, map[string]string{"a": "1", "b": "2"})
}

func (t *trial[T]) replaces() {
	const rule = "DEL-4: storing a key that is there replaces its record"
	t.store(rule, "a", "1")
	t.store(rule, "a", "2")
	t.holds(rule, map[string]string{"a": "2"})
}

func (t *trial[T]) mutates() {
	const rule = "DEL-4: mutate replaces the record with the key, or keeps a new one"
	t.store(rule, "a", "1")
	t.mutate(rule, "a", "2")
	t.mutate(rule, "b", "3")
	t.holds(rule, map[string]string{"a": "2", "b": "3"})
}

func (t *trial[T]) deletes() {
	const rule = "DEL-4: delete removes by key, and an unknown key is no error"
	t.store(rule, "a", "1")
	t.store(rule, "b", "2")
	t.must(rule, "delete", t.c.Delete(context.Background(), t.suite.scope, "a"))
	t.must(rule, "delete of a key that is gone", t.c.Delete(context.Background(), t.suite.scope, "a"))
	t.holds(rule, map[string]string{"b": "2"})
}

func (t *trial[T]) heedsContext() {
	const rule = "RUN-2: an obligation whose context has ended fails, and does nothing"
	t.store(rule, "a", "1")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := t.c.Fetch(ctx, t.suite.scope)
	t.refused(rule, "fetch", err)
	t.refused(rule, "store", t.c.Store(ctx, t.suite.scope, t.record(rule, "b", "2")))
	t.refused(rule, "mutate", t.c.Mutate(ctx, t.suite.scope, t.record(rule, "a", "3")))
	t.refused(rule, "delete", t.c.Delete(ctx, t.suite.scope, "a"))
	t.holds(rule, map[string]string{"a": "1"})
}

func (t *trial[T]) refused(rule, what string, err error) {
	if err == nil {
		t.fault(rule, "%s with a context that has ended gave no error", what)
	}
}

func (t *trial[T]) keepsOrder() {
	const rule = "DET-3: two fetches give the same order"
	for i := range 20 {
		t.store(rule, strconv.Itoa(i), "x")
	}
	first := t.fetch(rule)
	for range 5 {
		if again := t.fetch(rule); !slices.EqualFunc(first, again, func(a, b T) bool { return a.Key() == b.Key() }) {
			t.fault(rule, "fetched the same records in another order")
			return
		}
	}
}

func (t *trial[T]) lendsNothing() {
	const rule = "RUN-11: what a fetch gives is the caller's own"
	t.store(rule, "a", "1")
	t.store(rule, "b", "2")
	if fetched := t.fetch(rule); len(fetched) > 1 {
		fetched[0] = fetched[1]
	}
	t.holds(rule, map[string]string{"a": "1", "b": "2"})
}

// manyWriters is how many goroutines write concurrently.
const manyWriters = 64

func (t *trial[T]) servesMany() {
	const rule = "RUN-11: obligations serve several goroutines at once"
	want := map[string]string{}
	var all []T
	for i := range manyWriters {
		key := strconv.Itoa(i)
		want[key] = "x"
		all = append(all, t.record(rule, key, "x"))
	}
	var wg sync.WaitGroup
	for _, record := range all {
		wg.Go(func() { t.fetchAndStore(rule, record) })
	}
	wg.Wait()
	t.holds(rule, want)
}

// fetchAndStore runs on its own goroutine, where a panic that is not recovered would end the whole
// test.
func (t *trial[T]) fetchAndStore(rule string, record T) {
	defer t.recovered()
	_ = t.fetch(rule)
	t.must(rule, "store", t.c.Store(context.Background(), t.suite.scope, record))
}

// add records a fault.
func (t *trial[T]) add(rule string, err error, stack string) {
	t.suite.mu.Lock()
	defer t.suite.mu.Unlock()
	t.suite.faults = append(t.suite.faults, &storageFault{[]string{string(t.name)}, []string{rule}, []string{t.check}, err, stack})
}

func (t *trial[T]) fault(rule, format string, args ...any) {
	t.add(rule, &brokenRule{fmt.Sprintf(format, args...)}, "")
}

func (t *trial[T]) must(rule, what string, err error) {
	t.suite.calls.Add(1)
	if err != nil {
		t.add(rule, fmt.Errorf("%s failed: %w", what, err), "")
	}
}

// record makes a sample. If it cannot be made, that is a fault of this suite.
func (t *trial[T]) record(rule, key, text string) T {
	record, err := t.sample(key, text)
	t.must(rule, "making a record", err)
	return record
}

func (t *trial[T]) store(rule, key, text string) {
	t.must(rule, "store", t.c.Store(context.Background(), t.suite.scope, t.record(rule, key, text)))
}

func (t *trial[T]) mutate(rule, key, text string) {
	t.must(rule, "mutate", t.c.Mutate(context.Background(), t.suite.scope, t.record(rule, key, text)))
}

func (t *trial[T]) fetch(rule string) []T {
	fetched, err := t.c.Fetch(context.Background(), t.suite.scope)
	t.must(rule, "fetch", err)
	return fetched
}

// holds checks that the collection holds exactly the records with these keys and texts.
func (t *trial[T]) holds(rule string, want map[string]string) {
	missing := maps.Clone(want)
	seen := map[string]bool{}
	for _, got := range t.fetch(rule) {
		key := got.Key()
		if seen[key] {
			t.fault(rule, "fetched %q twice", key)
		}
		seen[key] = true
		text, wanted := want[key]
		delete(missing, key)
		switch {
		case !wanted:
			t.fault(rule, "fetched %q, which should not be there", key)
		case got.Digest() != t.record(rule, key, text).Digest():
			t.fault(rule, "fetched %q with other contents than were last given", key)
		}
	}
	if len(missing) > 0 {
		t.fault(rule, "did not fetch %q", slices.Sorted(maps.Keys(missing)))
	}
}
