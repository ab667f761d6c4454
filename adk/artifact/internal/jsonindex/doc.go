// Package jsonindex queries a JSON text without building a tree of it. A tree takes many times the
// memory of its text: ten megabytes of one-digit numbers are five million values.
//
// A [Document] holds the text and a semi-index: for each 128 bytes, the nesting depth at their
// beginning and the least depth within them. With these the end of a list or an object is found
// without scanning it, so parts that are not needed are skipped. The index takes a sixteenth of the
// text's size. A [Walk] goes through a document for one question, and remembers where the items of
// large lists and the keys of large objects are, within a bound.
//
// Results are the same as those of package jsontree: of a repeated key, the last value counts, at
// the place of the first one, and values are equal if they have the same meaning.
package jsonindex
