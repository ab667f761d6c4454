// Package draws makes this project's random tests draw the same values on every run, so that a
// failure means a change and not chance. A test file that imports rapid imports this package for
// its effect alone. For new values, run make soak, set RAPID_SEED=0, or give -rapid.seed=0.
package draws

import (
	"flag"
	"os"
	"strconv"
	"testing"

	_ "github.com/adkreplay/adkreplay/internal/headroom" // drawing makes garbage
	_ "pgregory.net/rapid"                               // its flags

	"github.com/adkreplay/adkreplay/internal/thorough"
)

// usual are flags of rapid with another default here, each with the environment variable by which
// rapid lets people set it. A failure with a known seed can be repeated with the same command, so
// only new draws are worth a failure file. Since the draws are always the same, there need not be
// many; make soak makes as many as there is time for.
var usual = []struct{ name, variable, value string }{
	{"rapid.seed", "RAPID_SEED", "20250101"},
	{"rapid.nofailfile", "RAPID_NOFAILFILE", "true"},
	{"rapid.checks", "RAPID_CHECKS", checks()}, // with -short rapid makes a fifth
}

func checks() string {
	if thorough.All() {
		return "40"
	}
	return "15"
}

// Flags on the command line are parsed later and take precedence.
func init() {
	for _, one := range usual {
		if _, given := os.LookupEnv(one.variable); given {
			continue
		}
		if err := flag.Set(one.name, one.value); err != nil {
			panic(err)
		}
	}
}

// Checks makes rapid check a property with at least n draws, also with -short, until back is
// called. It is for tests that must find something rare.
func Checks(n int) (back func()) {
	if testing.Short() {
		n *= 5 // rapid makes a fifth
	}
	checks := flag.Lookup("rapid.checks").Value
	usual := checks.String()
	if set, err := strconv.Atoi(usual); err == nil && set >= n {
		return func() {}
	}
	if err := checks.Set(strconv.Itoa(n)); err != nil {
		panic(err)
	}
	return func() { _ = checks.Set(usual) }
}
