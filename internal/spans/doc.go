// Package spans makes spans of crossings, by the semantic conventions of OpenTelemetry for
// generative AI: invoke_agent for a run and for each dispatch that is called in it, chat for
// each time that a model is asked, execute_tool for each execution of a tool.
//
// A Builder takes crossings one after the other, live or from a trace, and tells a Sink of
// spans that begin and end, and where they are asked for of events beside them: one for each
// time that a model was asked. Spans and events are data here: package otel makes spans of a
// tracer and records of a logger of them, and package otlp a document, so that both say the same.
package spans
