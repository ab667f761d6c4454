package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// checkPaths refuses an empty path, which is what a shell makes of an unset variable, and a second
// standard input.
func checkPaths(args []string) error {
	return errors.Join(checkNone(args, "a file or a folder, or no argument"), checkInputs(args))
}

// checkFiles is checkPaths for a command that accepts no folder.
func checkFiles(args []string) error {
	return errors.Join(checkNone(args, "a file"), checkInputs(args))
}

// checkNone refuses an empty argument, and says what to give instead.
func checkNone(args []string, want string) error {
	if at := slices.Index(args, ""); at >= 0 {
		return fmt.Errorf("argument %d is empty: give %s", at+1, want)
	}
	return nil
}

// checkPage refuses the name of a trace, which would be overwritten, and what looks like another
// flag.
func checkPage(flag, file string) error {
	switch {
	case file != stdout && strings.HasPrefix(file, "-"):
		return fmt.Errorf("%s needs a file, or - for the standard output: %q is a flag", flag, file)
	case corpus.IsTrace(file):
		return fmt.Errorf("%s writes a page, and %s is the name of a trace: give a name such as %s", flag, safetext.Line(file), usualPage)
	}
	return nil
}

// checkInputs refuses to read the standard input twice.
func checkInputs(args []string) error {
	seen := false
	for _, arg := range args {
		if arg == stdin && seen {
			return errors.New("- is the standard input, which can be read once: give it once, or files")
		}
		seen = seen || arg == stdin
	}
	return nil
}
