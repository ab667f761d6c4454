// Package envelope puts what a model is shown between tags that say who is speaking and how far the
// text may be trusted, so that no text can pass for another's.
//
// # The words
//
// An envelope is an open tag, a body and a close tag, each on lines of its own. The name of the tag
// contains a nonce, so that only the envelope's own close tag closes it. The nonce is the identity
// that the record got from its caller; it is never made here and never taken from the text (ENV-1
// to ENV-3). A tier says whether a content is trusted. If a body contains something that would open
// or close the envelope around it, that is made inert: its < becomes &lt;, and nothing else of the
// body changes (ENV-7 to ENV-9).
//
// # The way through
//
//  1. [Trusted] and [Untrusted] are for results of tools, for retrieved content of third
//     parties, and for the labels of media.
//  2. [Instructions], [Memories] and [Corpus] are the blocks of a system message.
//  3. [UserMessage], [PeerMessage], [OwnMessage] and [Reasoning] are the conversation.
//
// All are pure functions: the same records give the same bytes in every run. Package prompt calls
// them for whole prompts.
//
// # What is promised
//
// A body cannot end its own envelope. A close tag that was copied from one record closes no other.
// Trusted and untrusted tags have different names, so that a copied nonce does not change a tier.
// No text can be mistaken for standing instructions. Nothing here makes a model obey, and an id
// that an attacker chose is no secret; the contract lists what is not promised.
package envelope
