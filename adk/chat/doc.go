// Package chat is an executor for every server that speaks Chat Completions: OpenAI, Azure,
// Mistral, OpenRouter, DeepSeek, and local ones such as vLLM and Ollama.
//
// # The words
//
// An adapter ([Adapter]) is a set of checked options ([Options]); it makes executors and holds no
// state. A helper ([Helpers]) is a part of an iteration that can be replaced separately: a renderer
// of the prompt, the schema of a tool, or the accumulator that assembles the calls of a stream. An
// attempt is one request; a retry is a further attempt.
//
// # The way through
//
//  1. [New] checks options, and [Adapter.Executor] puts overrides over them. The stash can
//     override more at [StashKey], for the iterations to come.
//  2. An iteration forges tools for artifacts, renders the prompt (package prompt), refuses a
//     prompt that does not fit (package budget), and makes a body. Equal inputs give equal bytes.
//  3. It sends the request through package adkhttp, so that each attempt is an ask of the turn,
//     and repeats it as [Retry] says. Every wait is Handle.Sleep.
//  4. A stream is reported while it arrives. A message, a thought or a call is stored when the
//     answer is complete; of an answer that broke nothing is stored.
//  5. The calls run one after the other. Each gets a result, also one that fails, and the model
//     reads it in the next iteration.
//
// If a tool returns a text, the text becomes an artifact. The prompt shows it whole, whatever its
// size, unless artifact.Handles is in the dispatch input and shows large ones by a handle. The
// artifact's body lasts as long as the dispatch. To keep it for later turns, a storage in files or
// in a database needs artifact.Spooling around it, and refuses the call without.
//
// An answer without calls ends the dispatch if [Options.AutoAck] is set; otherwise the dispatch
// output pipeline decides what happens next. Nothing bounds the number of iterations (DSP-4).
//
// # What fails
//
// Wrong options, a prompt that does not fit, and media that cannot be sent are returned as errors,
// and no request is sent. A failed exchange nacks the dispatch:
// E_OPENAI_CHAT_COMPLETIONS_HTTP_ERROR (an [HTTPFailure] has status and body), …_REQUEST_TIMEOUT
// and …_STREAM_STALLED (a [TimeLimit] has the limit), …_STREAM_ERROR. An abort is no failure.
//
// # What is logged
//
//	kind                         level                payload
//	context-window-usage         debug                total, limit, encoding, exact, perBucket
//	helper-warning               warn                 none
//	tool-choice-forged-artifact  warn                 toolNames, variant
//	request-timeout              warn                 requestTimeoutMs, attempt, maxAttempts
//	retry-attempt                warn, debug          reason, status, delayMs, retryAfterMs, attempt, maxAttempts
//	transport-error              error                attempt, detail
//	stream-error                 error                attempt, detail
//	http-error                   error                status, body, retriable, attempt
//	stream-idle-timeout          warn                 idleMs
//	sse-eof-without-done         warn                 finishReason
//	refusal, ignored-choices     warn                 finishReason
//	sse-parse-failure            trace                dataPreview
//	empty-answer                 warn                 finishReason
//	accumulator-finalised        debug                toolCallCount, sawMessageDelta, sawThoughtDelta, doneSentinelSeen
//	finish                       debug, warn          responseId, model, finishReason, usage
//
// A retry-attempt is a warning after a status, and debug after a timeout or a failed transport. A
// finish is a warning if the answer was cut off.
// failed. A finish warns where the answer was cut.
package chat
