// Package envelope writes what a model is shown between tags that say who is speaking
// and how far it may be believed, so that no text can pass for another's.
//
// # The words
//
// An envelope is an open tag, a body and a close tag, each on lines of its own. A nonce
// stands in the name of the tag, so that only the envelope's own closer closes it: it
// is the identity that the record got from its caller, never made here and never of the
// text (ENV-1 to ENV-3). A tier says on whose word a content stands: trusted or not.
// What would open or close the envelope around it is made inert in a body: its < becomes
// &lt;, and nothing else of it changes (ENV-7 to ENV-9).
//
// # The way through
//
//  1. [Trusted] and [Untrusted] carry what tools answered, what somebody else retrieved,
//     and the labels of media.
//  2. [Instructions], [Memories] and [Corpus] are the blocks of a system message.
//  3. [UserMessage], [PeerMessage], [OwnMessage] and [Reasoning] are the conversation.
//
// All are functions of what they are given: the same records give the same bytes, in
// every run. Package prompt calls them for whole prompts.
//
// # What is promised
//
// A body cannot end its own envelope. A closer that was copied from one record closes no
// other, and trusted and untrusted names differ, so that a copied nonce changes no tier.
// No text can be taken for standing instructions. Nothing here makes a model obey, and
// an id that an attacker chose is no secret; the contract lists what is not promised.
package envelope
