package describe

import (
	"errors"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file says of crossings what is the same in other runs of the same code. It reads
// crossings that a fold has filled: with the payloads of events and the seams of returns.

// SeamName is the path of a seam without its iteration.
func SeamName(seam adk.Seam) string {
	if seam.Name == "" {
		return safetext.PlainName(seam.Label)
	}
	return safetext.PlainName(seam.Label) + "/" + safetext.PlainName(seam.Name)
}

// KindName is the kind of a crossing, or the seam that it enters or leaves.
func KindName(x *adk.Crossing) string {
	switch x.Kind {
	case adk.KindCall:
		return SeamName(x.Seam)
	case adk.KindReturn:
		return SeamName(x.Seam) + " returns"
	}
	return x.Kind.String()
}

// Gist is what a crossing is without the data that it carries: its kind, with the names
// that stand in the code. A record has none but for a tool.
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

// untold is what a request is called of which a trace has nothing but that it was made.
const untold = "untold request"

// authorsName is a field of a crossing where that is a name in the code, and no data.
func authorsName(field adk.Field, x *adk.Crossing) string {
	switch field {
	case adk.FieldCollection:
		return string(x.Collection)
	case adk.FieldStatus:
		if x.Kind != adk.KindAsk { // whether it writes is no name of it
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

// Authored is what people wrote into their code for a crossing to say, which tells it
// apart from others of its kind: the text of a log, of an error or of a reason. Of all
// others texts are data, and it is false.
func Authored(x *adk.Crossing) (words string, ok bool) {
	var n *Namer // nothing in these has a name
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

// FailureName is what a failure is without its words: its code, or that it is a panic or an
// error without one.
func FailureName(err error) string {
	if coded, ok := errors.AsType[*adk.Error](err); ok {
		return string(coded.Code)
	}
	if _, ok := errors.AsType[*adk.PanicError](err); ok {
		return "a panic"
	}
	return "an error without a code"
}

// IsMade reports whether code made a crossing: the engine makes all others.
func IsMade(x *adk.Crossing) bool {
	return x.Kind.Class() == adk.ClassOperation || x.Kind == adk.KindCall
}

// nameSpaces are the spaces of the ids that crossings have for their names.
var nameSpaces = spacesOfNames()

// streamSpaces are those of what is reported, by the event that says it.
var streamSpaces = map[adk.Kind]string{
	adk.KindMessageEvent:  state.SpaceMessage,
	adk.KindThoughtEvent:  state.SpaceThought,
	adk.KindToolCallEvent: state.SpaceToolCall,
}

// spacesOfNames takes what a made id or a gate's is called for the kind as its space.
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

// NamesID reports whether the name of a crossing is an id.
func NamesID(x *adk.Crossing) bool {
	return nameSpaces[x.Kind] != "" && x.Phase != adk.Done
}
