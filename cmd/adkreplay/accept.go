package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// acceptOptions say what to accept, and why.
type acceptOptions struct {
	paths      []string
	acceptance *corpus.Acceptance // nil: only show it
}

func newAccept(t *terminal) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "accept file|folder ...",
		Short: "Take over what traces diverge in on purpose",
		Long: `accept runs traces again as verify does, and shows in what they diverge, grouped
by cause. With --reason it accepts that: each trace that diverged is replaced by
the one that today's engine makes of the same turn, with every seam doing what
was recorded. The reason is kept beside it, in NAME.jsonl.reason, with the causes
and the digests of both traces. What is the same is left alone.

A trace is refused, and the others go on, where it cannot be read to its end,
where the turn would need what is not in it, and where the new trace would
diverge too. Nothing is accepted where the environment variable CI is set.

Turns that diverge with your own code in them are accepted where that code is: in
go test, with golden.Replay, or corpus.Report's Accept of package replay/corpus.
` + exitHelp,
		Example: "  adkreplay accept testdata/turns\n  adkreplay accept testdata/turns --reason 'ended iterations are counted'",
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := parseAccept(cmd.Flags().Changed("reason"), reason, args, os.Getenv)
			if err != nil {
				return misused(cmd, err)
			}
			return runAccept(cmd.Context(), t, o)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "accept what is shown, for this reason: `text` in a line")
	return cmd
}

func parseAccept(hasReason bool, reason string, args []string, env func(string) string) (acceptOptions, error) {
	switch {
	case len(args) == 0:
		return acceptOptions{}, errors.New("accept takes files or folders, and got none: the embedded traces are no files")
	case slices.Contains(args, ""):
		return acceptOptions{}, fmt.Errorf("argument %d is empty: give a file or a folder", slices.Index(args, "")+1)
	case !hasReason:
		return acceptOptions{paths: args}, nil
	}
	acceptance, err := corpus.NewAcceptance(reason, time.Now(), env)
	if err != nil {
		return acceptOptions{}, safetext.WithoutPackage(err)
	}
	return acceptOptions{args, acceptance}, nil
}

func runAccept(ctx context.Context, t *terminal, o acceptOptions) error {
	sources := t.findTraces(ctx, o.paths)
	done := 0
	report, err := corpus.Verify(ctx, sources, nil, corpus.Options{Reading: t.limits, Each: func(v *corpus.TraceReport) {
		done++
		printVerdict(t, v, len(sources) == 1)
		t.step(done, len(sources), v.Trace)
	}})
	if report == nil {
		return internal(err)
	}
	verdict := conclude(ctx, t, report, nil, nil, reportOptions{})
	if report.Error != "" || report.Divergent == 0 {
		return verdict
	}
	return ended(max(acceptAll(ctx, t, report, o.acceptance), unreadableCode(report)))
}

// unreadableCode is the exit code of a report but for what diverged in it.
func unreadableCode(r *corpus.Report) int {
	if r.Unreadable > 0 {
		return exitUnreadable
	}
	return exitSame
}

// acceptAll accepts what diverged, or says what could be accepted, and gives the
// exit code of it: what still diverges is a divergence.
func acceptAll(ctx context.Context, t *terminal, report *corpus.Report, a *corpus.Acceptance) int {
	accepted, code := 0, exitSame
	results := report.Accept(ctx, a, nil, t.holding(traceFile{}, 8))
	for _, r := range results {
		switch {
		case r.Refused == nil:
			accepted++
			printAccepted(t, r, a)
			continue
		case ctx.Err() != nil:
			t.warn("interrupted: not everything is accepted")
			return exitInternal
		}
		t.judged(red, "refused", safetext.OfFile(r.Trace, r.Refused))
		code = max(code, refusedCode(r.Refused))
	}
	if slices.ContainsFunc(results, func(r corpus.Accepted) bool { return r.Refused != nil && refusedCode(r.Refused) == exitDivergence }) {
		t.printf("to have such a turn all the same, %s", corpus.RecordAnew)
	}
	if a != nil {
		t.printf("%d of %s accepted", accepted, safetext.Counted(len(results), "divergence"))
		return code
	}
	const how = "can be accepted: give --reason 'why it is meant'"
	switch all := safetext.Counted(len(results), "divergence"); accepted {
	case 0:
		t.printf("of %s none can be accepted", all)
	case len(results):
		t.printf("%s %s", all, how)
	default:
		t.printf("of %s %d %s", all, accepted, how)
	}
	return max(code, exitDivergence)
}

// printAccepted says of a trace that it is accepted, or could be, with what else
// is other in it than the divergence that was shown.
func printAccepted(t *terminal, r corpus.Accepted, a *corpus.Acceptance) {
	name := safetext.Line(r.Trace)
	verdict, text := "acceptable", name
	if a != nil {
		verdict, text = "accepted", fmt.Sprintf("%s: the reason is in %s", name, name+corpus.ReasonEnding)
	}
	if r.After != nil && r.After.Follow+r.After.Own > 0 {
		text += "; after what is shown " + r.After.Others()
	}
	t.judged(green, verdict, text)
	if r.After != nil {
		for _, cause := range r.After.Causes {
			t.printf("    %s", cause)
		}
	}
}

// refusedCode tells a trace that cannot be read and one that cannot be written
// from one that keeps its divergence.
func refusedCode(err error) int {
	var format *trace.FormatError
	var path *os.PathError
	var link *os.LinkError
	var panicked *adk.PanicError
	switch {
	case errors.As(err, &format):
		return exitUnreadable
	case errors.As(err, &path), errors.As(err, &link), errors.As(err, &panicked):
		return exitInternal
	}
	return exitDivergence
}
