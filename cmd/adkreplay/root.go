package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/cmd/adkreplay/internal/distil"
	"github.com/adkreplay/adkreplay/internal/near"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/replay/diff"
)

// execute runs the command until it is done or interrupted, and returns the exit code. The first
// interrupt restores the default handling of the signal, so a second one ends the process
// immediately.
func execute(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	return executeContext(ctx, args, stdout, stderr)
}

// executeContext is execute without the signal. It is the only function that turns errors into exit
// codes.
func executeContext(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	t := newTerminal(stdout, stderr)
	exit := classified(contained(t, func() error { return run(ctx, t, args) }))
	if exit.err != nil && t.out.err == nil {
		if command := wantsJSON(t, args); command != "" {
			_ = contained(t, func() error { return refuse(t, command, exit) })
		}
		said := exit.Error()
		if exit.code == exitUsage {
			said = safetext.Line(said) // it quotes arguments as they were given
		}
		t.warn(said)
	}
	if t.out.err != nil {
		t.warn(fmt.Sprintf("the result cannot be written: %v", t.out.err))
		return exitInternal
	}
	return exit.code
}

// contained turns a panic into an error, and prints the stack for a report of it.
func contained(t *terminal, do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			t.clear()
			fmt.Fprintf(t.err, "%s\n", debug.Stack())
			err = internal(fmt.Errorf("internal failure: %v", r))
		}
	}()
	return do()
}

func run(ctx context.Context, t *terminal, args []string) error {
	root := newRoot(t)
	root.SetArgs(append([]string{}, args...)) // with nil, cobra would use the process's own arguments
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		plainUsages(root)
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = noHelpOf(cmd)
	}
	return err
}

// wantsJSON returns the name of the command if a program reads its output, and otherwise "". It
// looks at the arguments themselves, because parsing them may be what failed.
func wantsJSON(t *terminal, args []string) string {
	given := args
	if end := slices.Index(args, "--"); end >= 0 {
		given = args[:end]
	}
	if !slices.ContainsFunc(given, func(arg string) bool {
		return arg == "--json" || arg == "--json=true" || arg == "--json="+stdout
	}) {
		return ""
	}
	cmd, _, err := newRoot(t).Find(args)
	if err != nil || documents[cmd.Name()] == nil {
		return ""
	}
	return cmd.Name()
}

// refuse prints the JSON document of a command that could not start, or that failed.
func refuse(t *terminal, command string, exit *exitError) error {
	t.clear()
	switch command {
	case "check", "lint":
		return printJSON(t, &findings{Traces: []examined{}, Error: exit.Error(), ExitCode: exit.code})
	case "explore":
		return printJSON(t, &explored{Explorations: []*explore.Exploration{}, Error: exit.Error(), ExitCode: exit.code})
	case "replay":
		return printJSON(t, &replayed{Error: exit.Error(), ExitCode: exit.code})
	case "diff":
		return printJSON(t, compared{&diff.Diff{Changes: []diff.Change{}}, exit.code, exit.Error()})
	case "show": // if it printed lines, this is the last one
		t.clear()
		return safetext.WriteJSON(t.out, failure{exit.code, exit.Error()}, "")
	case "distil":
		return printJSON(t, distilled{&distil.Selection{Chosen: []distil.Chosen{}, Left: []string{}, Missing: []string{}}, exit.code, exit.Error()})
	case "stats":
		return printJSON(t, &statistics{Failed: []string{}, Error: exit.Error(), ExitCode: exit.code})
	}
	return refusal(exit).write(t.out)
}

func newRoot(t *terminal) *cobra.Command {
	root := &cobra.Command{
		Use:   "adkreplay",
		Short: "Run recorded agent turns again and say whether they still do the same",
		Long: `adkreplay runs recorded agent turns again on today's engine and says whether
they still do the same.

Everything happens in this process: no network, no model, no key.
` + exits("all is as it has to be", "something was found, or has changed: the help of each command says what", "what cannot be read: malformed, truncated, of an unknown version, or absent", ""),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(t.out)
	root.SetErr(t.err)
	root.Version = version(debug.ReadBuildInfo())
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(misflagged)
	registerLimits(root, t)
	root.AddCommand(newVerify(t), newMerge(t), newAccept(t), newReview(t), newStale(t), newCheck(t), newLint(t), newExplore(t), newShrink(t),
		newRun(t), newImport(t), newExport(t), newShow(t), newView(t), newStats(t), newDistil(t), newDiff(t), newReplay(t), newSchema(t), newVersion(t))
	root.SetHelpCommand(newHelp(root))
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" { // cobra's command returns 0 for a shell that it does not know
			cmd.Args, cmd.RunE, cmd.Short = noSuchCommand, root.RunE, "Write what completes commands and flags in a shell"
		}
	}
	usage := strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", usualColumns))
	root.SetUsageTemplate(strings.ReplaceAll(usage, "for more information about", "for more about"))
	setHelp(root)
	for _, cmd := range root.Commands() {
		cmd.Long = filled(cmd.Long, usualColumns)
	}
	return root
}

// filled wraps the paragraphs of a help text to the given width. Indented lines belong to tables
// and stay as they are.
func filled(text string, columns int) string {
	var lines []string
	open := false // a paragraph has begun
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' {
			lines, open = append(lines, line), false
			continue
		}
		for _, word := range strings.Fields(line) {
			if last := len(lines) - 1; open && utf8.RuneCountInString(lines[last]+" "+word) <= columns {
				lines[last] += " " + word
				continue
			}
			lines, open = append(lines, word), true
		}
	}
	return strings.Join(lines, "\n")
}

// newHelp returns a replacement for cobra's help command, which returns 0 for an unknown command.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about a command",
		RunE: func(_ *cobra.Command, args []string) error {
			about, rest, err := root.Find(args)
			if err == nil {
				err = noSuchCommand(about, rest)
			}
			if err != nil {
				return err
			}
			return about.Help()
		},
	}
}

// noHelpOf returns an error if help is requested for an unknown command. Cobra would print the help
// of the command above.
func noHelpOf(cmd *cobra.Command) error {
	args := cmd.Flags().Args()
	if about, _, _ := cmd.Find(args); !cmd.HasSubCommands() || about != cmd {
		return nil
	}
	return noSuchCommand(cmd, args)
}

// noSuchCommand returns an error about an argument in place of a command, and suggests similar
// commands.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return misused(cmd, fmt.Errorf("there is no command %q%s", args[0], near.DidYouMean(args[0], names)))
}
