// Package draws makes the tests of ours that draw at random draw the same on every
// run, so that the suite is red where something has changed and never by chance. A
// test file that imports rapid imports it for its effect alone. New draws are for
// make soak, and for whoever sets RAPID_SEED=0, or gives -rapid.seed=0.
package draws

import (
	"flag"
	"os"
	"strconv"
	"testing"

	_ "github.com/adkreplay/adkreplay/internal/headroom" // to draw makes garbage
	_ "pgregory.net/rapid"                               // its flags

	"github.com/adkreplay/adkreplay/internal/thorough"
)

// usual are the flags of rapid that have another default here, each with the
// variable by which rapid lets people set it too. What is drawn from a known seed
// is drawn again by the same command: only new draws are worth a file. And the same draws again
// need not be many: make soak makes as many as there is time for.
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

// Flags that are given at the command line are read later, and so win.
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

// Checks has a property be held for n draws at least, and with -short for as many, until back
// is called: a test wants them that must come upon what is rare.
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
