// Package chat is an executor for every server that speaks Chat Completions: OpenAI, Azure,
// Mistral, OpenRouter, DeepSeek, and on one's own machine vLLM and Ollama.
//
// # The words
//
// An adapter ([Adapter]) is a set of options ([Options]) that were checked; it makes
// executors and holds no state. A helper ([Helpers]) is a part of an iteration that can
// be replaced alone: a renderer of the prompt, the schema of a tool, the accumulator that
// puts the calls of a stream together. An attempt is one request; a retry is a further one.
//
// # The way through
//
//  1. [New] checks options, [Adapter.Executor] lays others over them, and a stash at
//     [StashKey] says more for the iterations to come.
//  2. An iteration forges tools of artifacts, renders the prompt (package prompt), refuses
//     what does not fit (package budget), and makes a body of which equal inputs give equal
//     bytes.
//  3. It asks through package adkhttp, so that each attempt is an ask of the turn, and
//     repeats it as [Retry] says. Every wait is Handle.Sleep.
//  4. A stream is reported as it comes. What a message, a thought or a call is stored as
//     comes when the answer has come to its end; of one that broke nothing is stored.
//  5. The calls run one after the other. Whatever becomes of one is its result: the model
//     reads it in the next iteration.
//
// A text that a tool gives becomes an artifact, which the prompt shows whole, whatever its
// size, unless artifact.Handles stands in the dispatch input and shows large ones by a handle.
// Its body lasts as long as the dispatch: for turns to come, a storage in files or in a
// database needs artifact.Spooling around it, and refuses the call without.
//
// An answer without calls ends the dispatch where [Options.AutoAck] says so, and else
// the dispatch output pipeline has the next move. Nothing bounds the iterations (DSP-4).
//
// # What fails
//
// Options that are wrong, a prompt that does not fit, and media that cannot be sent are
// returned, and nothing is asked. What became of an exchange nacks the dispatch:
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
// A retry warns after a status, and is for debugging after a timeout or a transport that
// failed. A finish warns where the answer was cut.
package chat
