// Package otel makes OpenTelemetry spans of turns, following the semantic conventions for
// generative AI: invoke_agent for a turn and for each dispatch that is called in it, chat for each
// request to a model, including retries, and execute_tool for each execution of a tool. Other HTTP
// requests get spans that follow the conventions for HTTP clients.
//
//  1. [NewProbe] makes a probe for adk.Config.Probe; adk.MultiProbe combines it with other probes.
//     Its spans go through the program's tracer provider. They begin below the span in the context
//     that is given to Runner.Run.
//  2. User code finds the span that it runs in in its context. So the spans of a tool's handler, or
//     of a turn that it runs, are below execute_tool.
//  3. [Config].Content makes spans hold what was said: messages, instructions, definitions of
//     tools, arguments, results, the texts of errors. By default they hold none of it.
//  4. [Config].Logs sends an event of the conventions, gen_ai.client.inference.operation.details,
//     to a logger for each conversation with a model, in the context of the chat span. The event
//     holds what that span says of the request and the answer, and what was said as values if
//     [Config].Content is set. Use it to keep conversations longer than spans, or apart from them.
//
// Times are those of the config's clock. Every attribute belongs to the conventions, version
// 1.41.0, which is the last version with those of generative AI, or begins with "adkreplay.":
// iterations, the status of a dispatch, the executor, gates, what canceled a turn. The probe sees a
// model request that goes through adk.Ask or a transport of package adkhttp. For an executor that
// asks in another way, the chat span is the executor's call until it executes a tool, without model
// and tokens, and there is no event. An error that ends a span is an event of the span, exception.
//
// The probe ends a span, and sends an event, in the step that ends it, while the turn waits. So
// give the providers batching processors, as in any program, and none that exports immediately.
//
// The probe sees an HTTP request that goes through a transport of package adkhttp. That does not
// report the scheme, so the span has the path instead of the whole URL. Programs whose transports
// make spans themselves, as otelhttp's do, disable these spans with [Config].WithoutHTTP.
//
// adkreplay export --otlp makes the same spans from a trace, and with --events the same events.
package otel
