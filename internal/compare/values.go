package compare

import (
	"fmt"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
)

// RecordText returns a text that identifies a record by its content. It identifies a tool by its
// name, because what a model sees of a tool is compared where it is shown.
func RecordText(record adk.Record) string {
	if record == nil {
		return ""
	}
	if tool, ok := record.(*adk.Tool); ok {
		return "tool " + tool.Name()
	}
	return string(record.RecordKind()) + " " + record.Digest().String()
}

func quotedList(names []string) string {
	return "[" + strings.Join(safetext.Each(names, safetext.Quoted), ",") + "]"
}

// yesOrNo returns a flag as a trace writes it: absent if it is not set.
func yesOrNo(set bool) string {
	if set {
		return "true"
	}
	return ""
}

// changeWidth is how many characters of a text are shown on each side of a change.
const changeWidth = 20

// Cut returns the two values of a field, cut down to where they differ if they are long or are
// texts, as errors are too. An absent value is "".
func (f FieldDiff) Cut() (want, got string) {
	a, b, _ := f.Trees()
	if f.isError() {
		a, b = inWords(a), inWords(b)
	}
	return f.cut(a, b)
}

// cut is Cut for the trees that are to be shown.
func (f FieldDiff) cut(a, b any) (want, got string) {
	w, wantText := a.(string)
	g, gotText := b.(string)
	switch {
	case (wantText || f.Want == "") && (gotText || f.Got == ""):
	case len(f.Want) <= LongestValue && len(f.Got) <= LongestValue:
		return safetext.BareJSON(f.Want), safetext.BareJSON(f.Got)
	default:
		w, g = f.Want, f.Got
	}
	w, g = safetext.CutAround(w, g, changeWidth)
	return orAbsent(f.Want, w), orAbsent(f.Got, g)
}

// LongestValue is the length up to which a value is shown in full.
const LongestValue = 100

func orAbsent(value, text string) string {
	if value == "" {
		return ""
	}
	return text
}

const mostLinks = 2

// ErrorWords returns the text of an error, with its code, from the tree that a trace writes for it.
// ok is false if the tree is not an object.
func ErrorWords(tree any) (words string, ok bool) {
	e, ok := tree.(map[string]any)
	if !ok {
		return "", false
	}
	member := func(name string) string { text, _ := e[name].(string); return text }
	words = member("text") + member("sentinel")
	if code := member("code"); code != "" {
		words = code + ": " + member("message")
	}
	if panics := member("panic"); panics != "" {
		words = "panic: " + panics
	}
	if cause, ok := ErrorWords(e["cause"]); ok && member("text") == "" && cause != member("panic") { // unless the cause is the value of the panic
		words += ": " + cause
	}
	return words, true
}

// OrNothing returns the text, or the word "nothing" if it is empty.
func OrNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// mostShown is how many differing fields of one line are shown.
const mostShown = 12

// Shown returns one line for each differing field, cut down to where the values differ. If there
// are too many, the last line says how many more there are.
func Shown(fields []FieldDiff) (lines []string) {
	for i, f := range fields {
		if i == mostShown {
			return append(lines, fmt.Sprintf("and %d fields more", len(fields)-i))
		}
		a, b := f.Cut()
		if f.Want == "" || f.Got == "" { // there is nothing to cut around
			a, b = safetext.BareJSON(f.Want), safetext.BareJSON(f.Got)
		}
		lines = append(lines, safetext.Bare(f.Field)+": "+OrNothing(a)+" → "+OrNothing(b))
	}
	return lines
}
