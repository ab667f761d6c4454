// Package mutant reads the mistakes that are kept as data, and builds tests with
// one of them in the engine, so that the engine itself carries no switch. It says
// who has to notice one, and judges nobody.
package mutant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Dir is where the mutants are, from the root of the tree.
const Dir = "adk/testdata/mutants"

// Mutant is one seeded mistake: it breaks one rule of the contract in the source
// of the engine. It stands in a file of Dir that is named for its rule:
//
//	One sentence that says what breaks.
//	-- file --
//	adk/turn.go
//	-- test --
//	TestEveryEndOfATurn
//	-- killers --
//	fixtures
//	-- old --
//	text that occurs once in the file
//	-- new --
//	what stands there in the mutant
//
// A rule with several mutants has a word behind its id: ABT-8-late-ack.txt. What a
// race breaks has -race behind its tests, and is built with the detector. The part
// on killers may be left out.
type Mutant struct {
	Name string // of the file, without its ending
	Rule string
	Says string
	File string // from the root of the tree
	// Tests are the tests of package adk that have to fail, and Flags what they
	// are built with.
	Tests, Flags []string
	// Killers are those who have to see it in a trace; where there are none, any
	// one of them has to, but for a mutant that no trace shows: then Untold says
	// why, after the word none.
	Killers  []string
	Untold   string
	Old, New string
}

var (
	form = regexp.MustCompile(`(?s)^(.+?)\n-- file --\n(\S+)\n-- test --\n([^\n]+)\n(?:-- killers --\n([^\n]+)\n)?-- old --\n(.*)\n-- new --\n(.*)$`)
	rule = regexp.MustCompile(`^[A-Z]{3}-\d+\b`)
)

// Parse reads the text of a file of that name.
func Parse(name, text string) (Mutant, error) {
	parts := form.FindStringSubmatch(text)
	m := Mutant{Name: name, Rule: rule.FindString(name)}
	if parts == nil || m.Rule == "" {
		return Mutant{}, fmt.Errorf("%s: want a file named for its rule: a sentence, -- file --, -- test --, perhaps -- killers --, -- old --, -- new --", name)
	}
	m.Says, m.File = strings.ReplaceAll(parts[1], "\n", " "), parts[2]
	m.Old, m.New = parts[5], strings.TrimSuffix(parts[6], "\n")
	for _, word := range strings.Fields(parts[3]) {
		if strings.HasPrefix(word, "-") {
			m.Flags = append(m.Flags, word)
		} else {
			m.Tests = append(m.Tests, word)
		}
	}
	if why, untold := strings.CutPrefix(parts[4], "none: "); untold {
		m.Untold = why
	} else {
		m.Killers = strings.Fields(parts[4])
	}
	return m, nil
}

// All are the mutants below the root of the tree, by their names.
func All(root string) ([]Mutant, error) {
	paths, err := filepath.Glob(filepath.Join(root, Dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("there are no mutants in %s: give the root of the tree", filepath.Join(root, Dir))
	}
	var all []Mutant
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		m, err := Parse(strings.TrimSuffix(filepath.Base(path), ".txt"), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// Source is the file with the mistake in it.
func (m Mutant) Source(root string) (string, error) {
	source, err := os.ReadFile(filepath.Join(root, m.File))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.Old); n != 1 {
		return "", fmt.Errorf("%s: the old text occurs %d times in %s, want once: where the source has changed, change %s/%[1]s.txt with it", m.Name, n, m.File, Dir)
	}
	return strings.Replace(string(source), m.Old, m.New, 1), nil
}

// Build compiles the tests of the package in the working directory with the
// mistake in place, by way of dir, and gives the binary.
func (m Mutant) Build(ctx context.Context, root, dir string, flags ...string) (binary string, err error) {
	source, err := m.Source(root)
	if err != nil {
		return "", err
	}
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	mutated, overlay, binary := filepath.Join(dir, "mutated.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mutant.test")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, m.File): mutated}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(mutated, []byte(source), 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return "", err
	}
	args := slices.Concat([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary}, flags, []string{"."})
	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", m.Name, err, out)
	}
	return binary, nil
}
