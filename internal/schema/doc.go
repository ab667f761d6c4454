// Package schema checks values against JSON Schemas (TOL-2, GAT-3): those of tools, whose arguments
// a model writes, and those of gates, which somebody outside settles.
//
// [Compile] reads a schema. [CompileClosed] reads the schema of a tool and closes it first: an
// object that lists its properties then refuses others (closed.go). [Schema.Check] copies a value
// and fills in the defaults. It returns either the copy or every fault, in a fixed order, each with
// its place and the keyword that refused it, but never with the value.
//
// Three checks examine a value, one after the other. The first handles the few keywords that most
// tools use, and accepts values without an allocation (quick.go). The second is jsonschema-go,
// whose verdict counts. If that refuses, a walk says what is wrong (walk.go), since the library
// reports one fault, in the order of a map, and prints the value. Tests compare all three with each
// other, and internal/sidebyside compares them with another library and with the official test
// suite of JSON Schema. They exchange the plain values of plain.go.
package schema
