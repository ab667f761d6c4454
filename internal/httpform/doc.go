// Package httpform is the form in which an answer over HTTP crosses, and nothing else: a
// head with status and headers, and then the pieces of the body, each with its very
// bytes in the form that is the easiest to read. Package adkhttp writes and serves it,
// package explore breaks it, package chat reads it, and none needs to know the others.
package httpform
