package main

import (
	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/property"
)

func newLint(t *terminal) *cobra.Command {
	return examining(t, &linting, &cobra.Command{
		Use:   "lint [file|folder ...]",
		Short: "Say what in traces is legal and likely a mistake",
		Long: `lint looks in every trace for what no rule forbids and what is likely a mistake
all the same: a message that was reported and never stored, a gate without a
timeout, a loop without a bound. It runs nothing, and is silent where a trace
cannot tell. Of each hint it prints why it matters, what to do, and where in the
transcript it is; what the same seam does again, with other numbers or, in another
trace, with other ids and names, is counted, and shown in full with --verbose; --json
has all of it. Of a folder it takes all files that end in .jsonl or .jsonl.zst, at any
depth. Without arguments it takes the traces that are part of
this command. A trace that breaks off is looked at as far as it goes; the
command then fails, but where a journal says that its host was killed.
` + exits("there is no hint", "a hint", traceWords, ""),
		Example: "  adkreplay lint turn.jsonl\n  adkreplay lint testdata/turns\n  adkreplay lint --json turn.jsonl",
	})
}

// linting is the inquiry that looks for hints.
var linting = inquiry{
	done: "linted", good: "clean", bad: "hint", colour: yellow, counts: "hint", level: "warning",
	find: func(e *property.Examination, into *examined) []finding {
		into.Hints = e.Hints
		return safetext.Each(e.Hints, func(h property.Hint) finding {
			return finding{h.String(), e.Where(h), h.Advice, h.Advice + " in " + h.Seam, h.Text, h.Crossing}
		})
	},
}
