// Package otel makes OpenTelemetry spans of turns, by the semantic conventions for generative
// AI: invoke_agent for a turn and for each dispatch that is called in it, chat for each time
// that a model is asked, a retry too, and execute_tool for each execution of a tool; and by those
// for HTTP clients of what else is asked over HTTP.
//
//  1. [NewProbe] makes a probe for adk.Config.Probe, beside others with adk.MultiProbe. Its
//     spans go through the tracer provider of the program, and begin below the span that the
//     context given to Runner.Run holds.
//  2. User code finds the span that it runs in in its context: what a tool's handler tells of
//     itself, or a turn that it runs, stands below execute_tool.
//  3. [Config].Content has spans hold what was said: messages, instructions, definitions of tools,
//     arguments, results, the words of errors. They hold none of it otherwise.
//  4. [Config].Logs has a logger told of each conversation with a model, in an event of the
//     conventions, gen_ai.client.inference.operation.details, in the context of the chat span: what
//     that says of the request and the answer, with what was said as values where [Config].Content
//     asks for it. Whoever must keep that longer than spans, or apart from them, has it there.
//
// Times are those of the config's clock. Every attribute is one of the conventions, version
// 1.41.0, which is the last with those of generative AI in it, or begins with "adkreplay.":
// iterations, the status of a dispatch, the executor, gates, what canceled a turn. A model is
// seen where it is asked through adk.Ask or a transport of package adkhttp. Of an executor that
// asks otherwise its call is the chat span, until it executes a tool, without model and tokens,
// and there is no event of it. An error that ends a span is an event in it, exception.
//
// What a span ends with is told in the step that ends it, while the turn waits, and so is an
// event: give the providers batching processors, as in any program, and none that export at once.
//
// What is asked over HTTP is seen where it goes through a transport of package adkhttp, which
// does not tell the scheme: its span has the path in the place of the whole URL. Programs whose
// transports make spans themselves, as otelhttp's do, leave ours out with [Config].WithoutHTTP.
//
// adkreplay export --otlp makes the same spans of a trace, and with --events the same events.
package otel
