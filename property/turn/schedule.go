package turn

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/internal/turntext"
)

// FaultKind is a way to break a turn at a crossing. Package explore knows which kinds can be tried
// at which crossing.
type FaultKind uint8

// The kinds of faults.
const (
	// Cancel ends the run's context just before the crossing, as if the caller gave up.
	Cancel FaultKind = iota + 1
	// CancelAfter ends the context just after the crossing: the user code that goes on from there
	// finds it ended, the engine notices it at the next crossing.
	CancelAfter
	// Deadline ends the context before the crossing with context.DeadlineExceeded.
	Deadline
	// Fail makes user code fail with an error: a seam call before it does anything, its return
	// after it has done everything, or an operation in the middle of the code that made it.
	Fail
	// Panic makes user code panic at the same places.
	Panic
	// Cut breaks off the executor's stream: the executor fails before this report.
	Cut
	// StorageBefore makes an obligation fail before it has done anything.
	StorageBefore
	// StorageAfter makes an obligation write, and fail afterwards.
	StorageAfter
	// LateTool ends the run's context when the tool begins, but the tool does not notice it: it
	// goes on and returns after the abort.
	LateTool
	// GateEarly settles a gate as it opens, before any listener receives it.
	GateEarly
	// GateLate settles a gate after its timeout or after an abort, when its waiter wakes.
	GateLate
	// GateTwice settles a gate that is already settled.
	GateTwice
	// GateUnanswered hides a gate with a timeout from the turn's listener
	// (Observability.TurnGateOpen of the raw turn), so that the gate times out.
	GateUnanswered
	// Down makes a storage collection or a tool fail before it has done anything, at this call and
	// at every later one.
	Down
	// Flaky makes it fail at this call and at the next one only, or as often as Fault.Times says.
	Flaky
	// DownOne makes it fail at this call and at every later one for the same record, or with the
	// same arguments; Fault.Member says what counts as the same.
	DownOne
	// Crash ends the program before the crossing: nothing of the run goes on, not even deferred
	// functions, and the next turn runs with what is stored by then. It is for subjects that make a
	// next turn (Instance.Next).
	Crash

	// The faults of the world. They happen at an ask, or at a piece of its answer; the pieces
	// before come as they were. The world itself is not asked. For an ask over HTTP they happen
	// below the transport, so that the retries and the parsing of a client are tested.

	// AskRefused refuses the connection.
	AskRefused
	// AskTimeout times out before anything is answered.
	AskTimeout
	// AskStalled times out before this piece.
	AskStalled
	// AskBusy answers with 429 over HTTP and a retry-after header.
	AskBusy
	// AskFailed answers with 500, AskUnavailable with 503, and AskUnauthorized with 401.
	AskFailed
	AskUnavailable
	AskUnauthorized
	// AskCut breaks the connection before this piece, AskCutWithin in the middle of it.
	AskCut
	AskCutWithin
	// AskTwice delivers a piece twice.
	AskTwice
	// AskEmpty answers successfully, but with nothing.
	AskEmpty
	// AskShort ends an answer successfully, in the middle of the JSON of this piece.
	AskShort
	// AskOther gives the answer of another ask of the run.
	AskOther
	// AskSlow gives the answer after an hour on the config's clock.
	AskSlow
	// The faults of a model's answer in the form of Chat Completions, Messages, Responses or
	// Gemini, whole or in pieces. ChatArguments makes the arguments of a call invalid JSON.
	// ChatTool calls a tool that does not exist. ChatTwins gives two calls the same id. ChatLength
	// ends in the middle of calls, like a model that is out of tokens. ChatRefusal refuses to
	// answer.
	ChatArguments
	ChatTool
	ChatTwins
	ChatLength
	ChatRefusal
	// ChatSeveral calls the tool of the only call twice at once.
	ChatSeveral
	// AskDown refuses the connection for this ask and for every later one of the same party.
	// AskDownOne does so for equal requests only, or for those that Fault.Member selects.
	AskDown
	AskDownOne
	// AskLost lets the world do what was asked for, and breaks the connection before the answer.
	AskLost
	// AskBare answers successfully with an empty object or list: {} or [].
	AskBare
	// AskAgain gives the same answer to all later asks like this one. A model that calls a tool
	// then calls it for ever, under new ids.
	AskAgain

	// The faults of a reader of bytes. MediaFails makes it fail in the middle. If a mark says which
	// bytes there are, MediaShort makes it end early, and MediaOther makes it return other bytes.
	MediaFails
	MediaShort
	MediaOther

	// The faults of a tool's result. The text of the tool is emptied, cut in half, or extended: by
	// so much that it fills a prompt, or by something unexpected. JSON has a shape that belongs to
	// the tool, and can only be cut.
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

// OfWorld reports whether the kind is a fault of an ask.
func (k FaultKind) OfWorld() bool { return k >= AskRefused && k <= AskAgain }

// OfMedia reports whether the kind is a fault of a reader of bytes.
func (k FaultKind) OfMedia() bool { return k >= MediaFails && k <= MediaOther }

// OfResult reports whether the kind is a fault of a tool's result.
func (k FaultKind) OfResult() bool { return k >= ResultEmpty && k <= ResultOdd }

// FaultKinds returns all kinds, in the order in which they are tried.
func FaultKinds() []FaultKind {
	all := make([]FaultKind, 0, FaultKindEnd-1)
	for k := FaultKind(1); k < FaultKindEnd; k++ {
		all = append(all, k)
	}
	return all
}

// String returns the kind's name, as schedules write it.
func (k FaultKind) String() string {
	if k == 0 || k >= FaultKindEnd {
		return "unknown"
	}
	return faultNames[k]
}

// MarshalText returns the same as String.
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

// Fault is one fault in a schedule.
type Fault struct {
	Kind FaultKind
	// At is the number of the crossing, from 1, in the run that has the order and the earlier
	// faults of the schedule, but no later ones.
	At int
	// Times is how often the fault happens, starting at At, for kinds that can be repeated
	// (Repeats). Zero means twice for Flaky and once for others; EachTime means always from At on.
	Times int
	// Each makes it happen Times times for each target from At on, and not Times times altogether:
	// for each record and each call of a tool, or for each request (OfEach). A caller that retries
	// often enough sees no other failure.
	Each bool
	// Member says, for DownOne and AskDownOne, for which targets the fault happens: for all in
	// which the member at this path, for example customer or body.user, has the value that it has
	// at At. If the path ends with / or :, as in id/, values are compared only up to that
	// character. Empty means the same record, or the same request.
	Member string
}

// EachTime is larger than the number of crossings of any run.
const EachTime = math.MaxInt

// Repeats reports whether a fault of the kind can happen several times (Fault.Times).
func (k FaultKind) Repeats() bool {
	switch k {
	case Flaky, AskRefused, AskTimeout, AskBusy, AskFailed, AskUnavailable, AskLost:
		return true
	}
	return false
}

// OfEach reports whether a fault of the kind can happen to each target (Fault.Each).
func (k FaultKind) OfEach() bool { return k == Flaky || k == AskRefused }

// OfOne reports whether a fault of the kind happens only to some targets (Fault.Member).
func (k FaultKind) OfOne() bool { return k == DownOne || k == AskDownOne }

// String returns the fault as schedules write it: cancel@7, flaky@13*3 for three times,
// flaky@13*3-each for three times for each target, ask-429@5*all for every time,
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

// readFault reads the text after the @ of a fault of a kind.
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

// Decision is a decision of the scheduler that differs from the usual one. The usual decision lets
// a strand run until it waits or ends, and then runs the strand with the lowest number.
type Decision struct {
	// Choice is the number, from 1, of the choice, counting the times at which several strands
	// could go on.
	Choice int
	// Strand is the number of the strand that goes on.
	Strand int
}

// Schedule says what goes wrong in one run, what the run begins with, and the order of its strands.
// A subject and a schedule determine a run completely.
type Schedule struct {
	// Input changes what the turn begins with.
	Input Input
	// Without lists the answers of the undisturbed turn that are left out, by their numbers from 1,
	// in order. The asker gets the next answer of the same party instead. Each iteration that a
	// fakes.Script plays is one answer.
	Without []int
	// Faults are sorted by their crossings; each crossing has at most one.
	Faults []Fault
	// Order holds the decisions that differ from the usual ones, in order.
	Order []Decision
}

// undisturbed is the text of a schedule in which nothing goes wrong.
const undisturbed = "undisturbed"

// withoutName is the name of a left-out answer in the text of a schedule.
const withoutName = "without"

// pickName is the name of a decision in the text of a schedule.
const pickName = "order"

// String returns the decision as schedules write it.
func (d Decision) String() string {
	return pickName + "@" + strconv.Itoa(d.Choice) + "=" + strconv.Itoa(d.Strand)
}

// String returns the schedule in the form that ParseSchedule reads. For example,
// older@3,cancel@7,panic@12,order@3=2 means: three older messages, a cancel before crossing 7, a
// panic at crossing 12, and at the third choice strand 2 goes on. Fault.String describes repeated
// and selective faults.
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

// MarshalText returns the same as String.
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

// MustSchedule is ParseSchedule for a constant text in a test; it panics on a wrong one.
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

// number reads an integer that is not below least, in the form that strconv.Itoa writes.
func number(text string, least int) (int, error) {
	n, err := strconv.Atoi(text)
	if err == nil && (n < least || strconv.Itoa(n) != text) {
		err = strconv.ErrSyntax
	}
	return n, err
}
