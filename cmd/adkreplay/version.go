package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/replay/trace"
)

func newVersion(t *terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of command, contract and trace format",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return misused(cmd, fmt.Errorf("version takes no argument, and got %d", len(args)))
			}
			t.printf("%s", version(debug.ReadBuildInfo()))
			return nil
		},
	}
}

// version returns what determines whether two programs agree: what this one was built from, the
// contract that its engine keeps, and the trace formats that it reads.
func version(build *debug.BuildInfo, known bool) string {
	program := "(unknown)"
	settings := map[string]string{}
	if known {
		program = build.Main.Version
		for _, s := range build.Settings {
			settings[s.Key] = s.Value
		}
	}
	commit := settings["vcs.revision"]
	if commit != "" {
		commit = " of commit " + commit[:min(len(commit), 12)]
	}
	if settings["vcs.modified"] == "true" {
		commit += ", changed"
	}
	return strings.Join([]string{
		"adkreplay " + program + commit,
		fmt.Sprintf("contract revision %d", trace.ContractRevision),
		fmt.Sprintf("trace format %d, reads 1 to %d", trace.FormatVersion, trace.FormatVersion),
		fmt.Sprintf("%s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH),
	}, "\n")
}
