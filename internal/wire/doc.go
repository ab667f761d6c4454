// Package wire turns crossings into lines of a trace and lines into crossings, and
// says when two of them are the same as a trace keeps them.
//
// A field has one row (FieldRows): how it is compared, written, read and emptied. An
// Encoder and a Decoder go through the fields that adk.Kind.Fields lists and know no
// kind by name. Format and meaning are explained in package trace, for which this one
// writes and reads.
package wire
