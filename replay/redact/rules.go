package redact

// Rules says what must never be written into a trace. A recorder with rules removes it before it
// writes anything (RecordOptions.Redact).
//
// # Placeholders
//
// A text becomes [redacted:kind:n]. The same secret has the same placeholder in the whole trace,
// and different secrets have different ones, so equal texts stay equal and different texts stay
// different. A whole number becomes 0, another number 0.0, true becomes false, and a time the
// beginning of 1970; nil stays nil. So a placeholder has the type of the value that it replaces.
//
// # Streams
//
// What a model streams is examined as one text, so a secret that is spread over several deltas is
// found. Its placeholder is in the delta in which the secret began, and the rest of the secret is
// cut from the following deltas; every delta keeps its line. For this, the recorder holds lines
// back from the first delta in which a secret may have begun until it is clear whether it has, and
// no longer. A crash loses the lines held back. The same holds for the texts in one place of the
// pieces of an answer.
//
// # Texts found by a path
//
// A text of eight bytes or more that a path finds is a secret from then on: it is also replaced in
// texts, names and streams for which there is no path or pattern. What was written before stays. A
// shorter text, such as the last four digits of a card, is replaced only where a path finds it,
// because it may occur anywhere: give it a pattern if the turn repeats it.
// The next turn may begin with what this turn said. A recorder that knows which turns belong to one
// conversation (RecordOptions.Conversation; a host's sessions are conversations) looks for the
// secret there too. Otherwise, and in another process, only the run itself knows what it found:
// give the next run a path or a pattern that finds it.
//
// The recorder also replaces other spellings of every secret that it found: quoted, within JSON as
// Go and others escape it, within a URL, in hex, and in base64, even within other data.
//
// # Replays
//
// A redacted trace replays like any other, and nothing in it is excluded from the comparison. What
// the engine computes from its inputs (digests of states, checksums of calls, validated arguments)
// is computed from the redacted inputs when the trace is written, so that an engine computes the
// same in a replay. A checksum is also replaced in texts, because prompts name calls by it. If the
// recorded result did not follow from its inputs, it is kept: a redacted trace of a broken engine
// shows the same fault.
//
// Live code gets placeholders. What it encodes of them, in a URL, in hex or in base64, counts as
// the encoding of the secrets, for which the trace has the same placeholders. The trace does not
// show whether code used a secret as it is or encoded, so a change from one to the other is no
// difference.
//
// Live code may have a secret of its own, such as a token from its environment in the URLs that it
// asks. In a replay, it has that secret where the trace has a placeholder, and it is unknown
// whether it is the recorded one. If nobody mentioned that secret before live code asked with it,
// or if the rules of a replay find it (replay.Live.Redact), any non-empty text matches the
// placeholder, as long as it is the same in all places of the run, and the report lists this under
// what is not compared. So tests need no real secrets.
//
// A placeholder may violate a tool's schema, or repair arguments that violated it. Then the
// arguments are not validated again. Instead, the line of the execution gets a variant of the tool
// whose schema leads to the recorded verdict, the footer counts it, and the report of a replay says
// so. There is no such variant if the verdict on a redacted value depends on a keyword that
// combines schemas and was not met, such as anyOf. There is none for the value of a gate either. A
// placeholder that changes such a verdict causes a divergence in a replay.
//
// What live code counts, it counts on the placeholders: the length of a text, its tokens, and so
// what a budget admits. What it cuts out of a secret, such as its last four digits, it cuts out of
// the placeholder. If that changes a decision, a replay of the same code differs, and its
// report says that this may be the reason. Traces with a budget near its limit are better recorded
// from data that need no redaction.
//
// # What is not redacted
//
// What a JSON Schema says about an argument, in a tool or in a request that describes it to a
// model, is no value of the argument, but a path finds defaults, constants and examples there.
//
// The words of the format are no fields: kinds, phases, outcomes, roles, error codes, times and
// digests. If a secret shows in something computed from it in another way than those above, such as
// a hash, it needs a pattern of its own. But the hash of an artifact's body, which may hold
// secrets, is always removed from its mark; its length stays. The footer counts the placeholders.
type Rules struct {
	// Paths identify fields by the last names of the path to them, as in a trace. "password" is
	// every field of that name, "args.password" a field directly in arguments, and
	// "stash.auth.token" a path in the stash. Case does not matter, * is any one name, and list
	// indexes do not count. Everything within such a field is redacted. Fields of JSON that is held
	// in a text count too: in arguments as a model writes them, in a tool's text result, in a
	// fenced block of a prompt.
	Paths []string
	// Patterns find secrets in the texts of any field.
	Patterns []Pattern
}

// Pattern finds secrets of one kind in texts.
type Pattern struct {
	// Kind is the kind in the placeholders: lowercase letters, digits and dashes.
	Kind string
	// Expr is a regular expression in the syntax of package regexp. The whole match is replaced; it
	// must not match the empty text.
	Expr string
}
