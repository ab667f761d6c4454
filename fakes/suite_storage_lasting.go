package fakes

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
)

// This file holds the checks for storages that keep records for long: order, any key, any record,
// failed and concurrent writes, partitions, and long sessions.

func (t *trial[T]) firstCome() {
	const rule = "STO-5: a fetch gives records in the order in which their keys came"
	if t.suite.AnyOrder {
		return
	}
	for _, key := range []string{"b", "a", "c", "B"} {
		t.store(rule, key, "1")
	}
	t.inOrder(rule, "b", "a", "c", "B")
	t.store(rule, "b", "2")
	t.mutate(rule, "a", "2")
	t.inOrder(rule+"; replacing keeps the place", "b", "a", "c", "B")
	t.remove(rule, "b")
	t.store(rule, "b", "3")
	t.remove(rule, "B")
	t.mutate(rule, "B", "3")
	t.inOrder(rule+"; what is deleted and stored again comes last", "a", "c", "b", "B")
}

// inOrder checks the order of the keys of a fetch.
func (t *trial[T]) inOrder(rule string, want ...string) {
	if got := keysOf(t.fetch(rule)); !slices.Equal(got, want) {
		t.fault(rule, "fetched %.200q, want %.200q", got, want)
	}
}

func keysOf[T adk.Record](records []T) []string {
	keys := make([]string, len(records))
	for i, r := range records {
		keys[i] = r.Key()
	}
	return keys
}

// strangeKeys are keys that are easily mistaken for another key, or for no key.
var strangeKeys = []string{
	" ", "  ", "\t", "\n", "\x00", "a\x00", "a\x00b", "a", "A", "a ", " a", "%", "_", "a%", "*", "'", `"`, "';--", `\`, `\%`, "`", "$1", "?", ":a", "@a",
	"é", "e\u0301", "\u200b", "\ufeff", "🎉", "👩‍👩‍👧", "\U0010ffff", "null", "NULL", "0", "00", "-1", ".", "..", "../a", "a/b", "/", "con", "nul.json",
	strings.Repeat("k", 10_000), strings.Repeat("k", 9_999) + "l", strings.Repeat("🎉", 2500),
}

func (t *trial[T]) anyKey() {
	const rule = "STO-7: a key is any text"
	want := map[string]string{}
	for _, key := range strangeKeys {
		t.store(rule, key, "1")
		want[key] = "1"
	}
	t.holds(rule, want)
	for _, key := range strangeKeys {
		if len(want)%2 == 0 {
			t.remove(rule, key)
			delete(want, key)
			continue
		}
		t.mutate(rule, key, "2")
		t.remove(rule, key)
		t.store(rule, key, "3")
		delete(want, key)
		t.holds(rule, merged(want, key, "3"))
		t.remove(rule, key)
	}
	t.holds(rule, nil)
}

func merged(all map[string]string, key, text string) map[string]string {
	all = maps.Clone(all)
	all[key] = text
	return all
}

func (t *trial[T]) toTheEdge() {
	const rule = "STO-2: a record comes back as it was stored"
	records, err := t.edgy()
	t.must(rule, "making a record", err)
	for _, r := range records {
		t.must(rule, "store", t.c.Store(context.Background(), t.suite.scope, r))
	}
	t.same(rule, t.fetch(rule), records)
}

// same checks that all records were fetched unchanged, in any order.
func (t *trial[T]) same(rule string, got, want []T) {
	back := map[string]adk.Digest{}
	for _, r := range got {
		back[r.Key()] = r.Digest()
	}
	if len(back) != len(got) || len(got) != len(want) {
		t.fault(rule, "fetched %d records of %d keys, want %d", len(got), len(back), len(want))
	}
	for _, r := range want {
		if digest, found := back[r.Key()]; !found || digest != r.Digest() {
			t.fault(rule, "%.64q came back otherwise", r.Key())
		}
	}
}

func (t *trial[T]) oneKey() {
	const rule = "STO-11: of two writers of one key one comes after the other, and none fails"
	var wg sync.WaitGroup
	texts := map[adk.Digest]bool{}
	for i := range manyWriters {
		record := t.record(rule, "one", strconv.Itoa(i))
		texts[record.Digest()] = true
		wg.Go(func() { t.fetchAndStore(rule, record) })
	}
	wg.Wait()
	if fetched := t.fetch(rule); len(fetched) != 1 || !texts[fetched[0].Digest()] {
		t.fault(rule, "%d writers left %d records, or one of nobody", manyWriters, len(fetched))
	}
}

func (t *trial[T]) wholeWhileWritten() {
	const rule, most = "STO-11: a fetch gives whole records, in order, while others write", 32
	var all []T
	for i := range most {
		all = append(all, t.record(rule, strconv.Itoa(i), "x"))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer t.recovered()
		for _, r := range all {
			t.must(rule, "store", t.c.Store(context.Background(), t.suite.scope, r))
		}
	}()
	for fetched := 0; fetched < most; {
		before := isClosed(done) // a fetch that begins after the last write must return all
		got := t.fetch(rule)
		fetched = len(got)
		if want := keysOf(all); len(got) > most || !t.suite.AnyOrder && !slices.Equal(keysOf(got), want[:len(got)]) {
			t.fault(rule, "fetched %.200q", keysOf(got))
			break
		}
		if before && fetched < most {
			t.fault(rule, "%d of %d records were fetched", fetched, most)
			break
		}
	}
	<-done
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (t *trial[T]) lasts() {
	const rule = "STO-2: a record is the same after the storage was opened again"
	if t.suite.Reopen == nil {
		return
	}
	records, err := t.edgy()
	t.must(rule, "making a record", err)
	for _, r := range records {
		t.must(rule, "store", t.c.Store(context.Background(), t.suite.scope, r))
	}
	before := keysOf(t.fetch(rule))
	again, err := t.suite.Reopen()
	if t.must(rule, "opening the storage again", err); err != nil {
		return
	}
	t.c = t.in(again)
	got := t.fetch(rule)
	t.same(rule, got, records)
	if !slices.Equal(before, keysOf(got)) {
		t.fault(rule, "the records have come into another order")
	}
	t.store(rule+"; and what comes then comes last", "new", "1")
	if got := keysOf(t.fetch(rule)); !t.suite.AnyOrder && !slices.Equal(got, append(before, "new")) {
		t.fault(rule, "a new record does not come last")
	}
}

func (t *trial[T]) partitions() {
	const rule = "STO-3: no partition sees another one's records, but for what they share"
	if len(t.suite.others) == 0 {
		return
	}
	own := t.suite.scope
	defer func() { t.suite.scope = own }()
	t.store(rule, "a", "1")
	t.store(rule, "b", "1")
	want := map[string]string{"a": "1", "b": "1"}
	for i, other := range t.suite.others {
		shared := slices.Contains(t.suite.Scopes[i].Shared, t.name)
		t.suite.scope = other
		if shared {
			t.holds(rule, want)
			continue
		}
		t.holds(rule, nil)
		t.store(rule, "a", "theirs")
		t.remove(rule, "b")
		t.holds(rule, map[string]string{"a": "theirs"})
		t.suite.scope = own
		t.holds(rule, want)
	}
}

func (t *trial[T]) failsWhole() {
	const rule = "STO-6: an obligation is done, or fails and changes nothing"
	if t.suite.Break == nil {
		return
	}
	t.store(rule, "a", "1")
	want := map[string]string{"a": "1"}
	for _, one := range []struct {
		what  string
		write func() error
	}{
		{"store", func() error { return t.c.Store(context.Background(), t.suite.scope, t.record(rule, "b", "2")) }},
		{"mutate", func() error { return t.c.Mutate(context.Background(), t.suite.scope, t.record(rule, "a", "3")) }},
		{"delete", func() error { return t.c.Delete(context.Background(), t.suite.scope, "a") }},
	} {
		t.suite.Break()
		if one.write() == nil {
			t.fault(rule, "a %s that was broken gave no error", one.what)
		}
		t.holds(rule, want)
	}
	t.store(rule, "c", "1")
	t.holds(rule, map[string]string{"a": "1", "c": "1"})
}

// memoryOfRecord is how many bytes a fetch of a long session may allocate per record. A storage
// that goes through all records for each of them takes a hundred times as much.
const memoryOfRecord = 32 << 10

func (t *trial[T]) holdsMany() {
	const rule = "STO-8: a fetch of a long session gives all of it, and takes no more than its records do"
	if t.name != adk.Messages { // one collection is enough to see how memory grows
		return
	}
	want := make([]string, t.suite.Many)
	for i := range want {
		want[i] = strconv.Itoa(i)
		t.store(rule, want[i], "x")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := keysOf(t.fetch(rule))
	runtime.ReadMemStats(&after)
	if taken := (after.TotalAlloc - before.TotalAlloc) / uint64(t.suite.Many); taken > memoryOfRecord {
		t.fault(rule, "a fetch of %d records takes %d bytes for each", t.suite.Many, taken)
	}
	if t.suite.AnyOrder {
		slices.Sort(got)
		slices.Sort(want)
	}
	if !slices.Equal(got, want) {
		t.fault(rule, "%d of %d records were fetched in their order", len(got), len(want))
	}
}

func (t *trial[T]) remove(rule, key string) {
	t.must(rule, "delete", t.c.Delete(context.Background(), t.suite.scope, key))
}

// checkTools checks the tools, whose only obligation is to fetch.
func (s *storageSuite) checkTools() {
	t := &trial[*adk.Tool]{shelfOf: shelfOf[*adk.Tool]{name: adk.Tools}, suite: s, check: "gives tools"}
	const rule = "STO-9: no tool is nil"
	defer t.recovered()
	s.check.Store(fmt.Sprintf("%q of %s", t.check, t.name))
	tools, err := s.newStorage().Tools.Fetch(context.Background(), s.scope)
	t.must(rule, "fetch", err)
	for i, tool := range tools {
		if tool == nil {
			t.fault(rule, "tool %d is nil", i)
		}
	}
}
