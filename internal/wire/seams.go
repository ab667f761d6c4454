package wire

import (
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// seams are the seams of user code that a pipeline, an executor and the like
// are; the run and dispatches are the engine's.
func ByEngine(seam adk.Seam) bool {
	return seam.Label == adk.LabelRun || seam.Label == adk.LabelDispatch
}

// PipelineLabels are the labels of the pipelines, in the order of a turn.
var PipelineLabels = []string{adk.LabelTurnInput, adk.LabelDispatchInput, adk.LabelDispatchOutput, adk.LabelTurnOutput}

// IsPipeline reports whether a seam is a middleware.
func IsPipeline(seam adk.Seam) bool { return slices.Contains(PipelineLabels, seam.Label) }

// CallOf is the call that a crossing belongs to; of a call or a return it is
// that.
func CallOf(x *adk.Crossing) int {
	if x.Kind.Class() == adk.ClassCall {
		return x.ID
	}
	return x.Call
}

// CollectionOf is the collection that an obligation is for.
func CollectionOf(seam adk.Seam) adk.CollectionName {
	of, _, _ := strings.Cut(seam.Name, ".")
	return adk.CollectionName(of)
}

// KeyedByID reports whether a record is known by an id. The key of an instruction
// is its text, and that of a tool the name that people gave it.
func KeyedByID(record adk.Record) bool {
	return HasID(record) || record != nil && record.RecordKind() == adk.RecordMedia
}

// HasID reports whether a record's key is an id, which the caller made.
func HasID(record adk.Record) bool {
	if record == nil {
		return false
	}
	of, held := adk.CollectionOf(record.RecordKind())
	return held && of != adk.Instructions && of != adk.Tools
}

// Gives reports whether user code gives a field of the calls and returns of a seam: the
// caller of a run what that begins with, but no context that has ended; a tool its
// result and a storage that reads its records; an on-ack handler nothing.
func Gives(seam adk.Seam, f adk.Field) bool {
	switch f {
	case adk.FieldCause:
		return false
	case adk.FieldRecords:
		return seam.Effect() == adk.EffectReads || ByEngine(seam)
	case adk.FieldResult:
		return seam.Label == adk.LabelTool
	}
	return seam.Label != adk.LabelOnAck
}

// IDOf is the id that a field of a crossing holds, empty where it holds none. The key
// of an instruction is its text.
func IDOf(use adk.FieldUse, x *adk.Crossing) string {
	switch {
	case !use.Names.IsID(),
		use.Names == adk.RecordID && (x.Collection == adk.Instructions || CollectionOf(x.Seam) == adk.Instructions):
		return ""
	case use.Field == adk.FieldKey:
		return x.Key
	}
	return x.Name
}

// MadeID is the id that the run's source of ids made for a crossing; empty where it
// made none.
func MadeID(x *adk.Crossing) string {
	for _, use := range x.Kind.Fields(x.Phase) {
		if use.Names == adk.MadeID {
			return x.Name
		}
	}
	return ""
}
