// Package spans makes spans from crossings, following the semantic conventions of OpenTelemetry for
// generative AI: invoke_agent for a run and for each dispatch that is called in it, chat for each
// ask of a model, and execute_tool for each execution of a tool.
//
// A Builder takes crossings one after the other, live or from a trace, and passes the spans that
// begin and end to a Sink. If asked to, it also passes an event for each time that a model was
// asked. Spans and events are plain data here. Package otel turns them into spans of a tracer and
// records of a logger, and package otlp into a document, so that both have the same content.
package spans
