package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Class is where a journal and its traces part.
type Class string

// The classes.
const (
	Hydrate Class = "hydrate" // an attempt begins with another state than the one so far
	Turn    Class = "turn"    // its turn does something else
	Commit  Class = "commit"  // what was committed is not what the turn has left
	Order   Class = "order"   // steps come where none should
)

// Divergence is the first difference of a session.
type Divergence struct {
	Class    Class
	Delivery session.DeliveryID
	Attempt  int
	// Step is where in the merged journal, from 1.
	Step int
	// Says is what differs, in words.
	Says string
	// Turn is what the replay of the turn has found, of that class.
	Turn *replay.Report
}

// String says the divergence in words.
func (d *Divergence) String() string {
	text := fmt.Sprintf("%s at step %d, %s, attempt %d: %s", d.Class, d.Step, d.Delivery, d.Attempt, d.Says)
	if d.Turn != nil {
		text += "\n" + d.Turn.String()
	}
	return text
}

// Report is what a replay of a journal has found.
type Report struct {
	// Sessions, Commits and Attempts are how many were played.
	Sessions, Commits, Attempts int
	// Divergences are the first of each session that has one.
	Divergences []*Divergence
	// NotCompared says what could not be held against the journal.
	NotCompared []string
}

// Options say how a journal is played.
type Options struct {
	// Open gives the trace of a turn, by the turn's id; nil where there is none, whose
	// attempt is then not compared. Required.
	Open func(turn string) (io.ReadCloser, error)
	// Host is today's host. The raw turn of each attempt has to be what it begins with.
	// Nil leaves that out.
	Host *session.Host
	// Live says which seams of the turns are today's code.
	Live replay.Live
}

// Verify plays a journal. Where a host was gone before it could tell what it had done, what a
// later one has read says how it was, and the report says what then could not be compared. An
// error says that a trace could not be read, or replayed.
func Verify(ctx context.Context, j *Journal, o Options) (*Report, error) {
	report := &Report{}
	players := map[session.SessionID]*player{}
	for i, step := range Merge(j).Steps {
		p := players[step.SessionID]
		if p == nil {
			p = &player{report: report, options: o, deliveries: map[string]*delivered{}, loaded: session.Loaded{SessionID: step.SessionID, Values: map[string]session.Value{}}}
			players[step.SessionID] = p
			report.Sessions++
		}
		if p.over {
			continue
		}
		found, err := p.play(ctx, step)
		if err != nil {
			return report, err
		}
		if found != nil {
			found.Step, found.Attempt = i+1, step.Attempt
			found.Delivery = session.DeliveryID{SessionID: step.SessionID, Delivery: step.Delivery}
			report.Divergences = append(report.Divergences, found)
			p.over = true
		}
	}
	if !j.Sealed {
		report.NotCompared = append(report.NotCompared, "what came after the end of a journal that has no footer")
	}
	return report, nil
}

// player plays one session.
type player struct {
	report     *Report
	options    Options
	loaded     session.Loaded
	deliveries map[string]*delivered
	over       bool
	// last is what the attempt under way has left; nil where it has no trace.
	last *leavings
	// open is the last step of an attempt whose end nobody has told so far: its host may have
	// gone before it could.
	open *session.Step
	// redacted says that digests of values cannot be compared.
	redacted bool
}

// delivered is what is known of a delivery.
type delivered struct {
	seq     int64
	payload string
	settled bool
}

func diverged(class Class, format string, args ...any) *Divergence {
	return &Divergence{Class: class, Says: fmt.Sprintf(format, args...)}
}

// play plays a step.
func (p *player) play(ctx context.Context, s session.Step) (*Divergence, error) {
	d := p.deliveries[s.Delivery]
	if s.Kind == session.StepAccepted {
		if d != nil {
			return diverged(Order, "the delivery was accepted twice"), nil
		}
		p.deliveries[s.Delivery] = &delivered{seq: s.Seq, payload: s.Payload}
		return nil, nil
	}
	if s.Delivery != "" && d == nil {
		if d = p.untold(s); d == nil {
			return diverged(Order, "%s comes before the delivery was accepted, under the number of another", s.Kind), nil
		}
	}
	if s.Delivery != "" && d.seq != s.Seq {
		return diverged(Order, "%s comes under another number than the delivery was accepted with", s.Kind), nil
	}
	switch s.Kind {
	case session.StepHydrated:
		p.conclude(s)
		found := p.hydrated(s)
		p.open = &s
		return found, nil
	case session.StepRan:
		p.open = &s
		return p.ran(ctx, s, d)
	case session.StepCommitted:
		p.open = nil
		return p.committed(s, d), nil
	case session.StepDropped:
		p.open = nil
	case session.StepFailed:
		p.open = nil
		if d.settled {
			return diverged(Order, "a settled delivery has failed"), nil
		}
		d.settled = true
	}
	return nil, nil
}

// untold takes in a delivery of whose acceptance no host has told: the one that accepted it
// was gone before it could, or accepted it as the child of another. It is nil where its number
// is another's.
func (p *player) untold(s session.Step) *delivered {
	for _, other := range p.deliveries {
		if other.seq == s.Seq {
			return nil
		}
	}
	d := &delivered{seq: s.Seq}
	p.deliveries[s.Delivery] = d
	p.report.NotCompared = append(p.report.NotCompared, fmt.Sprintf("the payload of delivery %q, of whose acceptance no host has told", s.Delivery))
	return d
}

// conclude says what became of an attempt whose host was gone before it could tell: what a
// later host has read for its own attempt says it. A commit is that of what the turn has left,
// which is compared with what was read.
func (p *player) conclude(s session.Step) {
	open := p.open
	if open == nil || open.Epoch >= s.Epoch {
		return
	}
	d := p.deliveries[open.Delivery]
	switch {
	case s.Revision == p.loaded.Revision+1 && open.Kind == session.StepRan && s.Seq > open.Seq:
		p.loaded.Revision = s.Revision
		if p.report.Commits++; p.last == nil {
			p.redacted = true
		} else {
			p.loaded.Values = p.left()
		}
	case s.Revision == p.loaded.Revision && s.Seq > open.Seq:
	default:
		return
	}
	d.settled = true
	p.report.NotCompared = append(p.report.NotCompared, fmt.Sprintf("how attempt %d at delivery %q ended, of which no host has told", open.Attempt, open.Delivery))
}

// left are the values when the attempt under way has committed: of keys that its turn could
// not see, those before it.
func (p *player) left() map[string]session.Value {
	next := maps.Clone(p.loaded.Values)
	for key := range p.last.began {
		delete(next, key)
	}
	maps.Copy(next, p.last.values)
	return next
}

// hydrated holds what was read for an attempt against the state so far.
func (p *player) hydrated(s session.Step) *Divergence {
	p.last = nil
	for id, other := range p.deliveries {
		if other.seq < s.Seq && !other.settled || other.seq == s.Seq && other.settled {
			return diverged(Order, "an attempt at %q comes when %q is at its turn, or after it was settled", s.Delivery, id)
		}
	}
	if s.Revision != p.loaded.Revision {
		return diverged(Hydrate, "revision %d was read after %d commits", s.Revision, p.loaded.Revision)
	}
	if bag := session.Digest(p.loaded.Values); s.Bag != bag && !p.redacted {
		return diverged(Hydrate, "the values that were read are not those that were committed")
	}
	return nil
}

// leavings is what a trace says that its turn has left.
type leavings struct {
	began, values map[string]session.Value
	writes        []string
}

// ran holds the trace of an attempt against the state so far, and replays it.
func (p *player) ran(ctx context.Context, s session.Step, d *delivered) (*Divergence, error) {
	p.report.Attempts++
	if s.Turn == "" {
		return nil, nil
	}
	recorded, err := p.read(s.Turn)
	if err != nil {
		return nil, err
	}
	if recorded == nil {
		p.report.NotCompared = append(p.report.NotCompared, "turn "+s.Turn+", which has no trace")
		return nil, nil
	}
	t, err := trace.Read(bytes.NewReader(recorded))
	if err != nil {
		return nil, fmt.Errorf("sessions: the trace of turn %s: %w", s.Turn, err)
	}
	begun, err := beginningOf(t)
	if err != nil {
		return diverged(Hydrate, "%s", err), nil
	}
	p.redacted = p.redacted || bytes.Contains(recorded, []byte("[redacted:"))
	if found := p.begins(s, d, begun); found != nil {
		return found, nil
	}
	report, err := replay.Verify(ctx, bytes.NewReader(recorded), p.options.Live)
	if err != nil {
		return nil, fmt.Errorf("sessions: the trace of turn %s: %w", s.Turn, err)
	}
	if report.Divergence != nil {
		found := diverged(Turn, "the turn does something else")
		found.Turn = report
		return found, nil
	}
	if p.last, err = leftBy(t); err == nil {
		p.last.began = begun.values
	}
	return nil, err
}

// read gives the whole trace of a turn, nil where there is none.
func (p *player) read(turn string) (recorded []byte, err error) {
	r, err := p.options.Open(turn)
	if err != nil || r == nil {
		return nil, err
	}
	recorded, err = io.ReadAll(r)
	return recorded, errors.Join(err, r.Close())
}

// beginning is what a turn has begun with.
type beginning struct {
	raw    adk.RawTurn
	seed   session.Seed
	values map[string]session.Value
}

func beginningOf(t *trace.Trace) (b beginning, err error) {
	at := slices.IndexFunc(t.Lines, func(l trace.Line) bool { return l.Kind == adk.KindCall }) // a cancel may come before it
	if at < 0 {
		return b, errors.New("the trace has no raw turn")
	}
	x := t.Lines[at].Crossing
	stash, _ := x.Value.(map[string]any)
	b.raw = adk.RawTurn{SystemPrompt: x.Text, Instructions: x.Texts, Stash: stash}
	own, _ := stash["session"].(map[string]any)
	raw, _ := own["seed"].(json.RawMessage)
	if err := json.Unmarshal(raw, &b.seed); err != nil {
		return b, errors.New("the trace has no seed: it is none of a session's turn")
	}
	b.values = valuesIn(stash)
	return b, nil
}

// valuesIn gives the session's values in a stash, by their keys.
func valuesIn(stash map[string]any) map[string]session.Value {
	values := map[string]session.Value{}
	own, _ := stash["session"].(map[string]any)
	var gather func(tree map[string]any, prefix string)
	gather = func(tree map[string]any, prefix string) {
		for name, leaf := range tree {
			if below, is := leaf.(map[string]any); is {
				gather(below, prefix+name+".")
			} else if raw, is := leaf.(json.RawMessage); is {
				var value session.Value
				if json.Unmarshal(raw, &value) == nil {
					values[prefix+name] = value
				}
			}
		}
	}
	under, _ := own["context"].(map[string]any)
	gather(under, "")
	return values
}

// begins holds the raw turn of a trace against the state so far.
func (p *player) begins(s session.Step, d *delivered, b beginning) *Divergence {
	seed := b.seed
	if seed.Tenant != s.Tenant || seed.Session != s.Session || seed.Delivery != s.Delivery || seed.Seq != s.Seq || seed.Attempt != s.Attempt || seed.Epoch != s.Epoch {
		return diverged(Hydrate, "the trace is of attempt %d at %q of %q, epoch %d", seed.Attempt, seed.Delivery, seed.Session, seed.Epoch)
	}
	if p.redacted {
		return nil
	}
	own, _ := b.raw.Stash["session"].(map[string]any)
	payload, _ := own["payload"].(json.RawMessage)
	if d.payload != "" && (session.Delivery{Payload: payload}).Digest() != d.payload {
		return diverged(Hydrate, "the payload is another than the one that was accepted")
	}
	for _, key := range slices.Sorted(maps.Keys(b.values)) {
		if held, has := p.loaded.Values[key]; !has || held.Version != b.values[key].Version || !bytes.Equal(session.Canonical(held.Body), session.Canonical(b.values[key].Body)) {
			return diverged(Hydrate, "the turn began with another value of %q than the one so far", key)
		}
	}
	return p.beginsToday(b, payload)
}

// beginsToday holds it against what today's host begins with.
func (p *player) beginsToday(b beginning, payload json.RawMessage) *Divergence {
	if p.options.Host == nil {
		return nil
	}
	own, _ := b.raw.Stash["session"].(map[string]any)
	var who struct{ Current, Initiator json.RawMessage }
	raw, _ := own["auth"].(json.RawMessage)
	if json.Unmarshal(raw, &who) != nil {
		return diverged(Hydrate, "session.auth is not what a host puts there")
	}
	seed, l := b.seed, p.loaded
	seed.Auth, seed.Initiator = who.Current, who.Initiator
	l.Snapshots = map[string]json.RawMessage{}
	snapshots, _ := own["internal"].(map[string]any)
	for name, leaf := range snapshots {
		l.Snapshots[name], _ = leaf.(json.RawMessage)
	}
	l.Next = &session.Accepted{Delivery: session.Delivery{Payload: payload}}
	today, err := p.options.Host.Begin(seed, l)
	switch {
	case err != nil:
		return diverged(Hydrate, "today's host does not begin the turn: %s", err)
	case today.SystemPrompt != b.raw.SystemPrompt:
		return diverged(Hydrate, "today's host has another prompt")
	case !slices.Equal(today.Instructions, b.raw.Instructions):
		return diverged(Hydrate, "today's host has other instructions")
	case !reflect.DeepEqual(today.Stash, b.raw.Stash):
		return diverged(Hydrate, "today's host begins with another stash")
	}
	return nil
}

// leftBy folds a trace to its end.
func leftBy(t *trace.Trace) (*leavings, error) {
	l := &leavings{}
	fold := state.New()
	for i := range t.Lines {
		x := &t.Lines[i].Crossing
		if err := fold.Apply(x); err != nil {
			return nil, fmt.Errorf("sessions: folding a trace: %w", err)
		}
		if x.Kind == adk.KindCall && x.Seam.Effect() == adk.EffectWrites {
			key := x.Key
			if x.Record != nil {
				key = x.Record.Key()
			}
			l.writes = append(l.writes, x.Seam.Name+" "+key)
		}
	}
	l.values = valuesIn(fold.Turn().Values.Tree)
	return l, nil
}

// committed holds a commit against what the attempt has left.
func (p *player) committed(s session.Step, d *delivered) *Divergence {
	if d.settled {
		return diverged(Order, "the delivery was settled before")
	}
	if s.Revision != p.loaded.Revision+1 {
		return diverged(Order, "revision %d was committed after %d", s.Revision, p.loaded.Revision)
	}
	d.settled = true
	p.report.Commits++
	p.loaded.Revision = s.Revision
	if p.last == nil { // without the trace nobody knows the values from here on
		p.redacted = true
		return nil
	}
	return p.commits(s)
}

func (p *player) commits(s session.Step) *Divergence {
	keys, next := []string{}, maps.Clone(p.loaded.Values)
	for key, value := range p.last.values {
		if before, had := next[key]; !had || !reflect.DeepEqual(before, value) {
			keys, next[key] = append(keys, key), value
		}
	}
	for _, key := range s.Keys {
		if _, left := p.last.values[key]; !left && slices.Contains(slices.Collect(maps.Keys(next)), key) {
			keys = append(keys, key)
			delete(next, key)
		}
	}
	p.loaded.Values = next
	slices.Sort(keys)
	if !slices.Equal(keys, append([]string{}, s.Keys...)) && !p.redacted {
		return diverged(Commit, "the keys %q were committed, the turn has changed %q", s.Keys, keys)
	}
	if !p.redacted && s.Bag != session.Digest(next) {
		return diverged(Commit, "the values that were committed are not those that the turn has left")
	}
	var written []string
	for _, record := range s.Records {
		name, rest, _ := strings.Cut(record, " ")
		if at := strings.LastIndexByte(rest, ' '); at >= 0 && !strings.HasSuffix(name, ".delete") {
			rest = rest[:at]
		}
		written = append(written, name+" "+rest)
	}
	if !isWithin(written, p.last.writes) {
		return diverged(Commit, "records were committed that the turn has not stored, or in another order: %q, it stored %q", written, p.last.writes)
	}
	return nil
}

// isWithin reports whether a list is what is left of another when some are taken away.
func isWithin(some, all []string) bool {
	for _, one := range all {
		if len(some) > 0 && some[0] == one {
			some = some[1:]
		}
	}
	return len(some) == 0
}
