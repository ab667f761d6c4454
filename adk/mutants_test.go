package adk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A mutant breaks one rule of the contract in the source of the engine, and says
// which tests have to notice. They are files in testdata/mutants, each named for
// its rule:
//
//	One sentence that says what breaks.
//	-- file --
//	adk/turn.go
//	-- test --
//	TestEveryEndOfATurn
//	-- old --
//	text that occurs once in the file
//	-- new --
//	what stands there in the mutant
//
// A rule with several mutants has a word behind its id: ABT-8-late-ack.txt. What a
// race breaks has -race behind its tests, and is built with the detector. Every
// run of the tests checks that the mutants still fit the source; make mutants,
// which sets the variable to all, builds each with -overlay and runs its tests,
// which all have to fail. TestMutantsAreNoticed/RUN-6 runs one.
const mutantsVariable = "ADKREPLAY_MUTANTS"

// mutantTime is how long a test of a mutant may take: one that waits for ever is
// noticed too.
const mutantTime = 20 * time.Second

// mutant is one file of testdata/mutants.
type mutant struct {
	name     string // of the file, without its ending
	rule     string
	says     string
	file     string // from the root of the tree
	tests    []string
	flags    []string // of the build
	old, new string
}

var mutantForm = regexp.MustCompile(`(?s)^(.+?)\n-- file --\n(\S+)\n-- test --\n([^\n]+)\n-- old --\n(.*)\n-- new --\n(.*)$`)

func parseMutant(name, text string) (mutant, error) {
	form := mutantForm.FindStringSubmatch(text)
	rule := ruleWord.FindString(name)
	if form == nil || rule == "" || !strings.HasPrefix(name, rule) {
		return mutant{}, fmt.Errorf("%s: want a file named for its rule: a sentence, -- file --, -- test --, -- old --, -- new --", name)
	}
	m := mutant{name: name, rule: rule, says: strings.ReplaceAll(form[1], "\n", " "), file: form[2],
		old: form[4], new: strings.TrimSuffix(form[5], "\n")}
	for _, word := range strings.Fields(form[3]) {
		if strings.HasPrefix(word, "-") {
			m.flags = append(m.flags, word)
		} else {
			m.tests = append(m.tests, word)
		}
	}
	return m, nil
}

func allMutants(t *testing.T) []mutant {
	t.Helper()
	paths, err := filepath.Glob("testdata/mutants/*.txt")
	require.NoError(t, err)
	var all []mutant
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		m, err := parseMutant(strings.TrimSuffix(filepath.Base(path), ".txt"), string(text))
		require.NoError(t, err)
		all = append(all, m)
	}
	return all
}

// apply gives the source of the mutant.
func (m mutant) apply() (string, error) {
	source, err := os.ReadFile(filepath.Join(treeRoot, m.file))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		return "", fmt.Errorf("%s: the old text occurs %d times in %s, want once", m.name, n, m.file)
	}
	return strings.Replace(string(source), m.old, m.new, 1), nil
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
		mutated[m.rule] = true
		source, err := m.apply()
		if assert.NoError(t, err) {
			_, err := parser.ParseFile(token.NewFileSet(), m.file, source, parser.SkipObjectResolution)
			assert.NoError(t, err, m.name)
		}
		assert.NotEqual(t, m.old, m.new, m.name)
		assert.Contains(t, rules, m.rule, m.name)
		for _, test := range m.tests {
			assert.Contains(t, named[test], m.rule, "%s: %s does not name the rule in a comment", m.name, test)
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
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			verdict, err := m.run(t)
			mu.Lock()
			defer mu.Unlock()
			table = append(table, fmt.Sprintf("| %s | %s | %s |", m.name, m.says, verdict))
			assert.NoError(t, err)
		})
	}
}

// run builds the mutant and runs its tests, one by one.
func (m mutant) run(t *testing.T) (verdict string, err error) {
	binary, err := m.build(t.Context(), t.TempDir())
	if err != nil {
		return "does not build", err
	}
	var seen, missed []string
	for _, test := range m.tests {
		if how, noticed := m.notices(t.Context(), binary, test); noticed {
			seen = append(seen, test+how)
		} else {
			missed = append(missed, test)
		}
	}
	if len(missed) > 0 {
		return "**survives** " + strings.Join(missed, ", "), fmt.Errorf("%s survives %s: %s", m.name, strings.Join(missed, ", "), m.says)
	}
	return strings.Join(seen, ", "), nil
}

// build compiles the tests of package adk with the mutant in place.
func (m mutant) build(ctx context.Context, dir string) (binary string, err error) {
	source, err := m.apply()
	if err != nil {
		return "", err
	}
	root, err := filepath.Abs(treeRoot)
	if err != nil {
		return "", err
	}
	mutated, overlay, binary := filepath.Join(dir, "mutated.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mutant.test")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, m.file): mutated}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(mutated, []byte(source), 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return "", err
	}
	args := slices.Concat([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary}, m.flags, []string{"."})
	out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", m.name, err, out)
	}
	return binary, nil
}

// notices tells whether a test notices the mutant, and how if it does not just
// fail.
func (m mutant) notices(ctx context.Context, binary, test string) (how string, noticed bool) {
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
