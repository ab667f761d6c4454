package turn

import (
	"fmt"
	"slices"
	"strconv"
)

// InputKind is a way in which the conversation that a turn begins with is another one.
type InputKind uint8

// The kinds of other conversations.
const (
	// Older has more messages before those that the storage gives.
	Older InputKind = iota + 1
	// Newer has more messages just before the newest one.
	Newer
	// Newest has the newest messages alone.
	Newest
	// Said has the newest message, the user's, say something odd before what it says, or
	// nothing at all.
	Said
	// OddPrompt has the system prompt say something odd behind what it says.
	OddPrompt

	inputKindEnd
)

var inputNames = [inputKindEnd]string{Older: "older", Newer: "newer", Newest: "newest", Said: "said", OddPrompt: "prompt"}

// String is the kind's name, as schedules write it.
func (k InputKind) String() string {
	if k == 0 || k >= inputKindEnd {
		return "unknown"
	}
	return inputNames[k]
}

// Input is what a turn begins with, as far as it is not the usual: its conversation, or the
// system prompt.
// The zero Input is the usual one.
type Input struct {
	Kind InputKind
	// Messages is how many there are more, or for Newest how many there are. For Said and
	// OddPrompt it is which of the odd things is said.
	Messages int
}

// String is the input as schedules write it; empty for the usual one.
func (i Input) String() string {
	if i.IsZero() {
		return ""
	}
	return i.Kind.String() + "@" + strconv.Itoa(i.Messages)
}

// IsZero reports whether it is the usual one.
func (i Input) IsZero() bool { return i == Input{} }

// readInput reads an input as a schedule has it; ok is false where the name is not one of
// an input.
func readInput(name, count string) (i Input, ok bool, err error) {
	at := slices.Index(inputNames[:], name)
	if at <= 0 {
		return Input{}, false, nil
	}
	i.Kind = InputKind(at)
	if i.Messages, err = number(count, 1); err != nil {
		return Input{}, true, fmt.Errorf("%s@%s: want a number of messages after @", name, count)
	}
	return i, true, nil
}
