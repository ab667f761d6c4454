// Package artifact keeps large results out of the prompt: the model gets a handle and asks
// questions. [Handles] is the middleware that decides which results are large.
//
// # The words
//
// An artifact is a text body that a tool call left behind. It is a media with a mark ([Mark],
// [Of]), so that everything that carries media carries artifacts. A flavour ([Flavour]) says which
// questions a body can answer: text, JSON, Markdown, or a flavour of the user. A forged tool is one
// question, offered to the model for the artifacts that its dispatch holds now ([Forge]). A spool
// ([Spool]) keeps bodies.
//
// # The way through
//
//  1. A tool says what its results are, for example by [JSON] as its artifact constructor.
//  2. After Execute, the executor calls [Wrap] with the result, and makes the tool call from
//     what Wrap returns.
//  3. Before the next call of the model, it calls [Forge] and merges the tools with its own. For
//     calls that are not inline, the prompt shows a handle in the place of the body. [Handles]
//     makes calls not inline, from a size on that you choose. Without it every body is in the
//     prompt, as well as the tools; [Config].HandlesOnly forges tools for handles only.
//  4. The model asks: a forged tool finds the call, opens the artifact ([Open]) and answers.
//     Bodies up to [Config].RecordLimit are read through the context, so that a trace has them
//     and a replay returns them; for larger ones the questions cross.
//  5. [Spooling] around the storage keeps the bodies of what is stored in a spool:
//     [NewMemorySpool], [NewDirSpool], that of a database or of an object store
//     (adk/storage/database, adk/storage/blob), or one of the user, which fakes.TestSpool checks.
//
// The package does no authorisation, removes no duplicates, and puts no body into a message
// (ART-6). Only the spools write anything. No question uses more than 64 MiB in addition to the
// body. An answer of more than 8 MiB is refused, and the error says how to ask for less; a program
// that needs a whole body uses [Artifact.Text] or [Artifact.Bytes].
package artifact
