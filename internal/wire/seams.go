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

// ledTo are the labels of the seams that operations call.
var ledTo = func() (labels []string) {
	for _, kind := range adk.Kinds() {
		if label := kind.LeadsTo(); label != "" && !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	return labels
}()

// IsLedTo reports whether an operation can lead to the call of a seam. The engine calls
// some of them by itself too, as storages in a flush.
func IsLedTo(seam adk.Seam) bool { return slices.Contains(ledTo, seam.Label) }

// SeamNames is where a RunInfo holds the names that people gave to the seams of a label:
// to one, or to the middlewares of a pipeline.
type SeamNames struct {
	Label string
	One   *string
	List  *[]string
}

// Named is where a RunInfo holds names, in the order in which a header says them.
func Named(info *adk.RunInfo) [5]SeamNames {
	return [...]SeamNames{
		{Label: adk.LabelExecutor, One: &info.Executor},
		{Label: adk.LabelTurnInput, List: &info.TurnInput},
		{Label: adk.LabelTurnOutput, List: &info.TurnOutput},
		{Label: adk.LabelDispatchInput, List: &info.DispatchInput},
		{Label: adk.LabelDispatchOutput, List: &info.DispatchOutput},
	}
}

// All are the names, in a list of their own; of one that is empty there is none.
func (n SeamNames) All() []string {
	switch {
	case n.List != nil:
		return slices.Clone(*n.List)
	case *n.One == "":
		return nil
	}
	return []string{*n.One}
}

// Put puts names in the place of those that All gave.
func (n SeamNames) Put(names []string) {
	switch {
	case n.List != nil:
		*n.List = names
	case len(names) > 0:
		*n.One = names[0]
	}
}

// CallOf is the call that a crossing belongs to; of a call or a return it is
// that.
func CallOf(x *adk.Crossing) int {
	if x.Kind.Class() == adk.ClassCall {
		return x.ID
	}
	return x.Call
}

// DoneIn is the call whose code did what a crossing tells.
func DoneIn(x *adk.Crossing) int {
	if IsDispatched(x) {
		return x.Call
	}
	return CallOf(x)
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
