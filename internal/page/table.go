package page

import (
	"encoding/json"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

// This file passes the tables of the engine to the scripts, so that only the engine defines the
// kinds and their fields.

// tables are what the scripts know of the engine.
type tables struct {
	Kinds       []kindRow    `json:"kinds"`
	Collections []collection `json:"collections"`
}

// kindRow is a kind as the scripts know it.
type kindRow struct {
	Name     string     `json:"name"`
	Class    string     `json:"class"`
	Spanning bool       `json:"spanning,omitempty"`
	Phased   bool       `json:"phased,omitempty"` // it is shown in the phases of a turn
	Causes   []string   `json:"causes,omitempty"`
	Fields   []fieldRow `json:"fields"`
}

// fieldRow is a field of a kind: its label, the field of a crossing, the line of a spanning
// operation that has it, and which earlier crossings it may refer to.
type fieldRow struct {
	Label string `json:"label"`
	Field string `json:"field"`
	Phase string `json:"phase"`
	// Again says what the field may refer to: run, op, bytes, or nothing.
	Again string `json:"again,omitempty"`
	// Zero is the value of the field if a line does not have it, for a number.
	Zero json.RawMessage `json:"zero,omitempty"`
}

// collection is a set of a context, and the kind of its records.
type collection struct {
	Name  string `json:"name"`
	Holds string `json:"holds"`
}

var classNames = map[adk.Class]string{
	adk.ClassCall: "call", adk.ClassOperation: "operation", adk.ClassEvent: "event", adk.ClassFact: "fact",
}

var again = map[adk.Repetition]string{adk.RepeatsNothing: "", adk.RepeatsRun: "run", adk.RepeatsOp: "op", adk.RepeatsBytes: "bytes"}

func kindRows() (rows []kindRow) {
	for _, kind := range adk.Kinds() {
		row := kindRow{Name: kind.String(), Class: classNames[kind.Class()], Spanning: kind.Spanning(), Phased: transcript.InPhases(kind), Fields: []fieldRow{}}
		for _, event := range kind.Causes() {
			row.Causes = append(row.Causes, event.String())
		}
		for _, phase := range []adk.Phase{adk.Whole, adk.Begin, adk.Done} {
			for _, use := range kind.Fields(phase) {
				row.Fields = append(row.Fields, fieldRow{use.Label, use.Field.String(), phase.String(), again[use.Repeats], json.RawMessage(wire.FieldRows[use.Field].Left)})
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func collections() (all []collection) {
	for _, of := range adk.Collections() {
		all = append(all, collection{string(of), string(of.Holds())})
	}
	return all
}
