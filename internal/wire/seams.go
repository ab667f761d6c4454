package wire

import (
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// ByEngine reports whether a seam belongs to the engine: the run or a dispatch. All other seams are
// user code.
func ByEngine(seam adk.Seam) bool {
	return seam.Label == adk.LabelRun || seam.Label == adk.LabelDispatch
}

// PipelineLabels are the labels of the pipelines, in the order in which a turn runs them.
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

// IsLedTo reports whether an operation can lead to a call of the seam. The engine calls some such
// seams by itself too; for example, it calls storages in a flush.
func IsLedTo(seam adk.Seam) bool { return slices.Contains(ledTo, seam.Label) }

// SeamNames points to the names in a RunInfo that people gave to the seams of one label: One for a
// single seam, or List for the middlewares of a pipeline.
type SeamNames struct {
	Label string
	One   *string
	List  *[]string
}

// Named returns the names in a RunInfo, in the order of a header.
func Named(info *adk.RunInfo) [5]SeamNames {
	return [...]SeamNames{
		{Label: adk.LabelExecutor, One: &info.Executor},
		{Label: adk.LabelTurnInput, List: &info.TurnInput},
		{Label: adk.LabelTurnOutput, List: &info.TurnOutput},
		{Label: adk.LabelDispatchInput, List: &info.DispatchInput},
		{Label: adk.LabelDispatchOutput, List: &info.DispatchOutput},
	}
}

// All returns a copy of the names. It returns none if a single name is empty.
func (n SeamNames) All() []string {
	switch {
	case n.List != nil:
		return slices.Clone(*n.List)
	case *n.One == "":
		return nil
	}
	return []string{*n.One}
}

// Put replaces the names that All returns.
func (n SeamNames) Put(names []string) {
	switch {
	case n.List != nil:
		*n.List = names
	case len(names) > 0:
		*n.One = names[0]
	}
}

// CallOf returns the call that a crossing belongs to. For a call or a return, that is the call
// itself.
func CallOf(x *adk.Crossing) int {
	if x.Kind.Class() == adk.ClassCall {
		return x.ID
	}
	return x.Call
}

// DoneIn returns the call whose code did what x records. For a dispatch that user code called, that
// is the caller.
func DoneIn(x *adk.Crossing) int {
	if IsDispatched(x) {
		return x.Call
	}
	return CallOf(x)
}

// CollectionOf returns the collection that a storage obligation is for.
func CollectionOf(seam adk.Seam) adk.CollectionName {
	of, _, _ := strings.Cut(seam.Name, ".")
	return adk.CollectionName(of)
}

// KeyedByID reports whether an id identifies a record. The key of an instruction is its text, and
// the key of a tool is the name that people gave it.
func KeyedByID(record adk.Record) bool {
	return HasID(record) || record != nil && record.RecordKind() == adk.RecordMedia
}

// HasID reports whether a record's key is an id that its creator made.
func HasID(record adk.Record) bool {
	if record == nil {
		return false
	}
	of, held := adk.CollectionOf(record.RecordKind())
	return held && of != adk.Instructions && of != adk.Tools
}

// Gives reports whether user code supplies field f of the calls and returns of a seam. The caller
// of a run supplies what the run begins with, except for the cause of a context that has ended. A
// tool supplies its result, a storage that reads supplies its records, and an on-ack handler
// supplies nothing.
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

// IDOf returns the id in a field of a crossing, or "" if the field holds none. The key of an
// instruction is its text, so it does not count as an id.
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

// MadeID returns the id in x that the run's source of ids made, or "" if x has none.
func MadeID(x *adk.Crossing) string {
	for _, use := range x.Kind.Fields(x.Phase) {
		if use.Names == adk.MadeID {
			return x.Name
		}
	}
	return ""
}
