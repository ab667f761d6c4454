package turn

import (
	"fmt"
	"slices"
	"strconv"
)

// InputKind is a way to change the conversation, or the system prompt, with which a turn begins.
type InputKind uint8

// The kinds of changes.
const (
	// Older puts more messages before those that the storage gives.
	Older InputKind = iota + 1
	// Newer puts more messages directly before the newest one.
	Newer
	// Newest keeps only the newest messages.
	Newest
	// Said puts something odd before the text of the newest message, which is the user's, or
	// empties it.
	Said
	// OddPrompt puts something odd after the text of the system prompt.
	OddPrompt

	inputKindEnd
)

var inputNames = [inputKindEnd]string{Older: "older", Newer: "newer", Newest: "newest", Said: "said", OddPrompt: "prompt"}

// String returns the kind's name, as schedules write it.
func (k InputKind) String() string {
	if k == 0 || k >= inputKindEnd {
		return "unknown"
	}
	return inputNames[k]
}

// Input is a change of what a turn begins with: of its conversation or its system prompt. The zero
// Input changes nothing.
type Input struct {
	Kind InputKind
	// Messages is the number of added messages, or for Newest the number of messages kept. For Said
	// and OddPrompt it selects the odd text.
	Messages int
}

// String returns the input as schedules write it; empty if it changes nothing.
func (i Input) String() string {
	if i.IsZero() {
		return ""
	}
	return i.Kind.String() + "@" + strconv.Itoa(i.Messages)
}

// IsZero reports whether the input changes nothing.
func (i Input) IsZero() bool { return i == Input{} }

// readInput reads an input from a schedule. ok is false if name is not the name of an input kind.
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
