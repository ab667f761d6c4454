package main

import (
	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/property"
)

func newCheck(t *terminal) *cobra.Command {
	return examining(t, &checking, &cobra.Command{
		Use:   "check [file|folder ...]",
		Short: "Hold traces against what is true of every turn",
		Long: `check holds every trace against the invariants: what the contract promises of
every turn, whatever its user code does. It runs nothing. Of each violation it
prints the rule, what breaks for users, and the shortest stretch of the
transcript that shows it. Of a folder it takes all files that end in .jsonl or
.jsonl.zst, at any depth. Without arguments it takes the traces that are part of
this command.
A trace that breaks off is checked as far as it goes; the command then fails, but
where a journal says that its host was killed.
` + exits("no invariant is violated", "a violation", traceWords, ""),
		Example: "  adkreplay check\n  adkreplay check testdata/turns\n  adkreplay check --json turn.jsonl",
	})
}

// checking is the inquiry that looks for violations.
var checking = inquiry{
	done: "checked", good: "holds", bad: "violated", colour: red, counts: "violation", level: "error",
	find: func(e *property.Examination, into *examined) []finding {
		into.Violations = e.Violations
		return safetext.Each(e.Violations, func(v property.Violation) finding {
			return finding{text: v.String(), stretch: e.Stretch(v), title: v.Invariant, crossing: v.Crossing}
		})
	},
}
