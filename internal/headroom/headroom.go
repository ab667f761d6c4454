// Package headroom lets the tests of a package make more garbage before it is collected: a
// quarter of what the large ones took was to collect what is small and soon gone. A test
// file imports it for its effect alone. Benchmarks measure what users get, and so does
// whoever sets GOGC.
package headroom

import (
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

const (
	// percent is the garbage that there may be, of what is held.
	percent = 400
	// most is the memory from which on it is collected as soon as need be, in bytes:
	// several packages are tested at once.
	most = 768 << 20
)

func init() {
	if isWanted(os.Args[1:], os.LookupEnv) {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(most)
	}
}

// isWanted reports whether a process with these arguments and variables tests, and its
// user has not said how it is to collect.
func isWanted(args []string, lookup func(string) (string, bool)) bool {
	_, percentGiven := lookup("GOGC")
	_, limitGiven := lookup("GOMEMLIMIT")
	measures := slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(strings.TrimLeft(arg, "-"), "test.bench") })
	return !percentGiven && !limitGiven && !measures
}
