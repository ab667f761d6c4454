package compare

import (
	"encoding/json"
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
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = safetext.Quoted(name)
	}
	return "[" + strings.Join(all, ",") + "]"
}

// yesOrNo is a flag as a trace writes it: absent where it is not set.
func yesOrNo(set bool) string {
	if set {
		return "true"
	}
	return ""
}

// DecodedJSON reads JSON with its numbers as they are spelled.
func DecodedJSON(text string) (value any, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(&value)
	return value, err == nil && !decoder.More()
}

// changeWidth is how many characters of a text are shown on each side of a change.
const changeWidth = 20

// CutValues are two values as a trace writes them, cut down to where they
// differ: long ones, and texts.
func CutValues(want, got string) (string, string) {
	w, wantText := JSONText(want)
	g, gotText := JSONText(got)
	switch {
	case (wantText || want == "") && (gotText || got == ""):
	case len(want) <= LongestValue && len(got) <= LongestValue:
		return safetext.BareJSON(want), safetext.BareJSON(got)
	default:
		w, g = want, got
	}
	w, g = safetext.CutAround(w, g, changeWidth)
	return orAbsent(want, w), orAbsent(got, g)
}

// JSONText is the text of a JSON string.
func JSONText(value string) (text string, is bool) {
	is = json.Unmarshal([]byte(value), &text) == nil
	return text, is
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

// WrittenError is an error as a trace writes it in words: its code and its text, as
// a JSON string.
func WrittenError(value string) string {
	var e struct {
		Code, Message, Text, Panic, Sentinel string
		Cause                                json.RawMessage
	}
	if json.Unmarshal([]byte(value), &e) != nil {
		return value
	}
	words := e.Text + e.Sentinel
	if e.Code != "" {
		words = e.Code + ": " + e.Message
	}
	if e.Panic != "" {
		words = "panic: " + e.Panic
	}
	if len(e.Cause) > 0 && e.Text == "" {
		if cause, is := JSONText(WrittenError(string(e.Cause))); is {
			words += ": " + cause
		}
	}
	return QuotedJSON(words)
}

// OrNothing is a text, or the word nothing.
func OrNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}
