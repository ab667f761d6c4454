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
	acceptance *corpus.Acceptance // nil: only show what could be accepted
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
` + exits("the same, or accepted", divergenceWords+", and was not accepted", traceWords, ", a trace that cannot be replaced"),
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
	case slices.Contains(args, stdin):
		return acceptOptions{}, errors.New("accept writes over what it has read, and the standard input is no file: give a file or a folder")
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

// unreadableCode returns the exit code of a report apart from its divergences.
func unreadableCode(r *corpus.Report) int {
	if r.Unreadable > 0 {
		return exitUnreadable
	}
	return exitSame
}

// acceptAll says what can be accepted, accepts it if there is a reason, and returns the exit code.
// What still diverges counts as a divergence. It accepts nothing that could not be shown, so it
// stops if the output was closed.
func acceptAll(ctx context.Context, t *terminal, report *corpus.Report, a *corpus.Acceptance) int {
	acceptable, all, code, recordAnew := 0, 0, exitSame, false
	refused := map[string]bool{}
	for _, r := range report.Accept(ctx, nil, nil, t.holding(traceFile{}, 8)) {
		switch all++; {
		case ctx.Err() != nil:
			return notAll(t)
		case r.Refused != nil:
			refused[r.Trace] = true
			why := printRefused(t, r)
			code, recordAnew = max(code, why), recordAnew || why == exitDivergence
		default:
			acceptable++
			if a == nil || hasMore(r) {
				printAccepted(t, r, nil)
			}
		}
	}
	if recordAnew {
		t.printf("to have such a turn all the same, %s", corpus.RecordAnew)
	}
	how := "can be accepted"
	if a == nil {
		code, how = max(code, exitDivergence), how+": give --reason 'why it is meant'"
	}
	switch diverged := safetext.Counted(all, "divergence"); acceptable {
	case 0:
		t.printf("of %s none can be accepted", diverged)
	case all:
		t.printf("%s %s", diverged, how)
	default:
		t.printf("of %s %d %s", diverged, acceptable, how)
	}
	if a == nil || acceptable == 0 {
		return code
	}
	accepted := 0
	for _, one := range report.Traces {
		switch {
		case one.Divergence == nil || refused[one.Trace]:
			continue
		case t.out.err != nil:
			return exitInternal
		}
		n, ended := acceptTraces(ctx, t, report, []*corpus.TraceReport{one}, a, func(r corpus.Accepted) {
			r.After = nil // it was printed already
			printAccepted(t, r, a)
		})
		accepted, code = accepted+n, max(code, ended)
		if ctx.Err() != nil {
			return code
		}
	}
	t.printf("%d of %s accepted", accepted, safetext.Counted(all, "divergence"))
	return code
}

// acceptTraces accepts some of the traces of a report, and calls say for each of them.
func acceptTraces(ctx context.Context, t *terminal, report *corpus.Report, traces []*corpus.TraceReport, a *corpus.Acceptance, say func(corpus.Accepted)) (accepted, code int) {
	some := *report
	some.Traces = traces
	for _, r := range some.Accept(ctx, a, nil, t.holding(traceFile{}, 8)) {
		switch {
		case r.Refused == nil:
			accepted++
			say(r)
		case ctx.Err() != nil:
			return accepted, notAll(t)
		default:
			code = max(code, printRefused(t, r))
		}
	}
	return accepted, code
}

func notAll(t *terminal) int {
	t.warn("interrupted: not everything is accepted")
	return exitInternal
}

// printRefused says why a trace is not accepted, and returns the exit code.
func printRefused(t *terminal, r corpus.Accepted) int {
	t.judged(red, "refused", safetext.OfFile(r.Trace, r.Refused))
	return refusedCode(r.Refused)
}

// printAccepted says that a trace is accepted, or can be, and what else differs in it besides the
// divergence that was shown.
func printAccepted(t *terminal, r corpus.Accepted, a *corpus.Acceptance) {
	name := safetext.Line(r.Trace)
	verdict, text := "acceptable", name
	if a != nil {
		verdict, text = "accepted", fmt.Sprintf("%s: the reason is in %s", name, name+corpus.ReasonEnding)
	}
	if hasMore(r) {
		text += "; after what is shown " + r.After.Others()
	}
	t.judged(green, verdict, text)
	if r.After != nil {
		for _, cause := range r.After.Causes {
			t.printf("    %s", cause)
		}
	}
}

// hasMore reports whether more differs in a trace than the divergence that was shown.
func hasMore(r corpus.Accepted) bool { return r.After != nil && r.After.Follow+r.After.Own > 0 }

// refusedCode returns the exit code for a refused trace: it or its reasons cannot be read, it cannot
// be written, or it keeps its divergence.
func refusedCode(err error) int {
	var format *trace.FormatError
	var path *os.PathError
	var link *os.LinkError
	var panicked *adk.PanicError
	switch {
	case errors.As(err, &format), errors.Is(err, corpus.ErrConflict):
		return exitUnreadable
	case errors.As(err, &path), errors.As(err, &link), errors.As(err, &panicked):
		return exitInternal
	}
	return exitDivergence
}
