package compare

import (
	"fmt"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
)

// RecordText tells a record by what it says; a tool by its name, as what a model
// is told of it is compared where it is told.
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

// yesOrNo is a flag as a trace writes it: absent where it is not set.
func yesOrNo(set bool) string {
	if set {
		return "true"
	}
	return ""
}

// changeWidth is how many characters of a text are shown on each side of a change.
const changeWidth = 20

// Cut are the two values of a field, cut down to where they differ: long ones, and
// texts, which errors are too. What is absent is nothing.
func (f FieldDiff) Cut() (want, got string) {
	a, b, _ := f.Trees()
	if f.isError() {
		a, b = inWords(a), inWords(b)
	}
	return f.cut(a, b)
}

// cut is Cut of the trees that are to be shown.
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

// LongestValue is how long a value is shown as it is.
const LongestValue = 100

func orAbsent(value, text string) string {
	if value == "" {
		return ""
	}
	return text
}

const mostLinks = 2

// ErrorWords is an error in words, of the tree that a trace writes of it: its code and
// its text. Of what is no such tree it is false.
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
	if cause, ok := ErrorWords(e["cause"]); ok && member("text") == "" && cause != member("panic") { // a panic's value, if that is an error
		words += ": " + cause
	}
	return words, true
}

// OrNothing is a text, or the word nothing.
func OrNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// mostShown is how many differing fields of one line are shown.
const mostShown = 12

// Shown are the differing fields of a line in a line each, around where they differ, and
// of many how many more there are.
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
