package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// staleOptions say where to look, and where the claims are.
type staleOptions struct {
	claims string
	roots  []string
}

func newStale(t *terminal) *cobra.Command {
	var o staleOptions
	cmd := &cobra.Command{
		Use:   "stale --claims folder [folder ...]",
		Short: "List golden files and traces that no test uses",
		Long: `stale lists the golden files, the traces and the reasons beside them that no
test claims, below the folders that it is given, or here. Tests that check with
package golden write their claims where the environment variable
ADKREPLAY_CLAIMS names a folder by its whole path. Let all tests run, and be
green: go test takes results that it has in its cache, which claim nothing, unless
it is given -count=1.

Where not all tests ran that could claim a file, it is in doubt, and stale says
why: tests were left out by -run, -skip, -short or -fuzz, or no test next to it
claimed anything.

stale also lists the files of reasons in which a merge has left git's conflict
markers.
` + exits("tests use every file", "a file is stale, or has conflict markers", "claims or a folder that cannot be read", ", a file of which it cannot tell"),
		Example: `  ADKREPLAY_CLAIMS="$PWD/bin/claims" go test -count=1 ./... &&
      adkreplay stale --claims bin/claims`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := parseStale(o, args)
			if err != nil {
				return misused(cmd, err)
			}
			return runStale(t, o)
		},
	}
	cmd.Flags().StringVar(&o.claims, "claims", "", "the `folder` in which the tests wrote their claims")
	return cmd
}

func parseStale(o staleOptions, args []string) (staleOptions, error) {
	switch {
	case o.claims == "":
		return o, errors.New("--claims is missing: give the folder that ADKREPLAY_CLAIMS named")
	case slices.Contains(args, ""):
		return o, fmt.Errorf("argument %d is empty: give a folder", slices.Index(args, "")+1)
	case len(args) == 0:
		args = []string{"."}
	}
	o.roots = args
	return o, nil
}

func runStale(t *terminal, o staleOptions) error {
	claims, err := corpus.ReadReferences(o.claims)
	if err != nil {
		return unreadable(err)
	}
	stale, doubtful, conflicts := 0, 0, 0
	for _, root := range o.roots {
		found, err := claims.Unreferenced(root)
		if err != nil {
			return unreadable(err)
		}
		for _, u := range found {
			if u.Doubt == "" {
				stale++
				t.judged(red, "stale", safetext.Line(u.File))
				continue
			}
			doubtful++
			t.judged(yellow, "in doubt", safetext.Line(u.File+": "+u.Doubt))
		}
		merged, err := corpus.Conflicts(root)
		if err != nil {
			return unreadable(err)
		}
		conflicts += len(merged)
		for _, conflict := range merged {
			t.judged(red, "conflict", safetext.Line(safetext.WithoutPackage(conflict).Error()))
		}
	}
	files, packages := claims.Count()
	counted := fmt.Sprintf("%d stale, %d in doubt", stale, doubtful)
	if conflicts > 0 {
		counted += fmt.Sprintf(", %d in conflict", conflicts)
	}
	t.printf("%s used by tests of %s: %s", safetext.Counted(files, "file"), safetext.Counted(packages, "package"), counted)
	switch {
	case doubtful > 0:
		return ended(exitInternal)
	case stale > 0 || conflicts > 0:
		return ended(exitFound)
	}
	return nil
}
