package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/sessions"
)

// verifyOptions say what to verify.
type verifyOptions struct {
	paths    []string // if empty: the embedded traces
	shard    corpus.Shard
	parallel int
	reports  reportOptions
	list     listOptions
	watch    bool // run until interrupted
}

func newVerify(t *terminal) *cobra.Command {
	var o verifyOptions
	var shard string
	cmd := &cobra.Command{
		Use:   "verify [file|folder ...]",
		Short: "Run traces again and compare every crossing",
		Long: `verify runs the turn of every trace again on today's engine, with every seam
doing what was recorded, and compares every crossing. Of a folder it takes all
files that end in .jsonl or .jsonl.zst, at any depth. Without arguments it takes
the traces that are part of this command. A trace that cannot be read does not keep the
others from being verified. Divergences are grouped: one cause is one entry,
with the traces that it hits.

A journal of sessions is known by its first line. It is played with the traces
of its turns, which lie in its folder or below it: each attempt has to begin with
the state so far, and each commit to keep what its turn has left. Journals of one
folder are read as one: those of the hosts that shared the sessions. A turn without a
trace is told and no difference, since hosts that sample leave such; golden.ReplaySessions,
whose sessions are kept for a test, fails for it.
` + watchHelp + `With --html a browser in which the page is open shows each new one; then, and where
there are journals, all traces are verified each time.
` + shardHelp + exits(sameWords, divergenceWords, traceWords, ""),
		Example: `  adkreplay verify
  adkreplay verify testdata/turns
  adkreplay verify --watch --html red.html testdata/turns
  adkreplay verify --json turn.jsonl
  adkreplay verify --shard 3/8 --json=shard-3.json testdata/turns`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := parseVerify(o, shard, args, os.Getenv)
			if err != nil {
				return misused(cmd, err)
			}
			if o.watch {
				return watchVerify(cmd.Context(), t, o, forASecond)
			}
			return runVerify(cmd.Context(), t, o)
		},
	}
	o.reports.register(cmd)
	o.list.register(cmd)
	cmd.Flags().StringVar(&shard, "shard", "", "verify one part of the traces only: `i/n`, auto or /n")
	cmd.Flags().IntVar(&o.parallel, "parallel", runtime.GOMAXPROCS(0), "how many traces to run at once")
	cmd.Flags().BoolVar(&o.watch, "watch", false, "verify again what has changed, until it is interrupted")
	return cmd
}

// parseVerify adds to the flags the part that shard names, and the arguments.
func parseVerify(o verifyOptions, shard string, args []string, env func(string) string) (verifyOptions, error) {
	if o.parallel < 1 {
		return o, fmt.Errorf("--parallel is %d: give how many traces to run at once, 1 or more", o.parallel)
	}
	err := errors.Join(o.reports.check(), o.reports.checkApart(args), checkPaths(args))
	if err != nil {
		return o, err
	}
	if o.shard, err = chooseShard(shard, env); err != nil {
		return o, err
	}
	if o.watch {
		err = errors.Join(checkWatch(args), o.reports.checkWatch(o.shard != corpus.Shard{}))
	}
	o.paths, o.reports.watched = args, o.watch
	return o, err
}

func runVerify(ctx context.Context, t *terminal, o verifyOptions) error {
	recordings, sources := findRecordings(ctx, o.paths)
	sources = t.withoutCut(sources, recordings)
	report, err := verifySources(ctx, t, o, recordings, sources)
	if err != nil {
		return err
	}
	return conclude(ctx, t, report, sources, recordings, o.reports)
}

// verifySources verifies traces, and the journals that they belong to, and prints the results.
func verifySources(ctx context.Context, t *terminal, o verifyOptions, recordings []*sessions.Recording, sources []corpus.Source) (*corpus.Report, error) {
	done, all := 0, len(o.shard.Of(sources))
	o.list.applyTo(t, all)
	defer t.busy("verifying " + safetext.Counted(all, "trace"))()
	report, err := verifyTraces(ctx, sources, recordings, corpus.Options{
		Parallel: o.parallel,
		Shard:    o.shard,
		Reading:  t.limits,
		Each: func(v *corpus.TraceReport) {
			done++
			if !o.reports.onlyStdout() {
				printVerdict(t, v, len(sources) == 1)
			}
			t.step(done, all, v.Trace)
		},
	})
	if report == nil {
		return nil, internal(err)
	}
	if report.Error == "" {
		verifySessions(ctx, t, report, recordings, o)
	}
	return report, nil
}

// printVerdict prints one line about a trace. If the trace is the only one and diverged, it prints
// a few lines; for several traces, their causes are printed later.
func printVerdict(t *terminal, v *corpus.TraceReport, alone bool) {
	name := safetext.Line(v.Trace)
	if v.Error != "" { // this may be why it diverges
		t.unreadable(v.Error)
	}
	if v.Divergence != nil {
		text := strings.TrimSuffix(v.Divergence.String(), "\n")
		if !alone {
			text, _, _ = strings.Cut(text, "\n")
		}
		t.judged(red, "divergence", fmt.Sprintf("%s: %s", name, text))
	}
	if v.Error == "" && v.Divergence == nil {
		t.good("same", fmt.Sprintf("%s: %s", name, safetext.Counted(v.Crossings, "crossing")))
		if t.quiet || t.dotted {
			return
		}
	}
	for _, what := range v.NotCompared {
		t.printf("    not compared: %s", what)
	}
}
