// Package otlp writes and reads spans as the JSON of OTLP, the protocol of OpenTelemetry.
//
//  1. Export reads a trace and gives its spans and events (package spans), with ids that are made
//     of what the trace says: the same trace gives the same document, whoever exports it.
//  2. Write writes the document: spans on a line, the events as log records on the next one.
//  3. Read reads the spans of what anybody wrote, a document or several, a line each, as
//     collectors keep them; Turns makes of spans what of a trace can be made of them.
//
// The document has a form of its own and not that of the protocol's messages in JSON: ids are
// hexadecimal, and numbers of 64 bits are texts. It is small, and written here with the standard
// library: go.opentelemetry.io/collector/pdata, which has it too, would bring gRPC and protocol
// buffers into the command. Tests of a module of their own hold what is written here against it.
package otlp
