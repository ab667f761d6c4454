package sessions

import (
	"bytes"
	"cmp"
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
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Class is the kind of a divergence between a journal and its traces.
type Class string

// The classes.
const (
	Hydrate Class = "hydrate" // an attempt begins with a state that differs from the one so far
	Turn    Class = "turn"    // its turn differs
	Commit  Class = "commit"  // what was committed differs from what the turn left
	Order   Class = "order"   // a step comes where it must not
)

// Divergence is the first difference in a session.
type Divergence struct {
	Class    Class
	Delivery session.DeliveryID
	Attempt  int
	// TurnID is the id of the step's turn, if it has one.
	TurnID string
	// Step is the number of the step in the merged journal, from 1. Journal and Line are its
	// position, if the journal was read from a file.
	Step    int
	Journal string
	Line    int
	// Says describes the difference in words.
	Says string
	// Turn is the report of the turn's replay, for a divergence of class Turn.
	Turn *replay.Report
}

// String describes the divergence in words.
func (d *Divergence) String() string {
	text := d.summary()
	if d.Turn != nil {
		text += "\n" + d.Turn.String()
	}
	return text
}

// summary describes the divergence without the report of its turn.
func (d *Divergence) summary() string {
	where := fmt.Sprintf("step %d", d.Step)
	if d.Journal != "" {
		where = fmt.Sprintf("%s:%d", d.Journal, d.Line)
	}
	of := fmt.Sprintf("session %.64q", d.Delivery.Session)
	if d.Delivery.Delivery != "" {
		of = d.Delivery.String()
	}
	if d.Attempt > 0 {
		of += fmt.Sprintf(", attempt %d", d.Attempt)
	}
	return safetext.Lines(fmt.Sprintf("%s at %s, %s: %s", d.Class, where, of, d.Says))
}

// Report is the result of replaying a journal.
type Report struct {
	// Sessions, Commits and Attempts count what was replayed.
	Sessions, Commits, Attempts int
	// Untraced is the number of attempts without a trace of their turn.
	Untraced int
	// Divergences holds the first divergence of each session that has one.
	Divergences []*Divergence
	// NotCompared says what could not be compared with the journal.
	NotCompared []string
}

// Options say how a journal is replayed.
type Options struct {
	// Open returns the trace of the turn with the given id. It returns nil if there is none; the
	// attempt is then not compared. It is called once per turn. Required.
	Open func(turn string) (io.ReadCloser, error)
	// Replayed returns the report of a replay of the turn that was made before, with the same seams
	// live. It returns nil if there is none; Verify then replays the turn. If Replayed is nil,
	// Verify replays all turns.
	Replayed func(turn string) *replay.Report
	// Reading says how traces are read.
	Reading trace.Options
	// Host is today's host. The raw turn of each attempt must be what it begins with. Nil skips
	// this check.
	Host *session.Host
	// Live says which seams of the turns are today's code.
	Live replay.Live
}

// AsRecorded is for Options.Replayed. It treats each turn as one that replays without a difference,
// so that only the journal is compared with the traces, and no code runs.
func AsRecorded(string) *replay.Report { return &replay.Report{} }

// Verify replays a journal. The error joins the reasons why traces could not be read or replayed.
// The sessions of such traces are replayed up to that point, and all other sessions completely.
func Verify(ctx context.Context, j *Journal, o Options) (*Report, error) {
	report := &Report{}
	players := map[session.SessionID]*player{}
	var unplayed []error
	j = Merge(j)
	apart := j.isNumberedApart()
	for i, step := range j.Steps {
		p := players[step.SessionID]
		if p == nil {
			p = &player{report: report, options: o, journal: j, deliveries: map[int64]*delivered{}, latest: map[string]*delivered{}, loaded: session.Loaded{SessionID: step.SessionID, Values: map[string]session.Value{}}}
			players[step.SessionID] = p
			report.Sessions++
		}
		if p.over {
			continue
		}
		if apart && isMaskedSession(step.SessionID) {
			p.over = true
			report.NotCompared = append(report.NotCompared, fmt.Sprintf("session %.64q: its name is redacted, and the journals number by themselves", step.Session))
			continue
		}
		p.step = i
		found, err := p.play(ctx, step)
		if ctx.Err() != nil {
			return report, context.Cause(ctx)
		}
		if err != nil {
			unplayed = append(unplayed, err)
			p.over = true
		}
		if found != nil {
			report.diverges(found, j, i)
			p.over = true
		}
	}
	for _, step := range j.Steps { // this visits the sessions in order
		if p := players[step.SessionID]; !p.over {
			p.over = true
			if found, at := p.acceptedTwice(); found != nil {
				report.diverges(found, j, at)
			}
		}
	}
	for _, file := range j.open {
		report.NotCompared = append(report.NotCompared, "what came after the end of "+file+", which has no footer: its host was killed, or is still at work")
	}
	if !j.Sealed && len(j.open) == 0 {
		report.NotCompared = append(report.NotCompared, "what came after the end of a journal that has no footer")
	}
	return report, errors.Join(unplayed...)
}

// diverges adds a divergence at a step.
func (r *Report) diverges(found *Divergence, j *Journal, at int) {
	s, place := &j.Steps[at], j.placeOf(at)
	found.Step, found.Journal, found.Line, found.Attempt = at+1, place.file, place.line, s.Attempt
	found.TurnID = s.Turn
	found.Delivery = session.DeliveryID{SessionID: s.SessionID, Delivery: s.Delivery}
	r.Divergences = append(r.Divergences, found)
}

// player replays one session.
type player struct {
	report  *Report
	options Options
	journal *Journal
	step    int // the index in the journal of the current step
	loaded  session.Loaded
	// deliveries holds the accepted deliveries by number. An id that occurs again after a purge is
	// a new delivery with a number of its own. latest holds the last delivery of each id.
	deliveries map[int64]*delivered
	latest     map[string]*delivered
	// unsettled holds, by seq, the deliveries that are not settled, and some that are. The first
	// unsettled one is next.
	unsettled []*delivered
	over      bool
	// open is true if no step says how the attempt begun ended.
	open bool
	// begun is the step of the last attempt that began, and attempt that of the last attempt whose
	// turn is over.
	begun, attempt session.Step
	// last is what the current attempt left; nil if it has no trace.
	last *leavings
	// blind is true if the values are unknown, because a turn that committed has no trace.
	blind bool
	// masked is true if some values are known only by the placeholder in a redacted trace.
	masked bool
}

// delivered is what is known about a delivery.
type delivered struct {
	id      string
	seq     int64
	payload string
	settled bool
	step    int // the index in the journal of the step that accepted it first
}

func diverged(class Class, format string, args ...any) *Divergence {
	return &Divergence{Class: class, Says: fmt.Sprintf(format, args...)}
}

// ofAttempts are the steps of attempts, each of which is an attempt at a delivery.
var ofAttempts = []session.StepKind{session.StepHydrated, session.StepRan, session.StepCommitted, session.StepDropped, session.StepFailed}

// play handles a step.
func (p *player) play(ctx context.Context, s session.Step) (*Divergence, error) {
	d := p.deliveries[s.Seq]
	if s.Kind == session.StepAccepted {
		switch { // a step equal to an earlier one adds nothing
		case d == nil:
		case !sameTold(d.id, s.Delivery):
			return diverged(Order, "%s was accepted under that number", safetext.Quoted(d.id)), nil
		case d.payload != s.Payload:
			return diverged(Order, "the delivery was accepted twice, as two"), nil
		default:
			return nil, nil
		}
		p.accept(&delivered{id: s.Delivery, seq: s.Seq, payload: s.Payload})
		return nil, nil
	}
	if s.Delivery == "" && slices.Contains(ofAttempts, s.Kind) {
		return diverged(Order, "%s names no delivery", s.Kind), nil
	}
	if s.Delivery != "" && d == nil {
		d = p.untoldAcceptance(s)
	}
	if s.Delivery != "" && !sameTold(d.id, s.Delivery) {
		return diverged(Order, "%s comes under the number of another delivery", s.Kind), nil
	}
	switch s.Kind {
	case session.StepCommitted, session.StepDropped, session.StepFailed:
		p.open = false
	}
	switch s.Kind {
	case session.StepHydrated:
		if p.isOver(d) {
			return diverged(Order, "%s comes under another number: the delivery was accepted as %d before", s.Kind, p.latest[d.id].seq), nil
		}
		return p.hydrated(s, d), nil
	case session.StepRan:
		return p.ran(ctx, s, d)
	case session.StepCommitted:
		return p.committed(s, d), nil
	case session.StepFailed:
		if d.settled {
			return diverged(Order, "a settled delivery has failed"), nil
		}
		d.settled = true
	}
	return nil, nil
}

// accept adds a delivery, which is usually the last.
func (p *player) accept(d *delivered) {
	d.step = p.step
	p.deliveries[d.seq] = d
	if before := p.latest[d.id]; before == nil || before.seq < d.seq {
		p.latest[d.id] = d
	}
	at, _ := slices.BinarySearchFunc(p.unsettled, d.seq, func(one *delivered, seq int64) int { return cmp.Compare(one.seq, seq) })
	p.unsettled = slices.Insert(p.unsettled, at, d)
}

// acceptedTwice returns a divergence, and the step of it, if an id was accepted again while the
// earlier delivery was not settled. It ignores journals without a footer, because the settlement
// may not have been written, and redacted ids, because they may be different ids.
func (p *player) acceptedTwice() (found *Divergence, step int) {
	of := map[string]*delivered{}
	for _, seq := range slices.Sorted(maps.Keys(p.deliveries)) {
		d := p.deliveries[seq]
		if before := of[d.id]; before != nil && !before.settled && p.journal.Sealed && !isMasked(d.id) {
			return diverged(Order, "the delivery was accepted twice, as %d and %d, and %d was not settled", before.seq, seq, before.seq), d.step
		}
		of[d.id] = d
	}
	return nil, 0
}

// isOver reports whether the id of a delivery had been accepted again, as another delivery, before
// the current step was written. It compares lines of the same file, which are in the order of
// writing.
func (p *player) isOver(d *delivered) bool {
	latest := p.latest[d.id]
	then, now := p.journal.placeOf(latest.step), p.journal.placeOf(p.step)
	return latest.seq > d.seq && !isMasked(d.id) && then.file == now.file && 0 < then.line && then.line < now.line
}

// next returns the delivery whose turn it is, or nil if all are settled.
func (p *player) next() *delivered {
	for len(p.unsettled) > 0 && p.unsettled[0].settled {
		p.unsettled = p.unsettled[1:]
	}
	if len(p.unsettled) == 0 {
		return nil
	}
	return p.unsettled[0]
}

// hydrated compares what was read for an attempt with the state so far.
func (p *player) hydrated(s session.Step, d *delivered) *Divergence {
	p.untoldEnd(s)
	p.last, p.attempt, p.begun, p.open = nil, session.Step{}, s, true
	if next := p.next(); next == nil || d.settled {
		return diverged(Order, "an attempt at %s comes after it was settled", safetext.Quoted(s.Delivery))
	} else if next != d {
		return diverged(Order, "an attempt at %s comes when %s is at its turn", safetext.Quoted(s.Delivery), safetext.Quoted(next.id))
	}
	if s.Revision != p.loaded.Revision {
		return diverged(Hydrate, "revision %d was read after %d commits", s.Revision, p.loaded.Revision)
	}
	if bag := session.Digest(p.loaded.Values); s.Bag != bag && !p.blind && !p.masked {
		return diverged(Hydrate, "the values that were read are not those that were committed")
	}
	return nil
}

// leavings is what a turn left, according to its trace.
type leavings struct {
	begun, values map[string]session.Value
	writes        []string
	bodies        []json.RawMessage // the bodies of the writes; nil for a delete
}

// ran compares the trace of an attempt with the state so far, and replays it.
func (p *player) ran(ctx context.Context, s session.Step, d *delivered) (*Divergence, error) {
	p.report.Attempts++
	p.attempt = s
	if s.Turn == "" {
		return p.follows(s), nil
	}
	t, err := p.read(s.Turn)
	if err != nil {
		return nil, fmt.Errorf("the trace of turn %s: %w", s.Turn, err)
	}
	if t == nil {
		p.report.Untraced++
		p.report.NotCompared = append(p.report.NotCompared, "turn "+s.Turn+noTrace)
		return p.follows(s), nil
	}
	begun, err := beginningOf(firstCall(t))
	if err != nil {
		return diverged(Hydrate, "%s", err), nil
	}
	if found := cmp.Or(p.begins(s, d, begun), p.follows(s)); found != nil {
		return found, nil
	}
	report, err := p.replayed(ctx, s.Turn, t)
	if err != nil {
		return nil, fmt.Errorf("the trace of turn %s: %w", s.Turn, err)
	}
	if report.Divergence != nil {
		found := diverged(Turn, "the turn does something else")
		found.Turn = report
		return found, nil
	}
	if p.last, err = leftBy(t); err == nil {
		p.last.begun = begun.values
	}
	return nil, err
}

const noTrace = ", which has no trace"

// follows checks that an attempt whose turn is over is the one that began last.
func (p *player) follows(s session.Step) *Divergence {
	if b := p.begun; b.Delivery != s.Delivery || b.Attempt != s.Attempt || b.Epoch != s.Epoch {
		return diverged(Order, "this attempt was not begun just before")
	}
	return nil
}

// read reads the trace of a turn, or returns nil if there is none.
func (p *player) read(turn string) (t *trace.Trace, err error) {
	r, err := p.options.Open(turn)
	if err != nil || r == nil {
		return nil, err
	}
	t, err = trace.Read(r, p.options.Reading)
	return t, errors.Join(err, r.Close())
}

// replayed returns the report of a replay of the turn.
func (p *player) replayed(ctx context.Context, turn string, t *trace.Trace) (*replay.Report, error) {
	if p.options.Replayed != nil {
		if report := p.options.Replayed(turn); report != nil {
			return report, nil
		}
	}
	var lines bytes.Buffer
	if _, err := t.WriteTo(&lines); err != nil {
		return nil, err
	}
	return replay.Verify(ctx, &lines, p.options.Live, p.options.Reading)
}

// beginning is what a turn began with.
type beginning struct {
	raw    adk.RawTurn
	seed   session.Seed
	values map[string]session.Value
}

// firstCall returns the first call in a trace, or nil if there is none. A cancel may come before
// it.
func firstCall(t *trace.Trace) *adk.Crossing {
	for _, line := range t.All() {
		if line.Kind == adk.KindCall {
			return &line.Crossing
		}
	}
	return nil
}

// beginningOf returns what the first call of a trace says. The call may be nil.
func beginningOf(x *adk.Crossing) (b beginning, err error) {
	if x == nil {
		return b, errors.New("the trace has no raw turn")
	}
	stash, _ := x.Value.(map[string]any)
	b.raw = adk.RawTurn{SystemPrompt: x.Text, Instructions: x.Texts, Stash: stash}
	var ok bool
	if b.seed, ok = seedIn(stash); !ok {
		return b, errors.New("the trace has no seed: it is none of a session's turn")
	}
	b.values = valuesIn(stash)
	return b, nil
}

// seedIn returns the seed in a stash, if there is one.
func seedIn(stash map[string]any) (seed session.Seed, ok bool) {
	own, _ := stash["session"].(map[string]any)
	raw, _ := own["seed"].(json.RawMessage)
	return seed, json.Unmarshal(raw, &seed) == nil
}

// valuesIn returns the session's values in a stash by their keys.
func valuesIn(stash map[string]any) map[string]session.Value {
	values := map[string]session.Value{}
	own, _ := stash["session"].(map[string]any)
	var gather func(tree map[string]any, prefix string)
	gather = func(tree map[string]any, prefix string) {
		for name, leaf := range tree {
			if below, ok := leaf.(map[string]any); ok {
				gather(below, prefix+name+".")
			} else if raw, ok := leaf.(json.RawMessage); ok {
				var value session.Value
				if isWhollyMasked(raw) { // whose version nobody knows
					values[prefix+name] = session.Value{Body: raw}
				} else if json.Unmarshal(raw, &value) == nil {
					values[prefix+name] = value
				}
			}
		}
	}
	under, _ := own["context"].(map[string]any)
	gather(under, "")
	return values
}

// begins compares the raw turn of a trace with the state so far.
func (p *player) begins(s session.Step, d *delivered, b beginning) *Divergence {
	seed := b.seed
	named := sameTold(seed.Tenant, s.Tenant) && sameTold(seed.Session, s.Session) && sameTold(seed.Delivery, s.Delivery)
	if !named || seed.Seq != s.Seq || seed.Attempt != s.Attempt || seed.Epoch != s.Epoch {
		return diverged(Hydrate, "the trace is of attempt %d at %s of session %s, epoch %d", seed.Attempt, safetext.Quoted(seed.Delivery), safetext.Quoted(seed.Session), seed.Epoch)
	}
	if d.payload != "" && !isMasked(b.payload()) && (session.Delivery{Payload: b.payload()}).Digest() != d.payload {
		return diverged(Hydrate, "the payload is another than the one that was accepted")
	}
	if p.blind { // stays blind until a trace shows all values that were read
		p.loaded.Values = maps.Clone(b.values)
		p.blind = session.Digest(b.values) != p.begun.Bag
	}
	for _, key := range slices.Sorted(maps.Keys(b.values)) {
		if isMasked(b.values[key].Body) || isMasked(p.loaded.Values[key].Body) {
			p.mask()
			p.loaded.Values[key] = b.values[key]
			continue
		}
		if held, has := p.loaded.Values[key]; !has || held.Version != b.values[key].Version || !bytes.Equal(session.Canonical(held.Body), session.Canonical(b.values[key].Body)) {
			return diverged(Hydrate, "the turn began with another value of %s than the one so far", safetext.Quoted(key))
		}
	}
	return p.beginsToday(b)
}

// mask records that a value is redacted.
func (p *player) mask() {
	if !p.masked {
		p.report.NotCompared = append(p.report.NotCompared, fmt.Sprintf("the digests of the values of session %.64q, of which some are redacted", p.loaded.Session))
	}
	p.masked = true
}

// listed returns a list of names from elsewhere, cut to fit on a line.
func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return safetext.Short(names, safetext.Quoted)
}

// beginsToday compares the beginning of the turn with what today's host begins with.
func (p *player) beginsToday(b beginning) *Divergence {
	if p.options.Host == nil {
		return nil
	}
	today, err := b.today(p.options.Host, p.loaded.Values)
	switch {
	case err != nil:
		return diverged(Hydrate, "today's host does not begin the turn: %s", safetext.Bare(safetext.ErrorWords(err)))
	case today.SystemPrompt != b.raw.SystemPrompt:
		return diverged(Hydrate, "today's host has another prompt, from line %d on", firstOther(strings.Split(today.SystemPrompt, "\n"), strings.Split(b.raw.SystemPrompt, "\n")))
	case !slices.Equal(today.Instructions, b.raw.Instructions):
		return diverged(Hydrate, "today's host has other instructions, from number %d on: %d in the place of %d",
			firstOther(today.Instructions, b.raw.Instructions), len(today.Instructions), len(b.raw.Instructions))
	case !reflect.DeepEqual(today.Stash, b.raw.Stash):
		return diverged(Hydrate, "today's host begins with another stash, which differs at %s", listed(otherLeaves(today.Stash, b.raw.Stash)))
	}
	return nil
}

// firstOther returns the number, from 1, of the first text in which two lists differ.
func firstOther(a, b []string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n + 1
}

// otherLeaves returns the sorted paths at which two stashes differ.
func otherLeaves(a, b map[string]any) (paths []string) {
	names := map[string]any{}
	maps.Copy(names, a)
	maps.Copy(names, b)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		below, ok := a[name].(map[string]any)
		other, too := b[name].(map[string]any)
		switch {
		case ok || too:
			for _, path := range otherLeaves(below, other) {
				paths = append(paths, name+"."+path)
			}
		case !reflect.DeepEqual(a[name], b[name]):
			paths = append(paths, name)
		}
	}
	return paths
}

// leftBy returns what the turn of a trace left.
func leftBy(t *trace.Trace) (*leavings, error) {
	l := &leavings{}
	fold := state.New()
	for _, line := range t.All() {
		x := &line.Crossing
		if err := fold.Apply(x); err != nil {
			return nil, fmt.Errorf("sessions: folding a trace: %w", err)
		}
		if x.Kind == adk.KindCall && x.Seam.Effect() == adk.EffectWrites {
			key := x.Key
			if x.Record != nil {
				key = x.Record.Key()
			}
			body, err := bodyOf(x.Record)
			if err != nil {
				return nil, fmt.Errorf("sessions: a record of a trace: %w", err)
			}
			l.writes, l.bodies = append(l.writes, x.Seam.Name+" "+key), append(l.bodies, body)
		}
	}
	l.values = valuesIn(fold.Turn().Values.Tree)
	return l, nil
}

// committed compares a commit with what the attempt left.
func (p *player) committed(s session.Step, d *delivered) *Divergence {
	if d.settled {
		return diverged(Order, "the delivery was settled before")
	}
	if s.Revision != p.loaded.Revision+1 {
		return diverged(Order, "revision %d was committed after %d", s.Revision, p.loaded.Revision)
	}
	if a := p.attempt; a.Delivery != s.Delivery || a.Attempt != s.Attempt || a.Epoch != s.Epoch {
		return diverged(Order, "what was committed is no attempt whose turn was over just before")
	}
	d.settled = true
	p.report.Commits++
	p.loaded.Revision = s.Revision
	if p.last == nil { // without the trace, the values are unknown from here on
		p.blind = true
		return nil
	}
	return p.commits(s)
}

// left returns the values after the attempt, and the keys that the attempt changed.
func (p *player) left() (keys []string, next map[string]session.Value) {
	keys, next = []string{}, maps.Clone(p.loaded.Values)
	for key, value := range p.last.values {
		if before, had := next[key]; !had || !reflect.DeepEqual(before, value) {
			keys, next[key] = append(keys, key), value
		}
	}
	for key := range p.last.begun {
		if _, left := p.last.values[key]; !left {
			keys = append(keys, key)
			delete(next, key)
		}
	}
	slices.Sort(keys)
	return keys, next
}

func (p *player) commits(s session.Step) *Divergence {
	keys, next := p.left()
	p.loaded.Values = next
	if slices.ContainsFunc(slices.Collect(maps.Values(next)), func(v session.Value) bool { return isMasked(v.Body) }) {
		p.mask()
	}
	if !sameKeys(s.Keys, keys) && !p.blind {
		return diverged(Commit, "the keys %s were committed, the turn has changed %s", listed(s.Keys), listed(keys))
	}
	if !p.blind && !p.masked && s.Bag != session.Digest(next) {
		return diverged(Commit, "the values that were committed are not those that the turn has left")
	}
	var written []string
	for _, record := range s.Records {
		what, _ := recordOf(record)
		written = append(written, what)
	}
	if !isWithin(written, p.last.writes) {
		return diverged(Commit, "records were committed that the turn has not stored, or in another order: %s, it stored %s", listed(written), listed(p.last.writes))
	}
	return nil
}

// recordOf splits a commit's text of a record into what was done to which record, and the beginning
// of the digest of its body.
func recordOf(record string) (what, digest string) {
	name, rest, _ := strings.Cut(record, " ")
	if at := strings.LastIndexByte(rest, ' '); at >= 0 && !strings.HasSuffix(name, ".delete") {
		rest, digest = rest[:at], rest[at+1:]
	}
	return name + " " + rest, digest
}

// isWithin reports whether some is a subsequence of all, apart from redaction.
func isWithin(some, all []string) bool {
	for _, one := range all {
		if len(some) > 0 && sameTold(some[0], one) {
			some = some[1:]
		}
	}
	return len(some) == 0
}
