package adk_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/mutant"
	"github.com/adkreplay/adkreplay/internal/thorough"
)

// Every test run checks that the mutants still fit the source. "make mutants" sets the variable to
// all; this builds each mutant and runs its tests, all of which have to fail. A value such as
// ABT-7,TOL-5-closed selects the mutants of a rule and one more.
const mutantsVariable = "ADKREPLAY_MUTANTS"

func allMutants(t *testing.T) []mutant.Mutant {
	t.Helper()
	all, err := mutant.All(treeRoot, mutant.Engine)
	require.NoError(t, err)
	return all
}

// Every mutant fits the source, and names a rule and tests that name that rule.
func TestMutantsFit(t *testing.T) {
	thorough.OneGoroutine(t)
	rules, named := contractRules(t), map[string][]string{} // by package and test
	for _, path := range goFiles(t) {
		if strings.HasSuffix(path, "_test.go") {
			for test, ids := range rulesOfTests(t, path) {
				named[filepath.Dir(path)+"."+test] = ids
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
		assert.Contains(t, rules, m.Rule, m.Name)
		for _, test := range m.Tests {
			assert.Contains(t, named[m.Package()+"."+test], m.Rule, "%s: %s does not name the rule in a comment", m.Name, test)
		}
	}
	assert.GreaterOrEqual(t, len(mutated), 40, "rules with a mutant")
}

// Every mutant makes each of its tests fail. Only the mutants that the variable selects are
// built.
func TestMutantsAreNoticed(t *testing.T) {
	named := os.Getenv(mutantsVariable)
	if named == "" {
		t.Skip("takes minutes: make mutants (" + mutantsVariable + "=all) runs it")
	}
	chosen, err := mutant.Named(allMutants(t), named)
	require.NoError(t, err)
	builder := &mutant.Builder{Root: treeRoot}
	if len(chosen) > mutant.Few {
		builder.Scratch = t.TempDir()
	}
	var mu sync.Mutex
	var verdicts []mutant.Verdict
	t.Cleanup(func() { fmt.Print(mutant.Table(verdicts)) }) // when the last of them has ended
	for _, m := range chosen {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := mutant.InTime(t)
			defer cancel()
			v, err := builder.Try(ctx, m, t.TempDir())
			mu.Lock()
			verdicts = append(verdicts, v)
			mu.Unlock()
			require.NoError(t, err)
			t.Log(v) // this takes a while: show the progress
			assert.True(t, v.Killed(), "%s %s: %s", m.Name, v, m.Says)
		})
	}
}
