package mutant_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/mutant"
	"github.com/adkreplay/adkreplay/internal/thorough"
)

const treeRoot = "../.."

// Every run of the tests checks that the harness's mutants still fit the source, and tries a
// sample. "make mutants", which sets the variable to all, tries each. The value
// replay/payload-unchecked, for example, names a single mutant.
const mutantsVariable = "ADKREPLAY_MUTANTS"

// sample is a mutant in a package that builds quickly.
const sample = "property/internal/steady/other-values"

// least is the smallest number of mutants in each folder.
var least = map[string]int{
	"adk/artifact":                    8,
	"adk/budget":                      10,
	"adk/envelope":                    10,
	"adk/prompt":                      12,
	"adk/session":                     15,
	"cmd/adkreplay":                   7,
	"fakes":                           6,
	"property/internal/chatfault":     1,
	"internal/compare":                4,
	"cmd/adkreplay/internal/distil":   3,
	"adk/internal/errtree":            2,
	"adk/artifact/internal/jsonindex": 4,
	"internal/modelapi":               1,
	"internal/otlp":                   1,
	"internal/page":                   7,
	"adk/internal/pattern":            2,
	"internal/perform":                2,
	"internal/redacting":              9,
	"cmd/adkreplay/internal/review":   2,
	"internal/spans":                  3,
	"internal/state":                  2,
	"internal/stats":                  4,
	"property/internal/steady":        2,
	"internal/watchdog":               6,
	"property":                        6,
	"property/explore":                26,
	"property/sessions":               15,
	"property/turn":                   15,
	"replay":                          37,
	"replay/corpus":                   6,
	"replay/golden":                   9,
	"replay/sessions":                 4,
	"replay/trace":                    14,
	"replay/whatif":                   2,
}

// harness returns the mutants of the harness.
func harness(t *testing.T) []mutant.Mutant {
	t.Helper()
	dirs, err := mutant.Harness(treeRoot)
	require.NoError(t, err)
	all, err := mutant.All(treeRoot, dirs...)
	require.NoError(t, err)
	return all
}

// Every mutant of the harness fits the source, and names tests of the package that it belongs
// to.
func TestHarnessMutantsFit(t *testing.T) {
	all := harness(t)
	count, tests := map[string]int{}, map[string][]string{} // by package
	for _, m := range all {
		_, err := m.Source(treeRoot)
		assert.NoError(t, err)
		assert.Empty(t, m.Killers, "%s: killers look at the engine", m.Name)
		assert.Empty(t, m.Untold, m.Name)
		pkg := m.Package()
		if count[pkg]++; count[pkg] == 1 {
			tests[pkg] = testsOf(t, pkg)
		}
		for _, test := range m.Tests {
			assert.Contains(t, tests[pkg], test, m.Name)
		}
	}
	for pkg, n := range least {
		assert.GreaterOrEqual(t, count[pkg], n, "mutants of %s", pkg)
	}
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz)\w*)\(`)

// testsOf returns the names of the tests of a package.
func testsOf(t *testing.T, pkg string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(treeRoot, pkg, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range testFunction.FindAllStringSubmatch(string(text), -1) {
			names = append(names, match[1])
		}
	}
	return names
}

// Every mutant of the harness fails each of its tests.
func TestHarnessMutantsAreNoticed(t *testing.T) {
	named := os.Getenv(mutantsVariable)
	if !thorough.All() && named == "" {
		t.Skip("each mutant is a build: make thorough tries a sample, make mutants all")
	}
	all := harness(t)
	chosen, err := mutant.Named(all, cmp.Or(named, sample))
	require.NoError(t, err)
	builder := &mutant.Builder{Root: treeRoot}
	if len(chosen) > mutant.Few {
		builder.Scratch = t.TempDir()
	}
	var mu sync.Mutex
	var verdicts []mutant.Verdict
	t.Cleanup(func() { fmt.Print(mutant.Table(verdicts)) }) // runs when the last subtest has ended
	for _, m := range chosen {
		name := m.Package() + "/" + m.Name
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := mutant.InTime(t)
			defer cancel()
			v, err := builder.Try(ctx, m, t.TempDir())
			mu.Lock()
			verdicts = append(verdicts, v)
			mu.Unlock()
			require.NoError(t, err)
			assert.True(t, v.Killed(), "%s %s: %s", name, v, m.Says)
		})
	}
}
