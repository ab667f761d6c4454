// Package jsonindex asks a text of JSON without making a tree of it. A tree takes many
// times what its text does: ten megabytes of numbers of one digit are five million values.
//
// A [Document] holds the text and a semi-index: for each 128 bytes of it how deep they
// begin, and how low they get. From these the end of a list or an object is found without
// going through it, and so what is not asked is skipped. The index takes a sixteenth of the
// text. A [Walk] goes through a document for one question, and remembers where the items of
// large lists and the keys of large objects are, within a bound.
//
// What it gives is what package jsontree would: of a repeated key the last value counts, at
// the first one's place, and values are equal by what they are worth.
package jsonindex
