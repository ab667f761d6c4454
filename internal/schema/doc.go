// Package schema checks values by JSON Schemas (TOL-2, GAT-3): those that a model
// made up for a tool, and those that somebody outside gave a gate.
//
// [Compile] reads a schema, and [CompileClosed] one of a tool, which it closes
// first: an object that lists its properties then refuses others (closed.go).
// [Schema.Check] copies a value, fills in the defaults, and gives either the copy
// or every fault, in one order, each with its place and the keyword that refused
// it and never with the value.
//
// Three things look at a value, one behind the other: the few keywords that most
// tools have, which accept without an allocation (quick.go); jsonschema-go, which
// has the verdict; and, where it refuses, a walk that says what is wrong (walk.go),
// since the library names one fault, in map order, and prints the value. Tests hold
// all three together, and internal/sidebyside holds them against another library and
// the suite that JSON Schema itself has. The plain values that pass between them are those
// of plain.go.
package schema
