package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/internal/near"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wholefile"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/sessions"
	"github.com/adkreplay/adkreplay/scenarios"
)

// runOptions say what to run. Without scenarios and sessions, they are listed.
type runOptions struct {
	scenarios []scenarios.Scenario
	sessions  []scenarios.Session
	// file receives the trace of the one scenario; for a session, it is the folder that receives
	// everything its hosts write. If it is empty, the turn is only shown.
	file string
	// folder receives the traces of all scenarios. If it is empty, only one is run.
	folder string
}

// runFlags are the flags of run as given.
type runFlags struct {
	output string
	all    bool
}

func newRun(t *terminal) *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run [scenario]",
		Short: "Run a named scenario and show its turn, or list them all",
		Long: `run runs one of the named scenarios and prints its transcript: everything that
passed between the engine and user code, in order. With -o it records the turn
as a trace. Some scenarios are sessions of several turns: they print the story of
the session before the turns, and -o is a folder, for the journals of their hosts
and the traces. Without a name it lists the scenarios; with --all it records
every one of them into the folder given with -o.
` + exits("it ran, however the turn ended", "", "", ""),
		Example:   "  adkreplay run\n  adkreplay run tool-round-trip\n  adkreplay run hello -o hello.jsonl\n  adkreplay run --all -o traces",
		ValidArgs: runNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := parseRun(flags, args)
			if err != nil {
				return misused(cmd, err)
			}
			return runRun(cmd.Context(), t, o)
		},
	}
	cmd.Flags().StringVarP(&flags.output, "output", "o", "", "record to this `file`; a session, or with --all, into this folder")
	cmd.Flags().BoolVar(&flags.all, "all", false, "record all scenarios into the folder given with -o")
	return cmd
}

func parseRun(flags runFlags, args []string) (runOptions, error) {
	switch {
	case len(args) > 1:
		return runOptions{}, fmt.Errorf("run takes one scenario, and got %d", len(args))
	case flags.output == stdout:
		return runOptions{}, errors.New("-o needs a file, or with --all a folder: the standard output has the text")
	case flags.all && len(args) > 0:
		return runOptions{}, fmt.Errorf("--all runs every scenario: leave it or %q out", args[0])
	case flags.all && flags.output == "":
		return runOptions{}, errors.New("--all records: give the folder with -o")
	case flags.all:
		return runOptions{scenarios: scenarios.All(), sessions: scenarios.Sessions(), folder: flags.output}, nil
	case len(args) == 0 && flags.output != "":
		return runOptions{}, errors.New("-o needs the name of a scenario to record, or --all")
	case len(args) == 0:
		return runOptions{}, nil
	}
	if s, ok := scenarios.Named(args[0]); ok {
		return runOptions{scenarios: []scenarios.Scenario{s}, file: flags.output}, nil
	}
	if s, ok := scenarios.SessionNamed(args[0]); ok {
		return runOptions{sessions: []scenarios.Session{s}, file: flags.output}, nil
	}
	return runOptions{}, noScenario(args[0], "", runNames())
}

// noScenario returns an error about an unknown name, and suggests similar names.
func noScenario(name, nor string, names []string) error {
	offer := cmp.Or(near.DidYouMean(name, names), ": adkreplay run lists them")
	return fmt.Errorf("there is no scenario %q%s%s", name, nor, offer)
}

func scenarioNames() []string {
	return safetext.Each(scenarios.All(), func(s scenarios.Scenario) string { return s.Name })
}

// runNames returns the names of everything that run accepts.
func runNames() []string {
	return append(scenarioNames(), safetext.Each(scenarios.Sessions(), func(s scenarios.Session) string { return s.Name })...)
}

func runRun(ctx context.Context, t *terminal, o runOptions) error {
	switch {
	case o.folder != "":
		return recordAll(ctx, t, o)
	case len(o.sessions) > 0:
		return runSession(ctx, t, o)
	case len(o.scenarios) == 0:
		listScenarios(t)
		return nil
	}
	return runScenario(ctx, t, o)
}

// listScenarios prints one line per scenario, with its name first.
func listScenarios(t *terminal) {
	width := 0
	for _, name := range runNames() {
		width = max(width, len(name))
	}
	for _, s := range scenarios.All() {
		t.printf("%-*s  %s", width, s.Name, s.About)
	}
	for _, s := range scenarios.Sessions() {
		t.printf("%-*s  %s", width, s.Name, s.About)
	}
}

func runScenario(ctx context.Context, t *terminal, o runOptions) error {
	s := o.scenarios[0]
	trace, err := record(ctx, s)
	if err != nil {
		return err
	}
	if o.file != "" {
		if err := writeTrace(o.file, trace); err != nil {
			return err
		}
	}
	return showTrace(ctx, t, traceFile{name: s.Name}, bytes.NewReader(trace))
}

// recordAll records every scenario into a folder, one file each. It writes nothing before all of
// them have succeeded.
func recordAll(ctx context.Context, t *terminal, o runOptions) error {
	traces := make([][]byte, len(o.scenarios))
	for i, s := range o.scenarios {
		t.step(i, len(o.scenarios), s.Name)
		var err error
		if traces[i], err = record(ctx, s); err != nil {
			return err
		}
	}
	recorded := make([]*sessions.InMemory, len(o.sessions))
	for i, s := range o.sessions {
		var err error
		if recorded[i], err = recordSession(ctx, s); err != nil {
			return err
		}
	}
	if err := makeFolder(o.folder); err != nil {
		return err
	}
	for i, s := range o.scenarios {
		if err := writeTrace(filepath.Join(o.folder, s.Name+corpus.Ending), traces[i]); err != nil {
			return err
		}
	}
	for i, s := range o.sessions {
		if err := writeFiles(filepath.Join(o.folder, sessionsFolder, s.Name), recorded[i]); err != nil {
			return err
		}
	}
	files := 0
	for _, r := range recorded {
		files += len(r.Files())
	}
	t.printf("%s of a turn each, and %s with %s, in %s", safetext.Counted(len(traces), "trace"), safetext.Counted(len(recorded), "session"),
		safetext.Counted(files, "file"), safetext.Line(o.folder))
	return nil
}

// sessionsFolder is where run --all records sessions, in one folder each.
const sessionsFolder = "sessions"

func makeFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return internal(fmt.Errorf("%s: the folder for the traces cannot be made: %w", safetext.Line(folder), withoutPath(err)))
	}
	return nil
}

// runSession runs the one session, and shows it.
func runSession(ctx context.Context, t *terminal, o runOptions) error {
	recorded, err := recordSession(ctx, o.sessions[0])
	if err != nil {
		return err
	}
	if o.file != "" {
		if err := writeFiles(o.file, recorded); err != nil {
			return err
		}
	}
	t.clear()
	return exitOfShow(ctx, t, traceFile{name: o.sessions[0].Name}, recorded.Recording(o.file).WriteTranscript(t.page, t.limits))
}

// recordSession runs a session and returns what its hosts recorded.
func recordSession(ctx context.Context, s scenarios.Session) (*sessions.InMemory, error) {
	recorded := &sessions.InMemory{}
	err := errors.Join(s.Run(ctx, scenarios.Watch{
		Probe:   func(host string) adk.Probe { return recorded.Host(host) },
		Journal: func(host string) func(session.Step) { return recorded.Host(host).Step },
	}), recorded.Close())
	if ctx.Err() != nil {
		return nil, internal(fmt.Errorf("interrupted in session %s: nothing was recorded", s.Name))
	}
	if err != nil {
		return nil, internal(err)
	}
	return recorded, nil
}

// writeFiles writes what hosts recorded into a folder.
func writeFiles(folder string, recorded *sessions.InMemory) error {
	if err := makeFolder(folder); err != nil {
		return err
	}
	files := recorded.Files()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writeTrace(filepath.Join(folder, name), files[name]); err != nil {
			return err
		}
	}
	return nil
}

// record runs a scenario and returns its trace.
func record(ctx context.Context, s scenarios.Scenario) ([]byte, error) {
	var trace bytes.Buffer
	recorder := replay.Record(&trace)
	err := errors.Join(s.Run(ctx, recorder), recorder.Err())
	if ctx.Err() != nil {
		return nil, internal(fmt.Errorf("interrupted in scenario %s: nothing was recorded", s.Name))
	}
	if err != nil {
		return nil, internal(err)
	}
	return trace.Bytes(), nil
}

func writeTrace(path string, trace []byte) error {
	err := wholefile.Write(path, trace)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return internal(fmt.Errorf("%s: the trace cannot be written: there is no folder %s", safetext.Line(path), safetext.Line(filepath.Dir(path))))
	case err != nil:
		return internal(fmt.Errorf("%s: the trace cannot be written: %w", safetext.Line(path), withoutPath(err)))
	}
	return nil
}
