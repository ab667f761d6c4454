package describe

import (
	"errors"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file describes the aspects of crossings that are the same in other runs of the same code. It
// reads crossings that a fold has completed with the payloads of events and the seams of returns
// (Fold.Filled).

// SeamName returns the path of a seam without its iteration.
func SeamName(seam adk.Seam) string {
	if seam.Name == "" {
		return safetext.PlainName(seam.Label)
	}
	return safetext.PlainName(seam.Label) + "/" + safetext.PlainName(seam.Name)
}

// KindName returns the kind of a crossing, or the seam that it enters or leaves.
func KindName(x *adk.Crossing) string {
	switch x.Kind {
	case adk.KindCall:
		return SeamName(x.Seam)
	case adk.KindReturn:
		return SeamName(x.Seam) + " returns"
	}
	return x.Kind.String()
}

// Gist describes a crossing without the data that it carries: its kind, with the names that are in
// the code. Of the records, only a tool has such a name.
func Gist(x *adk.Crossing) string {
	if wire.PassesBy(x) {
		return untold
	}
	words := KindName(x)
	if _, ok := Authored(x); ok || x.Kind.Class() == adk.ClassCall {
		return words
	}
	for _, use := range x.Kind.Fields(x.Phase) {
		if name := authorsName(use.Field, x); name != "" {
			words += " " + safetext.Bare(name)
		}
	}
	switch e := x.Payload.(type) {
	case adk.ToolExecutionStart:
		words += " " + safetext.Bare(e.ToolName)
	case adk.ToolExecutionEnd:
		words += " " + safetext.Bare(e.ToolName)
	case adk.ToolCallEvent:
		words = flagged(words, e.Tool != "", " "+safetext.Bare(e.Tool))
	}
	words = flagged(words, x.IsError, " failed")
	words = flagged(words, x.Kind == adk.KindStash && x.Value == nil, " deleted")
	return flagged(words, x.Phase == adk.Done, " done")
}

// untold is the description of a request of which a trace records only that it was made.
const untold = "untold request"

// authorsName returns the value of a field if it is a name in the code, and "" if it is data.
func authorsName(field adk.Field, x *adk.Crossing) string {
	switch field {
	case adk.FieldCollection:
		return string(x.Collection)
	case adk.FieldStatus:
		if x.Kind != adk.KindAsk { // whether it writes is not a name
			return x.Status
		}
	case adk.FieldName:
		if !NamesID(x) {
			return x.Name
		}
	case adk.FieldKey:
		if x.Kind == adk.KindReportToolCall || x.Kind == adk.KindCancel {
			return x.Key
		}
	case adk.FieldRecord:
		if tool, ok := x.Record.(*adk.Tool); ok {
			return tool.Name()
		}
	}
	return ""
}

// Authored returns the text that people wrote in their code for a crossing, which distinguishes it
// from others of its kind: the text of a log, an error or a reason. For other crossings, whose
// texts are data, ok is false.
func Authored(x *adk.Crossing) (words string, ok bool) {
	var n *Namer // nothing that is described here has a name
	switch x.Kind {
	case adk.KindReportLog:
		return n.saying(x), true
	case adk.KindLogEvent:
		e, _ := x.Payload.(adk.LogEvent)
		return n.logged(e), true
	case adk.KindErrorEvent:
		return errorOf(x.Err), true
	case adk.KindNack, adk.KindAbort:
		if x.Cause == nil {
			return "", true
		}
		return "with " + safetext.ErrorWith(x.Cause), true
	}
	return "", false
}

// FailureName classifies a failure without its text: by its code, or as a panic or an error without
// a code.
func FailureName(err error) string {
	if coded, ok := errors.AsType[*adk.Error](err); ok {
		return string(coded.Code)
	}
	if _, ok := errors.AsType[*adk.PanicError](err); ok {
		return "a panic"
	}
	return "an error without a code"
}

// IsMade reports whether a crossing is a call or an operation. All other crossings are made by the
// engine.
func IsMade(x *adk.Crossing) bool {
	return x.Kind.Class() == adk.ClassOperation || x.Kind == adk.KindCall
}

// nameSpaces are the name spaces of the ids in the Name field, by kind.
var nameSpaces = spacesOfNames()

// streamSpaces are the name spaces of what is reported, by the event that it causes.
var streamSpaces = map[adk.Kind]string{
	adk.KindMessageEvent:  state.SpaceMessage,
	adk.KindThoughtEvent:  state.SpaceThought,
	adk.KindToolCallEvent: state.SpaceToolCall,
}

// spacesOfNames computes nameSpaces. The space of an id that is not a stream's is the label of its
// field.
func spacesOfNames() (spaces [1 << 8]string) {
	for _, kind := range adk.Kinds() {
		for _, use := range slices.Concat(kind.Fields(adk.Whole), kind.Fields(adk.Begin)) {
			switch {
			case use.Field != adk.FieldName || !use.Names.IsID():
			case use.Names == adk.StreamID:
				spaces[kind] = streamSpaces[kind.Event()]
			default:
				spaces[kind] = use.Label
			}
		}
	}
	return spaces
}

// NamesID reports whether the Name field of a crossing is an id.
func NamesID(x *adk.Crossing) bool {
	return nameSpaces[x.Kind] != "" && x.Phase != adk.Done
}
