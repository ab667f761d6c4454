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
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/internal/varying"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Rerecord replays the sessions of a recording with today's host, attempt by attempt, and returns
// the files of the new recording by name. Each turn begins with what the turn before left. today
// returns the host and what else of it is live, as for Today; it must make the host afresh for each
// turn, and again for a second run of a turn. What was delivered, to which host and when, stays as
// recorded, and so does the result of every seam that is not live, such as a fetch. Sources are
// opened several times.
//
// Rerecord returns the new recording only if it verifies. Otherwise the error says why: a file
// cannot be read or does not fit the others; replay.Rerecord refuses a turn, for example a redacted
// one without Live.Redact; a turn varies when it is run again, as far as Live.Twice has that done;
// a turn has no trace; or a turn reaches its output and did not before, or the other way round,
// because no recording has what hosts do then.
func (r *Recording) Rerecord(ctx context.Context, today func() (*session.Host, replay.Live), reading trace.Options) (map[string][]byte, error) {
	journal, reports := r.Read(reading)
	for _, one := range reports {
		if one.Error != "" {
			return nil, errors.New("replay: " + one.Error)
		}
	}
	if journal.isNumberedApart() {
		return nil, errors.New("sessions: the names of sessions are redacted, and the journals number by themselves: nobody knows which session is which")
	}
	was, err := r.Verify(ctx, Options{Reading: reading, Replayed: AsRecorded})
	switch {
	case err != nil:
		return nil, err
	case len(was.Divergences) > 0:
		return nil, errors.New("sessions: the journal and its traces are not of one session: " + was.Divergences[0].Text)
	}
	again := &rerecording{turns: r.Turns(reading), today: today, reading: reading, files: map[string][]byte{}, sessions: map[session.SessionID]*progress{}}
	for i := range journal.Steps {
		if err := again.step(ctx, &journal.Steps[i]); err != nil {
			return nil, fmt.Errorf("sessions: %s of session %.64q: %w", cmp.Or(journal.Steps[i].Delivery, "a step"), journal.Steps[i].Session, err)
		}
	}
	if err := again.journals(journal); err != nil {
		return nil, err
	}
	return again.files, again.verified(ctx)
}

// rerecording is a recording that is being made again.
type rerecording struct {
	turns    map[string]corpus.Source
	today    func() (*session.Host, replay.Live)
	reading  trace.Options
	files    map[string][]byte
	sessions map[session.SessionID]*progress
}

// progress is the state of a session during the rerecording.
type progress struct {
	// was holds the session's recorded values, and values those of now.
	was, values map[string]session.Value
	// before is what the last turn left when recorded, and after what it leaves now.
	before, after *leavings
}

// step changes a step to what happens now.
func (a *rerecording) step(ctx context.Context, s *session.Step) error {
	p := a.sessions[s.SessionID]
	if p == nil {
		p = &progress{was: map[string]session.Value{}, values: map[string]session.Value{}}
		a.sessions[s.SessionID] = p
	}
	switch s.Kind {
	case session.StepHydrated:
		s.Bag = p.bag(s.Bag)
	case session.StepRan:
		return a.turn(ctx, p, s.Turn)
	case session.StepCommitted:
		if p.after == nil {
			return errors.New("it was committed, and its turn has no trace")
		}
		_, p.was = (&player{loaded: session.Loaded{Values: p.was}, last: p.before}).left()
		s.Keys, p.values = (&player{loaded: session.Loaded{Values: p.values}, last: p.after}).left()
		if len(s.Keys) == 0 {
			s.Keys = nil
		}
		s.Bag, s.Records = p.bag(s.Bag), p.records(s.Records)
	}
	return nil
}

// bag returns the digest of the values. If they are the recorded values, it is the recorded digest,
// because the digest of redacted values cannot be computed.
func (p *progress) bag(recorded string) string {
	if reflect.DeepEqual(p.was, p.values) {
		return recorded
	}
	return session.Digest(p.values)
}

// turn makes the trace of a turn again.
func (a *rerecording) turn(ctx context.Context, p *progress, id string) error {
	p.before, p.after = nil, nil
	source, has := a.turns[id]
	if !has {
		return nil
	}
	reading := a.reading
	reading.File = source.Name
	old, err := opened(source, func(in io.Reader) (*trace.Trace, error) { return trace.Read(in, reading) })
	if err != nil {
		return err
	}
	begun, err := beginningOf(firstCall(old))
	if err != nil {
		return err
	}
	values := maps.Clone(p.values)
	for key, recorded := range begun.values {
		if now, has := values[key]; has && reflect.DeepEqual(now, p.was[key]) {
			values[key] = recorded // with this trace's numbers in its placeholders
		}
	}
	afresh := func() (replay.Live, error) {
		host, live := a.today()
		return begun.live(host, live, values)
	}
	var made bytes.Buffer
	if _, err := opened(source, func(in io.Reader) (*replay.Report, error) { return varying.Rerecord(ctx, in, &made, afresh, reading) }); err != nil {
		return err
	}
	a.files[source.Name] = made.Bytes()
	again, err := trace.Read(bytes.NewReader(made.Bytes()), reading)
	if err != nil {
		return err
	}
	return p.leaves(old, again)
}

// leaves records what a turn left before and leaves now.
func (p *progress) leaves(old, again *trace.Trace) (err error) {
	if endsInOutput(old) != endsInOutput(again) {
		return errors.New("its turn does not end as it did, with an answer or without: record the session again")
	}
	if p.before, err = leftBy(old); err == nil {
		p.after, err = leftBy(again)
	}
	if err != nil {
		return err
	}
	before, err := beginningOf(firstCall(old))
	if err != nil {
		return err
	}
	after, err := beginningOf(firstCall(again))
	p.before.begun, p.after.begun = before.values, after.values
	return err
}

// endsInOutput reports whether a turn reached its output, where the host merges (SES-19).
func endsInOutput(t *trace.Trace) bool {
	for _, x := range t.All() {
		if x.Kind == adk.KindCall && x.Seam.Label == adk.LabelTurnOutput && x.Seam.Name == "session-merge" {
			return true
		}
	}
	return false
}

// opened opens a source and returns what read makes of it.
func opened[T any](source corpus.Source, read func(io.Reader) (T, error)) (made T, err error) {
	in, err := source.Open()
	if err != nil {
		return made, err
	}
	defer in.Close()
	return read(in)
}

// records returns the records that the commit writes now. If the recorded turn wrote to a
// collection and the recorded commit has no record of it, the collection is written immediately,
// and the commit has none now either.
func (p *progress) records(recorded []string) (all []string) {
	atOnce := map[string]bool{}
	for _, w := range p.before.writes {
		atOnce[collectionOf(w)] = true
	}
	for _, record := range recorded {
		atOnce[collectionOf(record)] = false
	}
	for i, w := range p.after.writes {
		if atOnce[collectionOf(w)] {
			continue
		}
		if n := len(all); n < len(recorded) && i < len(p.before.writes) && p.before.writes[i] == w && bytes.Equal(p.before.bodies[i], p.after.bodies[i]) && isOf(recorded[n], w) {
			all = append(all, recorded[n])
			continue
		}
		if body := p.after.bodies[i]; body != nil {
			w += " " + session.Delivery{Payload: body}.Digest()[:16]
		}
		all = append(all, w)
	}
	return all
}

// isOf reports whether a record of a commit is the given write.
func isOf(record, write string) bool {
	what, _ := recordOf(record)
	return sameTold(what, write)
}

func collectionOf(write string) string {
	name, _, _ := strings.Cut(write, ".")
	return name
}

// journals writes the journals again, each with its steps in their order, and with a footer if it
// had one.
func (a *rerecording) journals(all *Journal) error {
	of := map[string][]int{}
	for i := range all.Steps {
		of[all.placeOf(i).file] = append(of[all.placeOf(i).file], i)
	}
	for file, steps := range of {
		slices.SortFunc(steps, func(x, y int) int { return cmp.Compare(all.placeOf(x).line, all.placeOf(y).line) })
		var out bytes.Buffer
		recorder := Record(&out)
		recorder.masks = &masks{numbering: all.placeOf(steps[0]).numbering}
		for _, i := range steps {
			recorder.Step(all.Steps[i])
		}
		err := recorder.Err()
		if !slices.Contains(all.open, file) {
			err = recorder.Close()
		}
		if err != nil {
			return err
		}
		a.files[file] = out.Bytes()
	}
	return nil
}

// verified returns an error if the new recording does not verify.
func (a *rerecording) verified(ctx context.Context) error {
	var sources []corpus.Source
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		sources = append(sources, corpus.Source{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(a.files[name])), nil }})
	}
	recordings, _ := Recordings(sources)
	if len(recordings) != 1 {
		return errors.New("sessions: there is no journal")
	}
	report, err := recordings[0].Verify(ctx, Options{Reading: a.reading})
	switch {
	case err != nil:
		return err
	case len(report.Divergences) > 0:
		return errors.New("sessions: the new recording diverges itself: " + report.Divergences[0].Text)
	case len(report.Faults()) > 0:
		return errors.New("sessions: the new recording cannot be read: " + report.Faults()[0])
	}
	return nil
}

// bodyOf returns a record in the form in which a commit writes it, or nil if there is none.
func bodyOf(record adk.Record) (json.RawMessage, error) {
	if marshaler, ok := record.(json.Marshaler); ok { // it is the record's own text, unchanged
		return marshaler.MarshalJSON()
	}
	return nil, nil
}
