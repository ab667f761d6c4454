package turn

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/internal/turntext"
)

// FaultKind is a way to break a turn at a crossing. Which of them can be tried at one, package
// explore knows.
type FaultKind uint8

// The kinds of faults.
const (
	// Cancel ends the run's context just before the crossing: the caller gives up.
	Cancel FaultKind = iota + 1
	// CancelAfter ends it just after the crossing, so that the user code that goes
	// on from there finds it ended, and the engine only at the next crossing.
	CancelAfter
	// Deadline ends it before the crossing with context.DeadlineExceeded.
	Deadline
	// Fail makes user code fail with an error: a seam's call before it does
	// anything, its return after it did everything, an operation in the midst of
	// the code that asked for it.
	Fail
	// Panic makes user code panic, at the same places.
	Panic
	// Cut breaks off what the executor streams: it fails before this report.
	Cut
	// StorageBefore makes an obligation fail before it did anything.
	StorageBefore
	// StorageAfter makes an obligation write and fail afterwards.
	StorageAfter
	// LateTool ends the run's context as the tool begins, and the tool does not
	// notice: it goes on and returns after the abort.
	LateTool
	// GateEarly settles a gate as it opens, before anybody else hears of it.
	GateEarly
	// GateLate settles a gate whose time has passed or whose turn is aborted, as
	// its waiter wakes.
	GateLate
	// GateTwice settles a gate that somebody has settled.
	GateTwice
	// GateUnanswered keeps a gate that has a timeout from the turn's listener
	// (Observability.TurnGateOpen of the raw turn): nobody settles it in its time.
	GateUnanswered
	// Down makes a storage collection or a tool fail before it did anything, at this
	// call and at every later one.
	Down
	// Flaky makes it fail at this call and at the next one, and no more; Fault.Times says
	// otherwise.
	Flaky
	// DownOne makes it fail at this call and at every later one for the same record, or
	// with the same arguments, and at no other; Fault.Member says who counts as the same.
	DownOne
	// Crash breaks the program off before the crossing: nothing of the run goes on, no
	// deferred function either, and the turn that follows is run on what there is then.
	// It is for subjects that make one (Instance.Next).
	Crash

	// What comes from the world breaks too. These are made at an ask, or at a piece of its
	// answer, which until there is what it was. The world itself is not asked then. What
	// was asked over HTTP gets it below the transport, so that the retries and the parsing
	// of a client are under test.

	// AskRefused lets nobody take the call.
	AskRefused
	// AskTimeout lets the time run out before anything is answered.
	AskTimeout
	// AskStalled lets it run out before this piece.
	AskStalled
	// AskBusy answers 429 over HTTP, with a retry-after.
	AskBusy
	// AskFailed answers 500, AskUnavailable 503 and AskUnauthorized 401.
	AskFailed
	AskUnavailable
	AskUnauthorized
	// AskCut breaks the connection before this piece, AskCutWithin within it.
	AskCut
	AskCutWithin
	// AskTwice hands a piece out twice.
	AskTwice
	// AskEmpty answers well, and nothing.
	AskEmpty
	// AskShort ends an answer well, in the middle of the JSON of this piece.
	AskShort
	// AskOther gives the answer of another ask of the run.
	AskOther
	// AskSlow gives the answer after an hour of the config's clock.
	AskSlow
	// The answer of a model in the form of Chat Completions, Messages, Responses or Gemini, as a
	// whole or in pieces: ChatArguments makes the arguments of a call no JSON, ChatTool wants a
	// tool that there is not, ChatTwins gives two calls one id, ChatLength ends in their midst as a
	// model does that is out of tokens, ChatRefusal refuses.
	ChatArguments
	ChatTool
	ChatTwins
	ChatLength
	ChatRefusal
	// ChatSeveral wants the tool of the only call twice at once.
	ChatSeveral
	// AskDown lets nobody take this call, nor any later one of the same. AskDownOne does so
	// for the same request, or what Fault.Member says, and no other.
	AskDown
	AskDownOne
	// AskLost has done what was asked for, and the connection breaks before the answer.
	AskLost
	// AskBare answers well, with an object or a list of nothing: {} or [].
	AskBare
	// AskAgain gives the same answer to all that is asked like this from here on: a model that
	// wants a tool wants it for ever, under other ids.
	AskAgain

	// A reader of bytes breaks: MediaFails has it fail in the middle. Where a mark says
	// which bytes there are, MediaShort has it end early, and MediaOther give other ones.
	MediaFails
	MediaShort
	MediaOther

	// A tool gives another text than it does: none, the first half of it, or more behind
	// it, so much that it fills a prompt or what nobody expects in one. What is JSON has a
	// shape that is the tool's own, and can only be cut.
	ResultEmpty
	ResultCut
	ResultLong
	ResultOdd

	FaultKindEnd
)

var faultNames = [FaultKindEnd]string{
	Cancel: "cancel", CancelAfter: "cancel-after", Deadline: "deadline", Fail: "error", Panic: "panic", Cut: "cut",
	StorageBefore: "storage-before", StorageAfter: "storage-after", LateTool: "late-tool",
	GateEarly: "gate-early", GateLate: "gate-late", GateTwice: "gate-twice", GateUnanswered: "gate-unanswered",
	Down: "down", Flaky: "flaky", DownOne: "down-one", Crash: "crash",
	AskRefused: "ask-refused", AskTimeout: "ask-timeout", AskStalled: "ask-stalled",
	AskBusy: "ask-429", AskFailed: "ask-500", AskUnavailable: "ask-503", AskUnauthorized: "ask-401",
	AskCut: "ask-cut", AskCutWithin: "ask-cut-within", AskTwice: "ask-twice",
	AskEmpty: "ask-empty", AskShort: "ask-short", AskOther: "ask-other", AskSlow: "ask-slow",
	ChatArguments: "chat-arguments", ChatTool: "chat-tool", ChatTwins: "chat-twins", ChatLength: "chat-length", ChatRefusal: "chat-refusal", ChatSeveral: "chat-several", AskDown: "ask-down", AskDownOne: "ask-down-one",
	AskLost: "ask-lost", AskBare: "ask-bare", AskAgain: "ask-again",
	MediaFails: "media-fails", MediaShort: "media-short", MediaOther: "media-other",
	ResultEmpty: "result-empty", ResultCut: "result-cut", ResultLong: "result-long", ResultOdd: "result-odd",
}

// OfWorld reports whether the fault is one of what comes from the world: of an ask, and
// of nothing else.
func (k FaultKind) OfWorld() bool { return k >= AskRefused && k <= AskAgain }

// OfMedia reports whether the fault is one of a reader of bytes.
func (k FaultKind) OfMedia() bool { return k >= MediaFails && k <= MediaOther }

// OfResult reports whether the fault is one of what a tool gives.
func (k FaultKind) OfResult() bool { return k >= ResultEmpty && k <= ResultOdd }

// FaultKinds lists all kinds, in the order in which they are tried.
func FaultKinds() []FaultKind {
	all := make([]FaultKind, 0, FaultKindEnd-1)
	for k := FaultKind(1); k < FaultKindEnd; k++ {
		all = append(all, k)
	}
	return all
}

// String is the kind's name, as schedules write it.
func (k FaultKind) String() string {
	if k == 0 || k >= FaultKindEnd {
		return "unknown"
	}
	return faultNames[k]
}

// MarshalText is String.
func (k FaultKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (k *FaultKind) UnmarshalText(text []byte) error {
	at := slices.Index(faultNames[:], string(text))
	if at <= 0 {
		return fmt.Errorf("there is no kind of fault %q: there are %s", text, strings.Join(faultNames[1:], ", "))
	}
	*k = FaultKind(at)
	return nil
}

// Fault is one thing that goes wrong.
type Fault struct {
	Kind FaultKind
	// At is the number of the crossing, from 1, in the run that has the order and
	// the earlier faults of the schedule, and no later ones.
	At int
	// Times is how often it happens, from there on, for kinds that can be repeated
	// (Repeats): zero is twice for Flaky and once for others, EachTime is from there on.
	Times int
	// Each has it happen so many times to each that is called from there on, and not once
	// in all: to every record and every call of a tool, or every request (OfEach). Who tries
	// often enough meets no other failure.
	Each bool
	// Member tells for DownOne and AskDownOne for whom it happens: for all of whom the
	// member at this path, as in customer or body.user, is what it is at At; with a / or a
	// : at its end, as in id/, up to that. Empty is for the same record, or request.
	Member string
}

// EachTime is more often than a run has crossings.
const EachTime = math.MaxInt

// Repeats reports whether a fault of the kind can happen several times: Fault.Times.
func (k FaultKind) Repeats() bool {
	switch k {
	case Flaky, AskRefused, AskTimeout, AskBusy, AskFailed, AskUnavailable, AskLost:
		return true
	}
	return false
}

// OfEach reports whether a fault of the kind can happen to each that is called: Fault.Each.
func (k FaultKind) OfEach() bool { return k == Flaky || k == AskRefused }

// OfOne reports whether a fault of the kind happens for one alone: Fault.Member.
func (k FaultKind) OfOne() bool { return k == DownOne || k == AskDownOne }

// String is the fault as schedules write it: cancel@7, flaky@13*3 for three times,
// flaky@13*3-each for three times each, ask-429@5*all for each time,
// down-one@13=customer for one customer.
func (f Fault) String() string {
	text := f.Kind.String() + "@" + strconv.Itoa(f.At)
	switch {
	case f.Times == EachTime:
		text += "*" + eachTime
	case f.Times > 0:
		text += "*" + strconv.Itoa(f.Times)
	}
	if f.Each {
		text += toEach
	}
	if f.Member != "" {
		text += "=" + f.Member
	}
	return text
}

// eachTime is EachTime in the text of a schedule, and toEach is Fault.Each.
const (
	eachTime = "all"
	toEach   = "-each"
)

// readFault reads what stands behind the @ of a fault of a kind.
func readFault(kind FaultKind, part, place string) (f Fault, err error) {
	place, member, ofOne := strings.Cut(place, "=")
	place, times, repeated := strings.Cut(place, "*")
	f = Fault{Kind: kind, Member: member}
	times, f.Each = strings.CutSuffix(times, toEach)
	if f.At, err = number(place, 1); err != nil {
		return f, fmt.Errorf("%q: want the number of a crossing after @", part)
	}
	switch {
	case ofOne && (!kind.OfOne() || !turntext.IsMember(member)):
		return f, fmt.Errorf("%q: want the path of a member after =, and down-one or ask-down-one before it", part)
	case f.Each && !kind.OfEach():
		return f, fmt.Errorf("%q: want flaky or ask-refused before what happens to each", part)
	case !repeated:
	case times == eachTime && !f.Each:
		f.Times = EachTime
	default:
		f.Times, err = number(times, 1)
	}
	if err != nil || repeated && !kind.Repeats() {
		return f, fmt.Errorf("%q: want how often after *, or all, and a kind that can be repeated before it", part)
	}
	return f, nil
}

// Decision is a decision of the scheduler of strands that is not the usual one,
// which is to let a strand run until it waits or ends, and then the one with the
// lowest number.
type Decision struct {
	// Choice counts, from 1, the times when more than one strand could go on.
	Choice int
	// Strand is the one that goes on.
	Strand int
}

// Schedule is what goes wrong in one run, what it begins with, and the order of its
// strands. A subject
// and a schedule determine a run altogether.
type Schedule struct {
	// Input is the conversation that the turn begins with.
	Input Input
	// Without are the answers of the undisturbed turn that are left out, by their numbers
	// from 1, in order: who asks gets the next one of the same in their place. Each
	// iteration that a fakes.Script plays is one of them.
	Without []int
	// Faults are in the order of their crossings, each crossing once.
	Faults []Fault
	// Order holds the decisions that are not the usual ones, in their order.
	Order []Decision
}

// undisturbed is the text of a schedule in which nothing goes wrong.
const undisturbed = "undisturbed"

// withoutName is what an answer that is left out is called in the text of a schedule.
const withoutName = "without"

// pickName is what a decision is called in the text of a schedule.
const pickName = "order"

// String is the decision in the text of a schedule.
func (d Decision) String() string {
	return pickName + "@" + strconv.Itoa(d.Choice) + "=" + strconv.Itoa(d.Strand)
}

// String is the schedule as ParseSchedule reads it, such as
// older@3,cancel@7,panic@12,order@3=2: three older messages, a cancel before
// crossing 7, a panic at crossing 12, and where strands had a choice for the third
// time strand 2 went on. Fault.String says how often and for whom.
func (s Schedule) String() string {
	var parts []string
	if !s.Input.IsZero() {
		parts = append(parts, s.Input.String())
	}
	for _, n := range s.Without {
		parts = append(parts, withoutName+"@"+strconv.Itoa(n))
	}
	for _, f := range s.Faults {
		parts = append(parts, f.String())
	}
	for _, p := range s.Order {
		parts = append(parts, p.String())
	}
	if len(parts) == 0 {
		return undisturbed
	}
	return strings.Join(parts, ",")
}

// MarshalText is String.
func (s Schedule) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is ParseSchedule.
func (s *Schedule) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSchedule(string(text))
	return err
}

// ParseSchedule reads what String wrote.
func ParseSchedule(text string) (Schedule, error) {
	var s Schedule
	if text == undisturbed {
		return s, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		if err := s.read(part); err != nil {
			return Schedule{}, fmt.Errorf("schedule %q: %w", text, err)
		}
	}
	return s, nil
}

// MustSchedule is ParseSchedule for a text that is written down in a test; a wrong
// one is a panic.
func MustSchedule(text string) Schedule {
	s, err := ParseSchedule(text)
	if err != nil {
		panic(err)
	}
	return s
}

// read adds one part of a schedule's text.
func (s *Schedule) read(part string) error {
	name, place, found := strings.Cut(part, "@")
	if !found {
		return fmt.Errorf("%q: want a kind of fault and the number of a crossing, as in cancel@7, or order@3=2", part)
	}
	if name == pickName {
		return s.readPick(part, place)
	}
	if name == withoutName {
		return s.readWithout(part, place)
	}
	if input, ok, err := readInput(name, place); ok {
		if err == nil && !s.Input.IsZero() {
			err = fmt.Errorf("%q: a turn begins with one conversation", part)
		}
		s.Input = input
		return err
	}
	var kind FaultKind
	if err := kind.UnmarshalText([]byte(name)); err != nil {
		return err
	}
	f, err := readFault(kind, part, place)
	if err != nil {
		return err
	}
	if n := len(s.Faults); n > 0 && s.Faults[n-1].At >= f.At {
		return fmt.Errorf("%q stands behind %d: faults are in the order of their crossings, each crossing once", part, s.Faults[n-1].At)
	}
	s.Faults = append(s.Faults, f)
	return nil
}

func (s *Schedule) readWithout(part, place string) error {
	answer, err := number(place, 1)
	if err != nil {
		return fmt.Errorf("%q: want the number of an answer after @", part)
	}
	if n := len(s.Without); n > 0 && s.Without[n-1] >= answer {
		return fmt.Errorf("%q stands behind %d: answers are in their order, each once", part, s.Without[n-1])
	}
	s.Without = append(s.Without, answer)
	return nil
}

func (s *Schedule) readPick(part, place string) error {
	choice, strand, _ := strings.Cut(place, "=")
	k, err := number(choice, 1)
	if err != nil {
		return fmt.Errorf("%q: want the number of a choice after @", part)
	}
	picked, err := number(strand, 0)
	if err != nil {
		return fmt.Errorf("%q: want the number of a strand after =", part)
	}
	if n := len(s.Order); n > 0 && s.Order[n-1].Choice >= k {
		return fmt.Errorf("%q stands behind choice %d: choices are in their order, each once", part, s.Order[n-1].Choice)
	}
	s.Order = append(s.Order, Decision{k, picked})
	return nil
}

// number reads a number of at least least, as strconv.Itoa writes it.
func number(text string, least int) (int, error) {
	n, err := strconv.Atoi(text)
	if err == nil && (n < least || strconv.Itoa(n) != text) {
		err = strconv.ErrSyntax
	}
	return n, err
}
