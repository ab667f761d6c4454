// Package httpform defines the form of an answer over HTTP in crossings: a head with status and
// headers, followed by the pieces of the body. Each piece holds its exact bytes in the form that is
// easiest to read. Package adkhttp writes and serves this form, package explore breaks it, and
// package chat reads it, without depending on each other.
package httpform
