package redact

// Rules says what must never be written into a trace. A recorder that has
// one takes it out before anything is written (RecordOptions.Redact).
//
// # What stands in its place
//
// A text becomes [redacted:kind:n]: the same secret is the same placeholder all
// over a trace, and two secrets are two, so what was equal stays equal and what
// was different stays different. A whole number becomes 0, another number 0.0,
// true becomes false, a time the beginning of 1970; what is nothing stays
// nothing. So a placeholder has the type of what it stands for.
//
// # Streams
//
// What a model streams is looked at as one text: a secret that is spread over
// several deltas is found. Its placeholder stands in the delta in which it
// began, and the rest of it is cut from the deltas that follow; every delta
// keeps its line. For that, lines wait from the first delta in which a secret
// may have begun until it is clear whether it has, and not longer. A crash loses
// what waits. So it is with the texts at one place of the pieces of an answer.
//
// # What a path finds is looked for everywhere
//
// A text of eight bytes or more that was found by its path is a secret from
// there on: it is also replaced in texts, names and streams that no path and no
// pattern says anything about. What was written before it was known stays. The
// next turn may begin with what this one has said: a recorder that is told which turns
// are of one conversation (RecordOptions.Conversation; that of a host's sessions is)
// looks for it there too. Elsewhere, and in another process, a run alone knows what it
// has found: give the next one a path, or a pattern, that finds it.
//
// So it goes with the other ways to write any secret that was found: quoted, within JSON
// as Go and others escape it, within a URL, in hex, and in base64, where it may stand
// within other data.
//
// # Replays
//
// A redacted trace replays as any other, and nothing in it is left out of the
// comparison. What the engine makes of its inputs (the digests of states, the
// checksums of calls, the validated arguments) is made anew of the redacted
// inputs when the trace is written, so that it is what an engine makes of them
// again; a checksum also in texts, in which prompts name calls by it. Where what was recorded was not what its inputs lead to, it is kept: a
// redacted trace of a broken engine shows the same break.
//
// Live code is handed placeholders. What it encodes of them, in a URL, in hex or in base64, is held
// to be what it encoded of the secrets, for which the trace has the same placeholders. Whether code
// said a secret as it is or encoded the trace does not tell, so that a change from the one to the
// other is no difference.
//
// A secret that live code has of its own, such as a token of its environment in the URLs that it asks,
// is said in the place of a placeholder, and nobody knows whether it is the one that was recorded. Where
// nobody had said that secret before live code asked with it, or where the rules of a replay find it
// (replay.Live.Redact), whatever is not empty stands for it, the same in all places of the run, and the
// report says so under what is not compared. So tests need no real secrets.
//
// A placeholder may break a tool's schema, or mend arguments that broke it. Then
// the arguments are not validated again: the line of the execution gets a
// variant of the tool whose schema leads to the recorded verdict, the footer
// counts it, and the report of a replay says so. There is no variant where the
// verdict on a redacted value hangs on a keyword that combines schemas and was
// not met, as anyOf; nor has a gate's value such a way out. A placeholder that
// changes the verdict there is a divergence when the trace is replayed.
//
// What live code counts is counted of the placeholders: the length of a text, its tokens, and so
// what a budget lets through. Where that tips a decision, a replay of the same code differs, and
// its report says that this may be why. Traces that hold a budget near its bound are better
// recorded of data that need no redaction.
//
// # What is left alone
//
// What a JSON Schema says of an argument, in a tool or in a request that describes it to a model,
// is no value of the argument: a path finds defaults, constants and examples there.
//
// What the format itself says is no field: kinds, phases, outcomes, roles, error
// codes, times and digests. Whether a secret shows in something that is made of
// it in another way than those above, as in its hash, a pattern of its own must
// say. But the hash of an artifact's body, which may hold secrets, is taken from its mark,
// whatever the rules; its length stays. The footer counts the placeholders.
type Rules struct {
	// Paths name fields by the last names on the way to them, as a trace writes
	// them: "password" is every field of that name, "args.password" one that
	// stands directly in arguments, and "stash.auth.token" a path of the stash.
	// Case does not matter, * is any one name, and places in lists do not
	// count. All that lies in such a field is redacted. Fields of JSON that
	// stands in a text are such fields, too: of the arguments as a model writes
	// them, of what a tool gave as a text, of a fenced block of a prompt.
	Paths []string
	// Patterns find secrets in texts, in whatever field.
	Patterns []Pattern
}

// Pattern finds secrets of one kind in texts.
type Pattern struct {
	// Kind is what placeholders say: lowercase letters, digits and dashes.
	Kind string
	// Expr is a regular expression as package regexp has them. All that it
	// matches is replaced; it must not match the empty text.
	Expr string
}
