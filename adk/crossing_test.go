package adk

import (
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// commonFields are the fields of a Crossing that every kind has. All other fields are reached
// through the table of kinds.
var commonFields = []string{"Seq", "At", "Kind", "Phase", "Call", "Strand", "Op"}

// commonLabels are the names under which a trace writes the fields that every kind has.
var commonLabels = []string{"kind", "phase", "at", "in", "strand", "op", "end", "sha256"}

// DET-4
func TestEveryKindHasARowOfItsOwn(t *testing.T) {
	names := map[string]Kind{}
	for _, k := range Kinds() {
		row := kindTable[k]
		require.NotEmpty(t, row.name, "kind %d has no row", k)
		assert.Regexp(t, regexp.MustCompile(`^[a-z][a-zA-Z-]*$`), row.name)
		assert.NotContains(t, names, row.name, "two kinds of one name")
		assert.True(t, row.class >= ClassCall && row.class <= ClassFact, "%s has no class", k)
		names[row.name] = k
		assert.Equal(t, k, KindByName(k.String()))
	}
	assert.Equal(t, "unknown", Kind(0).String())
	assert.Equal(t, "unknown", kindEnd.String())
	assert.Zero(t, KindByName("unknown"))
}

// DET-4
func TestEveryFieldOfACrossingIsReachedThroughTheTable(t *testing.T) {
	reached := map[string]bool{}
	for _, k := range Kinds() {
		for _, use := range kindTable[k].fields {
			require.NotEqual(t, "unknown", use.Field.String(), "%s uses a field that nobody named", k)
			reached[use.Field.String()] = true
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Crossing]()) {
		if !slices.Contains(commonFields, f.Name) {
			assert.True(t, reached[f.Name], "no kind uses %s: a trace would lose it", f.Name)
		}
	}
	assert.Len(t, reached, len(fieldNames)-1, "a field that no kind uses, or two of one name")
	assert.Equal(t, "unknown", Field(0).String())
	assert.Equal(t, "unknown", Field(len(fieldNames)).String())
}

// DET-4
func TestNoLineOfAKindSaysTwoThingsUnderOneLabel(t *testing.T) {
	for _, k := range Kinds() {
		for _, p := range []Phase{Whole, Begin, Done} {
			labels, fields := slices.Clone(commonLabels), []Field{}
			for _, use := range k.Fields(p) {
				assert.Regexp(t, regexp.MustCompile(`^[a-z][a-zA-Z]*$`), use.Label, "%s", k)
				assert.NotContains(t, labels, use.Label, "%s %s", k, p)
				assert.NotContains(t, fields, use.Field, "%s %s", k, p)
				labels, fields = append(labels, use.Label), append(fields, use.Field)
			}
		}
	}
}

// DET-6
func TestOnlySpanningKindsHavePhases(t *testing.T) {
	for _, k := range Kinds() {
		whole, parts := len(k.Fields(Whole)), len(k.Fields(Begin))+len(k.Fields(Done))
		if k.Spanning() {
			assert.Zero(t, whole, "%s is told in two lines", k)
			assert.Equal(t, ClassOperation, k.Class(), "%s", k)
		} else {
			assert.Zero(t, parts, "%s is told in one line", k)
		}
		assert.Len(t, kindTable[k].fields, whole+parts, "%s", k)
	}
}

// DET-4
func TestEventsCarryOnlyWhatNoEarlierLineGives(t *testing.T) {
	for _, k := range Kinds() {
		for _, use := range kindTable[k].fields {
			if k.Class() == ClassEvent {
				assert.NotEqual(t, FieldPayload, use.Field, "%s would be written whole", k)
			}
		}
	}
}

// DET-4: an event has the content of the operation that causes it, or is one of two events around
// an operation, or the engine emits it on its own.
func TestCausesOfEvents(t *testing.T) {
	own := []Kind{KindTurnStart, KindTurnEnd, KindDispatchStart, KindDispatchEnd, KindIterationStart, KindIterationEnd, KindErrorEvent}
	caused := map[Kind]bool{}
	for _, k := range Kinds() {
		assert.LessOrEqual(t, len(k.Causes()), 2, "%s", k)
		for _, event := range k.Causes() {
			assert.Equal(t, ClassOperation, k.Class(), "%s", k)
			assert.Equal(t, ClassEvent, event.Class(), "%s causes %s", k, event)
			caused[event] = true
		}
	}
	for _, k := range Kinds() {
		if k.Class() == ClassEvent {
			assert.NotEqual(t, slices.Contains(own, k), caused[k], "%s: either an operation causes it or it is the engine's own", k)
		}
	}
}

// RUN-2, DET-6: an operation with a LeadsTo label leads to a seam, whose call can contain other
// crossings. Storage is touched only by operations that lead to the storage seam.
func TestWhatOperationsLeadTo(t *testing.T) {
	for _, k := range Kinds() {
		label := k.LeadsTo()
		if label != "" && k != KindFork { // a fork's strand goes on after the operation
			assert.True(t, k.Spanning(), "%s", k)
			_, err := ParseSeam(label + "/x")
			assert.NoError(t, err)
		}
		touches := k.Touches() == TouchReading || k.Touches() == TouchWriting
		assert.Equal(t, label == LabelStorage, touches, "%s", k)
	}
}

// DET-4: ids and names are texts that user code gave; numbers are the engine's.
func TestNamesAreOfTheirFields(t *testing.T) {
	for _, k := range Kinds() {
		for _, use := range kindTable[k].fields {
			what := []any{"%s %s", k, use.Label}
			switch {
			case use.Names.IsID() || use.Names == CodeName || use.Names == StashPath:
				assert.Contains(t, []Field{FieldName, FieldKey}, use.Field, what...)
			case use.Names.IsNumber():
				assert.Contains(t, []Field{FieldID, FieldN}, use.Field, what...)
			case use.Names == Iteration:
				assert.Equal(t, FieldN, use.Field, what...)
			case use.Names == Checksum:
				assert.False(t, use.Input, what...)
			}
			assert.Equal(t, use.Label == "gate", use.Names == GateID, what...)
			assert.True(t, use.Field != FieldID || use.Names.IsNumber(), what...)
			assert.True(t, use.Field != FieldDigest || use.Names == Checksum, what...)
			assert.True(t, k.Uses(use.Field) && k.Names(use.Names), what...)
		}
	}
	assert.False(t, KindAck.Uses(FieldName))
	assert.False(t, KindAck.Names(GateID))
}

// EVT-1: the operation of an event's content is a report, in one line, or an emit, around the event.
func TestWhatSaysAnEvent(t *testing.T) {
	for _, k := range Kinds() {
		assert.Equal(t, k.Emits(), k.Class() == ClassOperation && k.Uses(FieldPayload), "%s", k)
		assert.Equal(t, k.Touches() == TouchStream || k == KindReportLog, k.Reports(), "%s", k)
		assert.Equal(t, k.Emits() || k.Reports(), k.Event() != 0, "%s", k)
		if says := k.Event(); says != 0 {
			assert.Equal(t, []Kind{says}, k.Causes(), "%s", k)
			assert.Equal(t, ClassEvent, says.Class(), "%s", k)
		}
		assert.False(t, k.IsLastWord() && k.Class() != ClassEvent, "%s", k)
	}
}

// PIP-11: when a goroutine ends with runtime.Goexit, the closing events are emitted all the same.
func TestLastWords(t *testing.T) {
	var last []Kind
	for _, k := range Kinds() {
		if k.IsLastWord() {
			last = append(last, k)
		}
	}
	assert.Equal(t, []Kind{KindTurnEnd, KindDispatchEnd, KindTurnGateClosed, KindToolExecutionEnd, KindErrorEvent}, last)
}

// A replay compares its answers with the fields that the engine answers in the trace.
func TestAnswersAreTheEngines(t *testing.T) {
	for field, want := range map[Field][]Kind{
		FieldFlag:  {KindAdd, KindRemove, KindUnregister, KindOffAck},
		FieldTexts: {KindPrune},
	} {
		var got []Kind
		for _, k := range Kinds() {
			if k.Class() == ClassOperation && k.Answers(field) {
				got = append(got, k)
			}
		}
		assert.Equal(t, want, got, "%s", field)
	}
}

func TestSeamPathsAreReadAsTheyAreWritten(t *testing.T) {
	for _, s := range []Seam{
		{Label: LabelRun}, {Label: LabelDispatch}, {Label: LabelDispatch, Name: "inner"}, {Label: LabelTurnInput, Name: "a/b"},
		{Label: LabelDispatchInput, Name: "cap", Iteration: 2}, {Label: LabelExecutor, Name: "x#1"},
		{Label: LabelStorage, Name: "messages.store"}, {Label: LabelStrand, Name: "left"},
	} {
		read, err := ParseSeam(s.String())
		require.NoError(t, err)
		assert.Equal(t, s, read)
	}
}
