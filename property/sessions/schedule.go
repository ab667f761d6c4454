package sessions

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/property/turn"
)

// Verb is what an action does.
type Verb string

// The verbs. The first six take the number of a delivery, counted from 1.
const (
	// Deliver sends a delivery, for the first time or again.
	Deliver Verb = "deliver"
	// ToSession sends it to a second session of the tenant, ToTenant to a session with the same
	// name of another tenant.
	ToSession Verb = "to-session"
	ToTenant  Verb = "to-tenant"
	// OtherPayload sends another payload under the delivery's id.
	OtherPayload Verb = "payload"
	// OtherChannel sends a delivery whose channel has another state, under a new id.
	OtherChannel Verb = "channel"
	// Erase erases the session of a delivery.
	Erase Verb = "erase"
	// Resume settles what others have left.
	Resume Verb = "resume"
	// GoOn lets the host's call that stands at a point go on.
	GoOn Verb = "go"
	// Restart ends the process, wherever it is, and begins another one.
	Restart Verb = "restart"
	// ToRelease restarts with the release of a number, counted from 1, the oldest.
	ToRelease Verb = "release"
	// Wait lets a number of seconds pass, and Expire the length of a lease plus one second. Both
	// belong to no host.
	Wait   Verb = "wait"
	Expire Verb = "expire"
	// Back sets the clock of all hosts back by a number of seconds.
	Back Verb = "back"
)

// verbs says of each verb whether it takes a number and a host, and whether it makes calls that can
// break.
var verbs = map[Verb]struct{ number, host, calls bool }{
	Deliver: {true, true, true}, ToSession: {true, true, true}, ToTenant: {true, true, true},
	OtherPayload: {true, true, true}, OtherChannel: {true, true, true}, Erase: {true, true, true}, Resume: {false, true, true},
	GoOn: {false, true, false}, Restart: {false, true, false}, ToRelease: {true, true, false}, Wait: {true, false, false}, Back: {true, false, false}, Expire: {false, false, false},
}

// FaultKind is what goes wrong within an action.
type FaultKind string

// The kinds of faults at a call that a host makes. Fault.At is the number of the call in the
// action. Crash ends the process before the call, and CrashAfter after it. Fail makes the call fail
// without being made, and FailAfter after it was made.
const (
	Crash      FaultKind = "crash"
	CrashAfter FaultKind = "crash-after"
	Fail       FaultKind = "fail"
	FailAfter  FaultKind = "fail-after"
	// Stand makes the process stand still before the call, until GoOn, its next action, or the end
	// of the schedule. What happens in between happens without it.
	Stand FaultKind = "stand"
)

// inTurn is the prefix of the kinds of faults within turns: those of package turn, and Stand.
// Fault.At is then the number of the crossing, counted through all turns of the action.
const inTurn = "turn-"

// StandInTurn makes the process stand still before a crossing of a turn.
const StandInTurn FaultKind = inTurn + "stand"

// InTurn returns the kind of fault that makes k within a turn.
func InTurn(k turn.FaultKind) FaultKind { return FaultKind(inTurn + k.String()) }

// turnFaults are the kinds of package turn that are tried within turns.
var turnFaults = []turn.FaultKind{turn.Cancel, turn.CancelAfter, turn.Fail, turn.Panic, turn.StorageBefore, turn.StorageAfter, turn.Crash}

// FaultKinds lists all kinds.
func FaultKinds() []FaultKind {
	return append([]FaultKind{Crash, CrashAfter, Fail, FailAfter, Stand, StandInTurn}, safetext.Each(turnFaults, InTurn)...)
}

// Fault is one thing that goes wrong.
type Fault struct {
	Kind FaultKind
	At   int
}

// Action is one thing that is done.
type Action struct {
	// Host is a or b; empty if the verb belongs to no host.
	Host string
	Verb Verb
	// Arg is the number of the delivery or the release, or of seconds; 0 if the verb takes none.
	Arg    int
	Faults []Fault
}

// Schedule is the list of what is done in one run, in order. A subject and a schedule determine a
// run completely. At its end the calls that stand still go on. Then another host settles what is
// left, without faults.
type Schedule []Action

// String returns the schedule in the form that ParseSchedule reads, such as
// a:deliver@1+stand@6,expire,b:resume: host a delivers and stands still before its sixth call, its
// lease ends, and host b settles what it has left.
func (s Schedule) String() string {
	return strings.Join(safetext.Each(s, Action.String), ",")
}

// String returns the action in the form that a schedule has.
func (a Action) String() string {
	text := string(a.Verb)
	if a.Host != "" {
		text = a.Host + ":" + text
	}
	if a.Arg != 0 {
		text += "@" + strconv.Itoa(a.Arg)
	}
	for _, f := range a.Faults {
		text += "+" + string(f.Kind) + "@" + strconv.Itoa(f.At)
	}
	return text
}

// MarshalText returns String.
func (s Schedule) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a schedule with ParseSchedule.
func (s *Schedule) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSchedule(string(text))
	return err
}

// ParseSchedule reads what String wrote.
func ParseSchedule(text string) (s Schedule, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		a, err := readAction(part)
		if err != nil {
			return nil, fmt.Errorf("schedule %q: %w", text, err)
		}
		s = append(s, a)
	}
	return s, nil
}

func readAction(text string) (a Action, err error) {
	parts := strings.Split(text, "+")
	verb := parts[0]
	if host, rest, found := strings.Cut(verb, ":"); found {
		a.Host, verb = host, rest
	}
	verb, number, numbered := strings.Cut(verb, "@")
	a.Verb = Verb(verb)
	takes, known := verbs[a.Verb]
	switch {
	case !known:
		return a, fmt.Errorf("%q: there is no verb %q", text, verb)
	case takes.number != numbered:
		return a, fmt.Errorf("%q: want %s as in deliver@1, wait@30 and a:resume", text, verb)
	case takes.host != (a.Host != ""), a.Host != "" && a.Host != "a" && a.Host != "b":
		return a, fmt.Errorf("%q: want a: or b: before what a host does, and nothing before what nobody does", text)
	case len(parts) > 1 && !takes.calls && a.Verb != GoOn:
		return a, fmt.Errorf("%q: nothing goes wrong in it", text)
	}
	if numbered {
		if a.Arg, err = atLeastOne(number); err != nil {
			return a, fmt.Errorf("%q: want a number from 1 after @", text)
		}
	}
	for _, part := range parts[1:] {
		kind, at, _ := strings.Cut(part, "@")
		f := Fault{Kind: FaultKind(kind)}
		if !slices.Contains(FaultKinds(), f.Kind) {
			return a, fmt.Errorf("%q: there is no fault %q", text, kind)
		}
		if f.At, err = atLeastOne(at); err != nil {
			return a, fmt.Errorf("%q: want the number of a call, or of a crossing, from 1 after %s@", text, kind)
		}
		a.Faults = append(a.Faults, f)
	}
	return a, nil
}

// atLeastOne reads a positive number as strconv.Itoa writes it.
func atLeastOne(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err == nil && (n < 1 || strconv.Itoa(n) != text) {
		err = strconv.ErrSyntax
	}
	return n, err
}

// clone returns a deep copy.
func (s Schedule) clone() Schedule {
	c := slices.Clone(s)
	for i := range c {
		c[i].Faults = slices.Clone(c[i].Faults)
	}
	return c
}

// fits returns an error if the schedule has a number that the subject does not have.
func (s Schedule) fits(deliveries, releases int) error {
	for _, a := range s {
		switch {
		case a.Verb == ToRelease && a.Arg > releases:
			return fmt.Errorf("%s: there are %d releases", a, releases)
		case verbs[a.Verb].number && a.Host != "" && a.Verb != ToRelease && a.Arg > deliveries:
			return fmt.Errorf("%s: there are %d deliveries", a, deliveries)
		}
	}
	return nil
}

// says describes an action in words.
func (a Action) says() string {
	who := "host " + a.Host
	switch a.Verb {
	case Deliver:
		return fmt.Sprintf("%s delivers %d", who, a.Arg)
	case ToSession:
		return fmt.Sprintf("%s delivers %d to a second session", who, a.Arg)
	case ToTenant:
		return fmt.Sprintf("%s delivers %d to another tenant", who, a.Arg)
	case OtherPayload:
		return fmt.Sprintf("%s delivers another payload as %d", who, a.Arg)
	case OtherChannel:
		return fmt.Sprintf("%s delivers %d to a channel of another state", who, a.Arg)
	case Erase:
		return fmt.Sprintf("%s erases the session of %d", who, a.Arg)
	case Resume:
		return who + " resumes"
	case GoOn:
		return who + " goes on"
	case Restart:
		return who + " is killed, and begins anew"
	case ToRelease:
		return fmt.Sprintf("%s is killed, and begins anew with release %d", who, a.Arg)
	case Back:
		return fmt.Sprintf("the clock is set back by %s", time.Duration(a.Arg)*time.Second)
	case Wait:
		return fmt.Sprintf("%s pass", time.Duration(a.Arg)*time.Second)
	}
	return "as long passes as a lease has"
}
