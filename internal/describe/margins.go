package describe

import "github.com/adkreplay/adkreplay/adk"

// Effects are the events that operations cause at once.
var Effects = map[adk.Kind]adk.Kind{
	adk.KindReportMessage:  adk.KindMessageEvent,
	adk.KindReportThought:  adk.KindThoughtEvent,
	adk.KindReportToolCall: adk.KindToolCallEvent,
	adk.KindReportLog:      adk.KindLogEvent,
	adk.KindEmitMessage:    adk.KindMessageEvent,
	adk.KindEmitThought:    adk.KindThoughtEvent,
	adk.KindEmitToolCall:   adk.KindToolCallEvent,
}

// Indent is by how much a line stands further in than what it is part of.
const Indent = "  "
