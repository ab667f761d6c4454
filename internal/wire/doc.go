// Package wire encodes crossings as lines of a trace, decodes lines into crossings, and decides
// whether two crossings are equal as far as a trace records them.
//
// FieldRows has one row for each field of a crossing: how the field is compared, written, read and
// reset. An Encoder and a Decoder go through the fields that adk.Kind.Fields lists, so they need no
// code for single kinds. Package trace, for which this package reads and writes, documents the
// format and its meaning.
package wire
