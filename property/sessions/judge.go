package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/storages"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	journals "github.com/adkreplay/adkreplay/replay/sessions"
)

// judge checks a run that is over for what only its end shows.
func (r *run) judge(last *process, before map[storage.Place][]row) {
	journal := r.merged()
	r.journal = comparable(journal)
	r.judgeRecords(last, before)
	r.verify(last, journal)
	over := Run{Schedule: r.schedule, Host: last.host, Storage: last.config.Agent.Storage, Journal: journal}
	r.ledger.mu.Lock()
	over.Sessions, over.Outcomes = slices.Clone(r.ledger.order), slices.Clone(r.ledger.told)
	r.ledger.mu.Unlock()
	for _, check := range []func(Run) error{r.subject.Check, r.instance.Check} {
		if check == nil {
			continue
		}
		if err := watchdog.Recovered(func() error { return check(over) }); err != nil {
			r.wrong(wrong, "%v", err)
			return
		}
	}
}

func (r *run) wrong(i *Invariant, format string, args ...any) {
	r.ledger.telling(nil, func(l *ledger) { l.wrong(i, format, args...) })
}

// merged returns the merged journals of all processes. The journal of a process that has ended is
// marked as broken off, since the process has not written all of it.
func (r *run) merged() *journals.Journal {
	var all []*journals.Journal
	for _, p := range r.processes {
		p.mu.Lock()
		all = append(all, &journals.Journal{Sealed: !p.dead.Load(), Steps: slices.Clone(p.steps)})
		p.mu.Unlock()
	}
	return journals.Merge(all...)
}

// comparable returns a journal without times and epochs.
func comparable(j *journals.Journal) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	for _, s := range j.Steps {
		s.At, s.Epoch = time.Time{}, 0
		_ = encoder.Encode(s) // steps hold only texts and numbers
	}
	return text.Bytes()
}

// verify replays the journal, with the traces of its turns.
func (r *run) verify(last *process, j *journals.Journal) {
	o := journals.Options{Open: func(turn string) (io.ReadCloser, error) {
		trace := r.traces[turn]
		if trace == nil {
			return nil, nil
		}
		return io.NopCloser(bytes.NewReader(trace.Bytes())), nil
	}}
	if len(r.instance.Releases) == 1 { // another release begins turns differently
		o.Host = last.host
	}
	report, err := journals.Verify(context.Background(), j, o)
	if err != nil {
		r.wrong(verifies, "%v", err)
		return
	}
	for _, d := range report.Divergences {
		r.wrong(verifies, "%s", d)
	}
	if slices.ContainsFunc(r.all(), func(p *process) bool { return p.dead.Load() }) {
		return
	}
	for _, what := range report.NotCompared {
		if strings.HasSuffix(what, "no host has told") {
			r.wrong(verifies, "%s, and all of them live", what)
		}
	}
}

// collections returns the collections that sessions write.
func collections() []adk.CollectionName {
	return slices.DeleteFunc(adk.Collections(), func(of adk.CollectionName) bool { return of == adk.Tools })
}

// recordsBefore returns the records that the sessions have before anything is delivered, by place;
// nil if the storage does not tell its places.
func (r *run) recordsBefore() map[storage.Place][]row {
	config := r.host("a").config
	plan, planned := storage.PlanOf(config.Agent.Storage)
	if !planned {
		return nil
	}
	all := map[storage.Place][]row{}
	for i := range r.subject.Deliveries {
		for _, verb := range []Verb{Deliver, ToSession, ToTenant} {
			id := r.subject.sent(Action{Verb: verb, Arg: i + 1}).SessionID()
			for _, of := range collections() {
				if place, rows, err := stored(plan, id, of); err == nil {
					all[place] = rows
				}
			}
		}
	}
	return all
}

// stored returns the records of a collection that a session has, and their place.
func stored(plan storage.Plan, id session.SessionID, of adk.CollectionName) (place storage.Place, rows []row, err error) {
	scope := storage.Partition(id).Scope()
	change, err := plan.Change(scope, of, adk.KindByName("delete"), nil, "any")
	if err != nil {
		return place, nil, err
	}
	rows, err = fetch(storages.Each(plan.Unlimited()), scope, of)
	return change.Place, rows, err
}

func fetch(from map[adk.CollectionName]storages.Obligations, scope adk.Scope, of adk.CollectionName) (rows []row, err error) {
	fetched, err := from[of].Fetch(context.Background(), scope, of)
	for _, record := range fetched {
		body, failure := record.MarshalJSON()
		if failure != nil {
			return nil, failure
		}
		rows = append(rows, row{record.Key(), body})
	}
	return rows, err
}

// judgeRecords compares the storage with what was committed.
func (r *run) judgeRecords(last *process, before map[storage.Place][]row) {
	config := last.config
	if config.Persist == session.Direct {
		return // then records of failed attempts stay
	}
	plan, planned := storage.PlanOf(config.Agent.Storage)
	held := config.Store.Holds(config.Agent.Storage)
	want := r.ledger.rows(before)
	for _, id := range r.ledger.forgotten {
		for _, of := range collections() {
			if planned && held && !plan.Shared(of) {
				_, got, err := stored(plan, id, of)
				r.sameRows(id, of, nil, got, err)
			}
		}
	}
	for _, id := range r.ledger.order {
		for _, of := range collections() {
			shared := storages.OutlivesSession(of)
			if planned {
				shared = plan.Shared(of)
			}
			switch {
			case shared && !held: // such records are written at once
			case planned:
				place, got, err := stored(plan, id, of)
				r.sameRows(id, of, want[place], got, err)
			default:
				r.within(id, of, want)
			}
		}
	}
}

func (r *run) sameRows(id session.SessionID, of adk.CollectionName, want, got []row, err error) {
	if err != nil {
		r.wrong(records, "fetching %s of session %q: %v", of, id.Session, err)
		return
	}
	if !slices.EqualFunc(want, got, row.same) {
		r.wrong(records, "session %q of tenant %q has the %s %s, and its commits have left %s", id.Session, id.Tenant, of, keysOf(got), keysOf(want))
	}
}

// within checks a storage that may not separate sessions: it must contain what the session has
// written.
func (r *run) within(id session.SessionID, of adk.CollectionName, want map[storage.Place][]row) {
	got, err := fetch(storages.Each(r.host("a").config.Agent.Storage), storage.Partition(id).Scope(), of)
	if err != nil {
		r.wrong(records, "fetching %s of session %q: %v", of, id.Session, err)
		return
	}
	own := want[storage.Place{Partition: storage.Partition{Tenant: id.Tenant, Session: id.Session}, Collection: of}]
	for _, one := range own {
		if !slices.ContainsFunc(got, one.same) {
			r.wrong(records, "session %q of tenant %q has not %q of the %s, which a commit has left", id.Session, id.Tenant, one.key, of)
		}
	}
}

func (r row) same(other row) bool { return r.key == other.key && sameJSON(r.body, other.body) }

func keysOf(rows []row) string {
	return fmt.Sprintf("%q", safetext.Each(rows, func(r row) string { return r.key }))
}
