package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/budget"
	"github.com/adkreplay/adkreplay/internal/near"
)

// This file handles errors about flags, and the help.

// misflagged returns an error about a flag of cmd. It rewrites messages of the library that are
// about Go.
func misflagged(cmd *cobra.Command, err error) error {
	var unknown interface{ GetSpecifiedName() string }
	var number *strconv.NumError
	switch {
	case errors.As(err, &number) && errors.Is(number, strconv.ErrRange):
		said, _, _ := strings.Cut(err.Error(), ": strconv.")
		err = errors.New(said + ": no number is that large here")
	case errors.As(err, &number):
		said, _, _ := strings.Cut(err.Error(), ": strconv.")
		err = errors.New(said + ": want a whole number")
	case errors.As(err, &unknown) && cmd.Flags().Lookup(unknown.GetSpecifiedName()) == nil:
		name := unknown.GetSpecifiedName()
		if !cmd.HasParent() {
			return misused(cmd, fmt.Errorf("%w%s", err, behind(cmd, name)))
		}
		err = fmt.Errorf("%w%s", err, near.DidYouMean("--"+name, flagsOf(cmd)))
	}
	return misused(cmd, err)
}

// oneOf is a flag whose value is one of a set of names. It refuses other names while flags are
// parsed, because a command may never use the value, or may give another name a meaning.
type oneOf struct {
	given *string
	kind  string // what the names denote
	names []string
}

// Set sets the value to a name of the set.
func (f oneOf) Set(name string) error {
	if !slices.Contains(f.names, name) {
		return fmt.Errorf("there is no %s of this name%s", f.kind, near.OneOf(name, f.names))
	}
	*f.given = name
	return nil
}

// String returns the value or its default.
func (f oneOf) String() string { return *f.given }

// Type returns "string", so that the help quotes the default.
func (f oneOf) Type() string { return "string" }

// registerEncoding adds the flag for the encoding in which tokens are counted.
func registerEncoding(cmd *cobra.Command, given *string, usage string) {
	*given = adk.EncodingO200kBase
	cmd.Flags().Var(oneOf{given, "encoding", budget.Encodings()}, "encoding", usage)
}

// noneEmpty refuses an empty value of a text flag, which is what a shell makes of an unset
// variable. The command would otherwise run as if the flag were not given.
func noneEmpty(cmd *cobra.Command) error {
	for _, name := range flagsOf(cmd) {
		flag := cmd.Flags().Lookup(strings.TrimPrefix(name, "--"))
		if flag != nil && flag.Changed && flag.Value.Type() == "string" && flag.Value.String() == "" {
			_, wants, _ := strings.Cut(flag.Usage, "`")
			wants, _, _ = strings.Cut(wants, "`")
			return misused(cmd, fmt.Errorf("%s is empty: want %s %s", name, name, wants))
		}
	}
	return nil
}

// noneContradict refuses two flags that exclude each other.
func noneContradict(cmd *cobra.Command) error {
	for _, pair := range [][2]string{{"quiet", "verbose"}, {"json", "csv"}} {
		if cmd.Flags().Changed(pair[0]) && cmd.Flags().Changed(pair[1]) {
			return misused(cmd, fmt.Errorf("--%s and --%s contradict each other: leave one out", pair[0], pair[1]))
		}
	}
	return nil
}

// flagsOf returns the flags of a command in the form --name.
func flagsOf(cmd *cobra.Command) (names []string) {
	for line := range strings.Lines(cmd.Flags().FlagUsages()) {
		words := strings.Fields(line)
		for _, word := range words[:min(2, len(words))] { // -q, --quiet
			if strings.HasPrefix(word, "--") {
				names = append(names, word)
			}
		}
	}
	return names
}

// behind says where a flag belongs that was given before the name of the command.
func behind(root *cobra.Command, flag string) string {
	if !slices.ContainsFunc(root.Commands(), func(cmd *cobra.Command) bool { return cmd.Flags().Lookup(flag) != nil }) {
		return ""
	}
	return ": it stands behind the command: " + root.CommandPath() + " [command] --" + flag
}

// plainUsages removes from the usage of flags the marks that only the help interprets, for shell
// completion.
func plainUsages(cmd *cobra.Command) {
	for _, name := range flagsOf(cmd) {
		if flag := cmd.Flags().Lookup(strings.TrimPrefix(name, "--")); flag != nil {
			flag.Usage = strings.ReplaceAll(flag.Usage, "`", "")
		}
	}
	for _, one := range cmd.Commands() {
		plainUsages(one)
	}
}

// setHelp adjusts the help: it shows how to give the file of --json, for which cobra has a notation
// of its own; it lists the limits only in the help of the root; and it puts the exit codes after
// usage and flags, which people look up more often.
func setHelp(root *cobra.Command) {
	usual := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if limit := root.PersistentFlags().Lookup("limit"); cmd != root {
			first, _, _ := strings.Cut(limit.Usage, "\n")
			limit.Usage = first + "; adkreplay --help lists them"
		}
		if noHelpOf(cmd) != nil {
			return // run reports it
		}
		var help strings.Builder
		out := cmd.OutOrStdout()
		cmd.SetOut(&help)
		usual(cmd, args)
		cmd.SetOut(out)
		text := strings.ReplaceAll(help.String(), `--json file[="-"]`, `--json[=file]    `)
		if at, end := strings.Index(text, exitHeading), strings.Index(text, "\n\nUsage:"); at >= 0 && end > at {
			text = text[:at] + text[end+1:] + text[at:end+1]
		}
		_, _ = io.WriteString(out, text)
	})
}
