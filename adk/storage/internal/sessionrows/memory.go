package sessionrows

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
)

// Changes has what a transaction changes.
type Changes struct {
	Sessions   []*Session
	Deliveries []*Delivery
	Values     []ValueChange
	// Erased has the deliveries to remove.
	Erased  []*Delivery
	Records []storage.Change
}

// ValueChange sets the value of a key of a session; nil deletes the key.
type ValueChange struct {
	ID    session.SessionID
	Key   string
	Value *session.Value
}

// Memory implements Tables in memory.
type Memory struct {
	// Persist stores the changes of a transaction, including its records, before they are made in
	// memory. If it fails, nothing changes. The lock of the tables is held during the call.
	Persist func(ctx context.Context, c Changes) error
	// Mine reports whether the records of a storage are those that Persist writes.
	Mine func(s adk.Storage) bool

	mu       sync.Mutex
	sessions map[session.SessionID]*kept
}

// kept has all data of a session.
type kept struct {
	row        *Session
	values     map[string]session.Value
	deliveries map[string]*Delivery
	order      []*Delivery // sorted by Seq
	first      int         // index into order; all deliveries before it are settled
	unfinished map[string]*Delivery
}

var _ Tables = (*Memory)(nil)

// Put adds rows that were stored elsewhere, in any order, before the first transaction.
func (m *Memory) Put(c Changes) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.make(c)
}

// Transact implements Tables. Transactions run one at a time.
func (m *Memory) Transact(ctx context.Context, now time.Time, f func(Tx) error, _ ...session.SessionID) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	tx := &memoryTx{m: m, now: now}
	if err := f(tx); err != nil {
		return err
	}
	return m.keep(ctx, tx.puts)
}

func (m *Memory) keep(ctx context.Context, c Changes) error {
	if err := m.Persist(ctx, c); err != nil {
		return err
	}
	m.make(c)
	return nil
}

// make makes changes. The caller holds mu.
func (m *Memory) make(c Changes) {
	if m.sessions == nil {
		m.sessions = map[session.SessionID]*kept{}
	}
	for _, s := range c.Sessions {
		m.of(s.ID).row = s
	}
	for _, d := range c.Deliveries {
		m.of(d.SessionID()).put(d)
	}
	for _, v := range c.Values {
		k := m.of(v.ID)
		if v.Value == nil {
			delete(k.values, v.Key)
			continue
		}
		if k.values == nil {
			k.values = map[string]session.Value{}
		}
		k.values[v.Key] = *v.Value
	}
	for _, d := range c.Erased {
		m.of(d.SessionID()).remove(d.ID)
	}
}

func (m *Memory) of(id session.SessionID) *kept {
	k := m.sessions[id]
	if k == nil {
		k = &kept{}
		m.sessions[id] = k
	}
	return k
}

func (k *kept) put(d *Delivery) {
	if k.deliveries == nil {
		k.deliveries = map[string]*Delivery{}
	}
	at, known := k.find(d.Seq)
	if known {
		k.order[at] = d
	} else {
		k.order = slices.Insert(k.order, at, d)
		k.first = min(k.first, at)
	}
	k.deliveries[d.ID] = d
	if delete(k.unfinished, d.ID); d.IsOpen() {
		if k.unfinished == nil {
			k.unfinished = map[string]*Delivery{}
		}
		k.unfinished[d.ID] = d
	}
	for k.first < len(k.order) && k.order[k.first].State.Settled() {
		k.first++
	}
}

func (k *kept) find(seq int64) (int, bool) {
	return slices.BinarySearchFunc(k.order, seq, func(d *Delivery, seq int64) int { return cmp.Compare(d.Seq, seq) })
}

func (k *kept) remove(id string) {
	if d := k.deliveries[id]; d != nil {
		at, _ := k.find(d.Seq)
		k.order = slices.Delete(k.order, at, at+1)
		delete(k.unfinished, id)
		if at < k.first {
			k.first--
		}
		delete(k.deliveries, id)
	}
}

// next returns the first unsettled delivery, or nil.
func (k *kept) next() *Delivery {
	if k.first < len(k.order) {
		return k.order[k.first]
	}
	return nil
}

// open returns the settled deliveries that have something left to do.
func (k *kept) open() (all []Delivery) {
	for _, d := range k.unfinished {
		all = append(all, *d)
	}
	slices.SortFunc(all, func(a, b Delivery) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}

// IsOpen reports whether the delivery is settled and has something left to do.
func (d *Delivery) IsOpen() bool {
	return d.State.Settled() && (d.NotifiedAt.IsZero() || len(d.Writes) > 0)
}

// Pending implements Tables.
func (m *Memory) Pending(_ context.Context, now time.Time, limit int) ([]session.SessionID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	type waiting struct {
		id    session.SessionID
		since time.Time
	}
	var all []waiting
	for id, k := range m.sessions {
		if k.row == nil || k.row.isLeased(now) {
			continue
		}
		if open := k.open(); len(open) > 0 {
			all = append(all, waiting{id, open[0].AcceptedAt})
		} else if next := k.next(); next != nil && next.Due(now) {
			all = append(all, waiting{id, next.AcceptedAt})
		}
	}
	slices.SortFunc(all, func(a, b waiting) int { return cmp.Or(a.since.Compare(b.since), compareIDs(a.id, b.id)) })
	var ids []session.SessionID
	for _, w := range all[:min(max(limit, 0), len(all))] {
		ids = append(ids, w.id)
	}
	return ids, nil
}

// Sessions implements Tables.
func (m *Memory) Sessions(_ context.Context, tenant, after string, limit int) ([]session.SessionID, error) {
	return m.named(tenant, after, limit, false), nil
}

// Erased implements Tables.
func (m *Memory) Erased(_ context.Context, tenant, after string, limit int) ([]session.SessionID, error) {
	return m.named(tenant, after, limit, true), nil
}

// named returns the sessions of a tenant that are erased, or those that are not, by name.
func (m *Memory) named(tenant, after string, limit int, erased bool) []session.SessionID {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []session.SessionID
	for id, k := range m.sessions {
		if k.row != nil && k.row.ErasedAt.IsZero() != erased && id.Tenant == tenant && id.Session > after {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b session.SessionID) int { return strings.Compare(a.Session, b.Session) })
	return ids[:min(max(limit, 0), len(ids))]
}

// Purge implements Tables.
func (m *Memory) Purge(ctx context.Context, before time.Time) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var c Changes
	for _, k := range m.sessions {
		for _, d := range k.order {
			if d.State.Settled() && !d.IsOpen() && d.SettledAt.Before(before) {
				c.Erased = append(c.Erased, d)
			}
		}
	}
	return len(c.Erased), m.keep(ctx, c)
}

// Backlog implements Tables.
func (m *Memory) Backlog(context.Context) (unsettled int, oldest time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.sessions {
		for _, d := range k.order[k.first:] {
			if d.State.Settled() {
				continue
			}
			unsettled++
			if oldest.IsZero() || d.AcceptedAt.Before(oldest) {
				oldest = d.AcceptedAt
			}
		}
	}
	return unsettled, oldest, nil
}

// RaiseEpochs implements Tables.
func (m *Memory) RaiseEpochs(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var c Changes
	for _, k := range m.sessions {
		if k.row != nil {
			row := *k.row
			row.Epoch++
			released(&row)
			c.Sessions = append(c.Sessions, &row)
		}
	}
	return m.keep(ctx, c)
}

// Holds implements Tables.
func (m *Memory) Holds(s adk.Storage) bool { return m.Mine(s) }

// memoryTx is a transaction; the lock of the tables is held.
type memoryTx struct {
	m    *Memory
	now  time.Time
	puts Changes
}

func (tx *memoryTx) Now(context.Context) (time.Time, error) { return tx.now, nil }

func (tx *memoryTx) Session(_ context.Context, id session.SessionID) (*Session, error) {
	for _, s := range slices.Backward(tx.puts.Sessions) {
		if s.ID == id {
			return copyOf(s), nil
		}
	}
	if k := tx.m.sessions[id]; k != nil {
		return copyOf(k.row), nil
	}
	return nil, nil
}

func (tx *memoryTx) Delivery(_ context.Context, id session.DeliveryID) (*Delivery, error) {
	for _, d := range slices.Backward(tx.puts.Deliveries) {
		if d.DeliveryID() == id {
			return copyOf(d), nil
		}
	}
	if k := tx.m.sessions[id.SessionID]; k != nil {
		return copyOf(k.deliveries[id.Delivery]), nil
	}
	return nil, nil
}

// copyOf returns a copy of a row, which the caller may change.
func copyOf[R any](row *R) *R {
	if row == nil {
		return nil
	}
	return new(*row)
}

func (tx *memoryTx) Next(_ context.Context, id session.SessionID) (*Delivery, error) {
	if k := tx.m.sessions[id]; k != nil {
		return copyOf(k.next()), nil
	}
	return nil, nil
}

func (tx *memoryTx) Open(_ context.Context, id session.SessionID) ([]Delivery, error) {
	if k := tx.m.sessions[id]; k != nil {
		return k.open(), nil
	}
	return nil, nil
}

func (tx *memoryTx) History(_ context.Context, id session.SessionID, before int64, limit int) (all []Delivery, err error) {
	k := tx.m.sessions[id]
	if k == nil {
		return nil, nil
	}
	for _, d := range slices.Backward(k.order) {
		if len(all) < limit && (before == 0 || d.Seq < before) {
			all = append(all, *d)
		}
	}
	return all, nil
}

func (tx *memoryTx) Values(_ context.Context, id session.SessionID) (map[string]session.Value, error) {
	if k := tx.m.sessions[id]; k != nil {
		return maps.Clone(k.values), nil
	}
	return nil, nil
}

func (tx *memoryTx) PutSession(_ context.Context, s *Session) error {
	tx.puts.Sessions = append(tx.puts.Sessions, copyOf(s))
	return nil
}

func (tx *memoryTx) PutDelivery(_ context.Context, d *Delivery) error {
	tx.puts.Deliveries = append(tx.puts.Deliveries, copyOf(d))
	return nil
}

func (tx *memoryTx) PutValue(_ context.Context, id session.SessionID, key string, value session.Value, _ time.Time) error {
	tx.puts.Values = append(tx.puts.Values, ValueChange{id, key, &value})
	return nil
}

func (tx *memoryTx) DeleteValue(_ context.Context, id session.SessionID, key string) error {
	tx.puts.Values = append(tx.puts.Values, ValueChange{id, key, nil})
	return nil
}

func (tx *memoryTx) Clear(_ context.Context, id session.SessionID) error {
	if k := tx.m.sessions[id]; k != nil {
		tx.puts.Erased = append(tx.puts.Erased, k.order...)
		for key := range k.values {
			tx.puts.Values = append(tx.puts.Values, ValueChange{ID: id, Key: key})
		}
	}
	return nil
}

func (tx *memoryTx) Write(_ context.Context, changes []storage.Change) error {
	tx.puts.Records = append(tx.puts.Records, changes...)
	return nil
}
