// Package artifact keeps large results out of the prompt: the model gets a handle and
// asks questions. [Handles] is the middleware that says which ones are large.
//
// # The words
//
// An artifact is a text body that a tool call left behind: a media with a mark ([Mark],
// [Of]), so that whatever carries a media carries an artifact. A flavour ([Flavour])
// says what a body can be asked: text, JSON, Markdown, or one of the user's own. A
// forged tool is one question, offered to the model for the artifacts that its dispatch
// holds now ([Forge]). A spool ([Spool]) keeps bodies.
//
// # The way through
//
//  1. A tool says what its results are: [JSON] as its artifact constructor, for instance.
//  2. After Execute, the executor calls [Wrap] with the result, and makes the tool call of
//     what it gives.
//  3. Before the next call of the model, it calls [Forge] and merges the tools with its
//     own; the prompt shows handles in the place of bodies, of calls that are not inline.
//     [Handles] makes them so, from a size on that is yours to say: without it, every body
//     stands in the prompt, and the tools beside it, unless [Config].HandlesOnly says that
//     they are for handles alone.
//  4. The model asks: a forged tool finds the call, opens the artifact ([Open]) and
//     answers. Bodies up to [Config].RecordLimit are read through the context, so that a
//     trace holds them and a replay gives them back; of larger ones the questions cross.
//  5. [Spooling] around the storage keeps the bodies of what is stored in a spool:
//     [NewMemorySpool], [NewDirSpool], that of a database or of an object store
//     (adk/storage/database, adk/storage/blob), or one of the user's, which fakes.TestSpool
//     checks.
//
// The layer authorises nothing, removes no duplicates, and puts no body into a message
// (ART-6). Nothing here writes but the spools. No question holds more than 64 MiB beyond the
// body, whatever it is: an answer of more than 8 MiB is refused, and the error says how to ask
// for less; a program that wants a whole body takes [Artifact.Text] or [Artifact.Bytes].
package artifact
