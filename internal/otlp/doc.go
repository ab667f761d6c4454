// Package otlp writes and reads spans as the JSON of OTLP, the protocol of OpenTelemetry.
//
//  1. Export reads a trace and returns its spans and events (package spans). Their ids are computed
//     from the content of the trace, so the same trace always gives the same document.
//  2. Write writes the document: spans on one line, and the events as log records on the next one.
//  3. Read reads the spans of other software: one document or several, one on each line, as
//     collectors store them. Turns makes traces of spans, as far as that is possible.
//
// The document's form differs from the usual JSON of protocol messages: ids are hexadecimal, and
// 64-bit numbers are strings. It is small, and is written here with the standard library. The
// package go.opentelemetry.io/collector/pdata has the same form, but would add gRPC and protocol
// buffers to the command. Tests in a separate module compare the output with that package.
package otlp
