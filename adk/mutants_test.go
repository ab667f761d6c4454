package adk_test

import (
	"context"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/mutant"
)

// Every run of the tests checks that the mutants still fit the source; make
// mutants, which sets the variable to all, builds each and runs its tests, which
// all have to fail. TestMutantsAreNoticed/RUN-6 runs one.
const mutantsVariable = "ADKREPLAY_MUTANTS"

// mutantTime is how long a test of a mutant may take: one that waits for ever is
// noticed too.
const mutantTime = 20 * time.Second

func allMutants(t *testing.T) []mutant.Mutant {
	t.Helper()
	all, err := mutant.All(treeRoot)
	require.NoError(t, err)
	return all
}

// Every mutant fits the source, and names a rule and tests that name that rule.
func TestMutantsFit(t *testing.T) {
	rules, named := contractRules(t), map[string][]string{}
	for _, path := range goFiles(t) {
		if filepath.Dir(path) == "adk" && strings.HasSuffix(path, "_test.go") {
			for test, ids := range rulesOfTests(t, path) {
				named[test] = ids
			}
		}
	}
	mutated := map[string]bool{}
	for _, m := range allMutants(t) {
		mutated[m.Rule] = true
		source, err := m.Source(treeRoot)
		if assert.NoError(t, err) {
			_, err := parser.ParseFile(token.NewFileSet(), m.File, source, parser.SkipObjectResolution)
			assert.NoError(t, err, m.Name)
		}
		assert.NotEqual(t, m.Old, m.New, m.Name)
		assert.Contains(t, rules, m.Rule, m.Name)
		for _, test := range m.Tests {
			assert.Contains(t, named[test], m.Rule, "%s: %s does not name the rule in a comment", m.Name, test)
		}
	}
	assert.GreaterOrEqual(t, len(mutated), 40, "rules with a mutant")
}

// Every mutant is noticed by each of its tests. Only make mutants asks for it.
func TestMutantsAreNoticed(t *testing.T) {
	if os.Getenv(mutantsVariable) != "all" {
		t.Skip("takes minutes: make mutants (" + mutantsVariable + "=all) runs it")
	}
	var mu sync.Mutex
	var table []string
	t.Cleanup(func() { // when the last of them has ended
		slices.Sort(table)
		fmt.Printf("| mutant | what breaks | noticed by |\n| --- | --- | --- |\n%s\n%d mutants\n", strings.Join(table, "\n"), len(table))
	})
	for _, m := range allMutants(t) {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			verdict, err := noticed(t, m)
			mu.Lock()
			defer mu.Unlock()
			table = append(table, fmt.Sprintf("| %s | %s | %s |", m.Name, m.Says, verdict))
			assert.NoError(t, err)
		})
	}
}

// noticed builds the mutant and runs its tests, one by one.
func noticed(t *testing.T, m mutant.Mutant) (verdict string, err error) {
	binary, err := m.Build(t.Context(), treeRoot, t.TempDir(), m.Flags...)
	if err != nil {
		return "does not build", err
	}
	var seen, missed []string
	for _, test := range m.Tests {
		if how, sees := notices(t.Context(), binary, test); sees {
			seen = append(seen, test+how)
		} else {
			missed = append(missed, test)
		}
	}
	if len(missed) > 0 {
		return "**survives** " + strings.Join(missed, ", "), fmt.Errorf("%s survives %s: %s", m.Name, strings.Join(missed, ", "), m.Says)
	}
	return strings.Join(seen, ", "), nil
}

// notices tells whether a test notices the mutant, and how if it does not just
// fail.
func notices(ctx context.Context, binary, test string) (how string, noticed bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*mutantTime)
	defer cancel()
	run := exec.CommandContext(ctx, binary, "-test.run", "^"+test+"$", "-test.timeout", mutantTime.String())
	out, err := run.CombinedOutput()
	switch text := string(out); {
	case err == nil:
		return "", false
	case strings.Contains(text, "test timed out") || strings.Contains(text, "all goroutines are asleep") || ctx.Err() != nil:
		return " (waits for ever)", true
	case strings.Contains(text, "--- FAIL: "+test):
		return "", true
	case strings.Contains(text, "goroutines were left behind"):
		return " (goroutines left behind)", true
	default:
		return " (crashes)", true
	}
}
