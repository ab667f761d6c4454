package sessions

import (
	"errors"
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/internal/optional"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// This file handles what a killed host leaves: a journal without a footer, and the trace of each
// turn in progress, which may end anywhere. Another host made the attempt again, or will do so.

// IsCut reports whether the trace with the given name ends where its host was killed: it belongs to
// an attempt without an end in a journal without a footer. Code that verifies traces one by one
// leaves such a trace out, as Verify does. Other traces that end early are damaged.
func (r *Recording) IsCut(name string, reading trace.Options) bool {
	r.Read(reading)
	return slices.ContainsFunc(r.cut, func(source corpus.Source) bool { return source.Name == name })
}

// Whole returns the traces for which IsCut is false, which can be read one by one. reading says how
// the traces are read.
func Whole(traces []corpus.Source, recordings []*Recording, reading ...trace.Options) (whole []corpus.Source) {
	for _, source := range traces {
		if !slices.ContainsFunc(recordings, func(r *Recording) bool { return r.IsCut(source.Name, optional.First(reading)) }) {
			whole = append(whole, source)
		}
	}
	return whole
}

// BrokenOff returns a function that maps the step with which an attempt began to the name of the
// attempt's trace, if no journal says that the attempt ended. It returns "" for other steps, and if
// the host left no trace of the attempt.
func (r *Recording) BrokenOff(reading trace.Options) func(s session.Step) string {
	r.Read(reading)
	return func(s session.Step) string {
		if s.Kind != session.StepHydrated {
			return ""
		}
		return r.broken[attemptOf(s)]
	}
}

// attemptID identifies an attempt of any host.
type attemptID struct {
	session.DeliveryID
	number int
	epoch  int64
}

func attemptOf(s session.Step) attemptID {
	return attemptID{session.DeliveryID{SessionID: s.SessionID, Delivery: s.Delivery}, s.Attempt, s.Epoch}
}

// untold examines the traces of turns that no journal says are over, if a journal has no footer. A
// trace that ends early is cut if it may belong to an attempt that had begun. A trace of an attempt
// that no journal has is strange: steps were removed from the journal after they were written.
func (r *Recording) untold(reading trace.Options) (cut []corpus.Source, strange string) {
	others := 0
	told := r.told()
	r.broken = map[attemptID]string{}
	var nameless []corpus.Source // traces that end before they show their attempt
	for _, source := range r.Traces {
		if told.turns[told.turn(turnOf(source, reading))] {
			continue
		}
		id, known, early := attemptIn(source, reading)
		id = told.attempt(id)
		switch {
		case known && !told.begun[id]:
			if others++; others == 1 {
				strange = fmt.Sprintf("truncated journal: it has no footer, and tells nothing of attempt %d at %s, epoch %d, whose turn has the trace %s", id.number, id.DeliveryID, id.epoch, safetext.Line(source.Name))
			}
		case known && told.open[id]:
			if r.broken[id] = source.Name; early {
				cut = append(cut, source)
			}
		case !known && early:
			nameless = append(nameless, source)
		}
		if known {
			told.open[id] = false
		}
	}
	spare := 0
	for _, ok := range told.open {
		if ok {
			spare++
		}
	}
	if others > 1 {
		strange += fmt.Sprintf(", and of %d more", others-1)
	}
	return append(cut, nameless[:min(len(nameless), spare)]...), strange
}

// toldAttempts is what journals say about attempts: which have begun, which of those have no end in
// a journal without a footer, and the turns of those that have ended.
type toldAttempts struct {
	begun, open map[attemptID]bool
	turns       map[string]bool
}

func (r *Recording) told() toldAttempts {
	told := toldAttempts{map[attemptID]bool{}, map[attemptID]bool{}, map[string]bool{}}
	for _, j := range r.journals {
		for _, s := range j.Steps {
			switch id := attemptOf(s); s.Kind {
			case session.StepHydrated:
				told.begun[id], told.open[id] = true, !j.Sealed
			case session.StepRan:
				told.turns[s.Turn], told.open[id] = true, false
			}
		}
	}
	return told
}

// turn translates the id of a turn from the form of its trace to that of the journals.
func (told toldAttempts) turn(id string) string {
	if told.turns[id] || !isMasked(id) {
		return id
	}
	for other := range told.turns { // if several match, any of them may be it
		if sameTold(other, id) {
			return other
		}
	}
	return id
}

// attempt translates an attempt from the form of its trace to that of the journals. If several
// match, it prefers one that is open.
func (told toldAttempts) attempt(id attemptID) attemptID {
	if !isMasked(id.Tenant + id.Session + id.Delivery) {
		return id
	}
	found := id
	for other := range told.begun {
		if !other.mayBe(id) {
			continue
		}
		if found = other; told.open[other] {
			break
		}
	}
	return found
}

// mayBe reports whether an attempt may be that of a trace. Redaction may have removed parts of
// their names.
func (id attemptID) mayBe(other attemptID) bool {
	return id.number == other.number && id.epoch == other.epoch && sameTold(id.Tenant, other.Tenant) &&
		sameTold(id.Session, other.Session) && sameTold(id.Delivery, other.Delivery)
}

// attemptIn reads a trace. It returns the trace's attempt, whether the attempt is known, and
// whether the trace ends early.
func attemptIn(source corpus.Source, reading trace.Options) (id attemptID, known, early bool) {
	in, err := source.Open()
	if err != nil {
		return id, false, false
	}
	defer in.Close()
	t, err := trace.Read(in, reading)
	var format *trace.FormatError
	early = errors.As(err, &format) && format.Fault == trace.FaultTruncated
	if t == nil {
		return id, false, early
	}
	b, err := beginningOf(firstCall(t))
	seed := b.seed
	return attemptID{session.DeliveryID{SessionID: session.SessionID{Tenant: seed.Tenant, Session: seed.Session}, Delivery: seed.Delivery}, seed.Attempt, seed.Epoch}, err == nil, early
}
