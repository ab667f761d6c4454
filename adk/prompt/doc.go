// Package prompt puts together what a model is shown: system messages, the conversation,
// tool calls with their results, and media, of the records that a context holds.
//
// # The words
//
// A view ([View]) is what is visible at one point. A bucket ([Bucket]) is a part of a
// prompt that can be placed: standing instructions, memories, retrievables, and the
// timeline, which is messages, thoughts and tool calls by the time they were made. A
// prompt ([Prompt]) is a list of messages in no provider's form; what only a provider
// can read goes beside them. A renderer ([Renderers]) makes one part, and can be
// replaced alone.
//
// # The way through
//
//  1. [ViewOf] takes what a handle sees. A registry into which tools were forged for this
//     prompt takes the place of its tools.
//  2. [New] checks the options and begins; [Render] does all in one go.
//  3. [Assembly.Results] renders each tool result, once. Package budget counts those very
//     texts.
//  4. [Assembly.Prompt] gives the messages: the leading system message, the timeline, the
//     trailing system message.
//
// Rendering is a function of the view, the options and the bytes of media: no clock, no
// chance, no order of a map. Bytes are read through the context, so that a trace holds
// them. Nothing is merged, shortened or left out but what the contract says (PRO-9).
package prompt
