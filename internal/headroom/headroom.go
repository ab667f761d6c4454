// Package headroom lets the tests of a package produce more garbage before it is collected: large
// test packages spent a quarter of their time on collecting small short-lived objects. A test file
// imports it for its effect alone. It does nothing in benchmarks, which must measure what users
// get, and if GOGC or GOMEMLIMIT is set.
package headroom

import (
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

const (
	// percent is the GC percentage.
	percent = 400
	// most is the memory limit in bytes, beyond which garbage is collected as often as necessary,
	// because several packages are tested at once.
	most = 768 << 20
)

func init() {
	if isWanted(os.Args[1:], os.LookupEnv) {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(most)
	}
}

// isWanted reports whether a process with these arguments and environment variables runs tests, and
// its user has not chosen how it collects garbage.
func isWanted(args []string, lookup func(string) (string, bool)) bool {
	_, percentGiven := lookup("GOGC")
	_, limitGiven := lookup("GOMEMLIMIT")
	measures := slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(strings.TrimLeft(arg, "-"), "test.bench") })
	return !percentGiven && !limitGiven && !measures
}
