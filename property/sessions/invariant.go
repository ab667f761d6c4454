package sessions

import "strings"

// Invariant is a property that holds in every run, whatever goes wrong in it.
type Invariant struct {
	// Name is the name that violations use. Rule is the rule of the contract from which the
	// invariant follows.
	Name, Rule string
	// Breaks says what no longer works, and for whom, if the invariant does not hold.
	Breaks string
}

// Violation is one place where a run breaks an invariant.
type Violation struct {
	Invariant string `json:"invariant"`
	Rule      string `json:"rule,omitempty"`
	// Text says what is wrong, in one sentence; details may follow on more lines.
	Text string `json:"text"`
}

// The invariants.
var (
	once     = &Invariant{"a delivery counts once", "SES-10, SES-20", "the same input is answered, and changes the session, twice."}
	changes  = &Invariant{"values are what commits have left", "SES-20, SES-21", "a turn begins with values that no answer stands for."}
	inOrder  = &Invariant{"deliveries settle in order", "SES-12", "an answer does not see what was said before it."}
	epochs   = &Invariant{"one host at a time has a session", "SES-11, SES-20", "two hosts answer one input, and the later write hides the other."}
	records  = &Invariant{"records are those of commits", "SES-23", "the conversation has messages of attempts that nobody saw, or lacks some."}
	doneOnce = &Invariant{"what writes is done once", "SES-24", "each attempt at a delivery pays, mails or deletes again."}
	settles  = &Invariant{"what was accepted is settled", "SES-21, SES-25", "somebody waits for an answer for ever."}
	told     = &Invariant{"outcomes are told when they are settled", "SES-22", "somebody is told what then is not so, or never told."}
	apart    = &Invariant{"tenants are kept apart", "STO-3, SES-27", "one customer reads what belongs to another."}
	steady   = &Invariant{"equal schedules make equal journals", "DET-2, SES-32", "what was found does not come again when it is looked for."}
	verifies = &Invariant{"journals and traces verify", "SES-31, SES-34", "what happened cannot be played again."}
	channels = &Invariant{"a channel keeps its state", "SES-18", "a session's answers go elsewhere than its questions came from."}
	fails    = &Invariant{"a host does not panic", "SES-17", "one input ends the process of all."}
	hangs    = &Invariant{"a run ends", "DET-6", "a host stands still, and whoever waits for it."}
	wrong    = &Invariant{"the check given", "", ""}
)

// Invariants lists all invariants, except for the check that a subject brings.
func Invariants() []Invariant {
	var all []Invariant
	for _, i := range []*Invariant{once, changes, inOrder, epochs, records, doneOnce, settles, told, apart, steady, verifies, channels, fails, hangs} {
		all = append(all, *i)
	}
	return all
}

// first returns the first line of a text.
func first(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
