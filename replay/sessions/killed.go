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

// This file is what a host leaves that was killed: a journal without a footer, and the trace
// of each turn that it had under way, which ends anywhere. Another host has made the attempt
// again, or will.

// IsCut reports whether a trace of a name ends where its host was killed: whoever verifies
// traces one by one leaves it out, as Verify does. It is of an attempt that has no end in a
// journal without a footer. Other traces that end early are damage.
func (r *Recording) IsCut(name string, reading trace.Options) bool {
	r.Read(reading)
	return slices.ContainsFunc(r.cut, func(source corpus.Source) bool { return source.Name == name })
}

// Whole are the traces that no end of a host has cut, as IsCut says: those that can be read one
// by one. reading says how the traces are read.
func Whole(traces []corpus.Source, recordings []*Recording, reading ...trace.Options) (whole []corpus.Source) {
	for _, source := range traces {
		if !slices.ContainsFunc(recordings, func(r *Recording) bool { return r.IsCut(source.Name, optional.First(reading)) }) {
			whole = append(whole, source)
		}
	}
	return whole
}

// BrokenOff gives the name of the trace of an attempt that no journal says is over, by the step
// with which the attempt began; empty of other steps, and where the host has left no trace of it.
func (r *Recording) BrokenOff(reading trace.Options) func(s session.Step) string {
	r.Read(reading)
	return func(s session.Step) string {
		if s.Kind != session.StepHydrated {
			return ""
		}
		return r.broken[attemptOf(s)]
	}
}

// attemptID names an attempt, of whatever host.
type attemptID struct {
	session.DeliveryID
	number int
	epoch  int64
}

func attemptOf(s session.Step) attemptID {
	return attemptID{session.DeliveryID{SessionID: s.SessionID, Delivery: s.Delivery}, s.Attempt, s.Epoch}
}

// untold goes through the traces of turns that no journal says are over, where one has no
// footer. Those that end early are cut if an attempt had begun that could be theirs; what is of
// an attempt that nobody has begun is strange: steps were cut away that were told.
func (r *Recording) untold(reading trace.Options) (cut []corpus.Source, strange string) {
	others := 0
	told := r.told()
	r.broken = map[attemptID]string{}
	var nameless []corpus.Source // which end before they say of what attempt they are
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

// toldAttempts is what journals tell of attempts: which have begun, which of them have no end in
// a journal without a footer, and the turns of those that have one.
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

// turn is the id of a turn as journals say it, of how its trace does.
func (told toldAttempts) turn(id string) string {
	if told.turns[id] || !isMasked(id) {
		return id
	}
	for other := range told.turns { // of which there is one, or nobody knows which
		if sameTold(other, id) {
			return other
		}
	}
	return id
}

// attempt is an attempt as journals name it, of how a trace does: one that is open, if it may
// be that.
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

// mayBe reports whether an attempt may be that of a trace, as far as redaction has left it.
func (id attemptID) mayBe(other attemptID) bool {
	return id.number == other.number && id.epoch == other.epoch && sameTold(id.Tenant, other.Tenant) &&
		sameTold(id.Session, other.Session) && sameTold(id.Delivery, other.Delivery)
}

// attemptIn reads of what attempt a trace is, if it says so, and whether it ends early.
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
