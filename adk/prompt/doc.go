// Package prompt makes what a model is shown from the records of a context: system messages, the
// conversation, tool calls with their results, and media.
//
// # The words
//
// A view ([View]) is what is visible at one point. A bucket ([Bucket]) is a part of a prompt that
// can be placed: standing instructions, memories, retrievables, and the timeline, which has
// messages, thoughts and tool calls by creation time. A prompt ([Prompt]) is a list of messages in
// no provider's form; what only a provider can read is kept separately in it. A renderer
// ([Renderers]) makes one part, and can be replaced separately.
//
// # The way through
//
//  1. [ViewOf] takes what a handle sees. If tools were forged for this prompt, put the registry
//     with them in the place of its tools.
//  2. [New] checks the options and begins; [Render] does everything in one call.
//  3. [Assembly.Results] renders each tool result, once. Package budget counts those same texts.
//  4. [Assembly.Prompt] returns the messages: the leading system message, the timeline, the
//     trailing system message.
//
// Rendering is a pure function of the view, the options and the bytes of media: it uses no clock,
// no randomness and no map order. Bytes are read through the context, so that a trace has them.
// Nothing is merged, shortened or left out, except as the contract says (PRO-9).
// them. Nothing is merged, shortened or left out but what the contract says (PRO-9).
package prompt
