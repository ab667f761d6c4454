// Package mutant reads seeded mistakes that are kept as data, and builds tests with one of them in
// place, so that the code itself needs no switches. It says which tests must notice a mistake, but
// does not judge the result.
//
// Mistakes in the engine break a rule of the contract, and the code that checks turns must find
// them. Mistakes in the harness make the code that checks turns find too little or too much, and
// its own tests must find those.
package mutant

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Engine is the folder of the engine's mutants, from the root of the tree.
const Engine = "adk/testdata/mutants"

// Harness finds the folders of the mutants of the harness, and of other code based on the engine.
// Each is next to the tests that notice its mutants. The folders are given from the root of the
// tree.
func Harness(root string) (dirs []string, err error) {
	err = fs.WalkDir(os.DirFS(root), ".", func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case at != "." && strings.HasPrefix(d.Name(), ".") && d.IsDir():
			return fs.SkipDir
		case strings.HasSuffix(at, "/testdata/mutants") && at != Engine:
			dirs = append(dirs, at)
		}
		return nil
	})
	return dirs, err
}

// Mutant is one seeded mistake, in a file of one of these folders. In Engine it breaks one rule of
// the contract and is named after that:
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
// If a rule has several mutants, a word follows its id: ABT-8-late-ack.txt. A mutant of the harness
// is named after what it breaks. A mutant that only the race detector finds has -race after its
// tests, and is built with the detector. The part on killers may be missing.
type Mutant struct {
	Name string // the name of the file, without its extension
	Dir  string // the folder of the file, from the root of the tree
	Rule string // "" for one of the harness
	Says string
	File string // from the root of the tree
	// Tests are the tests of Package that must fail, and Flags the flags that they are built with.
	Tests, Flags []string
	// Killers are the checks of traces that must find the mutant. If there are none, any check must
	// find it, unless no trace shows it; then Untold says why, after the word none. A mutant of the
	// harness has neither.
	Killers  []string
	Untold   string
	Old, New string
}

var (
	form = regexp.MustCompile(`(?s)^(.+?)\n-- file --\n(\S+)\n-- test --\n([^\n]+)\n(?:-- killers --\n([^\n]+)\n)?-- old --\n(.*)\n-- new --\n(.*)$`)
	rule = regexp.MustCompile(`^[A-Z]{3}-\d+\b`)
)

// Parse reads the text of a file with the given name in a folder.
func Parse(dir, name, text string) (Mutant, error) {
	parts := form.FindStringSubmatch(text)
	m := Mutant{Name: name, Dir: dir, Rule: rule.FindString(name)}
	if parts == nil || (m.Rule == "") == (dir == Engine) {
		return Mutant{}, fmt.Errorf("%s/%s: want a file named for its rule in %s, and for what it breaks elsewhere: a sentence, -- file --, -- test --, perhaps -- killers --, -- old --, -- new --", dir, name, Engine)
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

// All returns the mutants in folders below the root of the tree, by folder and name.
func All(root string, dirs ...string) ([]Mutant, error) {
	var all []Mutant
	for _, dir := range dirs {
		paths, err := filepath.Glob(filepath.Join(root, dir, "*.txt"))
		if err != nil {
			return nil, err
		}
		if len(paths) == 0 {
			return nil, fmt.Errorf("there are no mutants in %s: give the root of the tree", filepath.Join(root, dir))
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			m, err := Parse(dir, strings.TrimSuffix(filepath.Base(path), ".txt"), string(text))
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// Package returns the folder of the package whose tests must notice the mutant, from the root of
// the tree. For the engine that is the package of the file. For the harness it is the package whose
// testdata contains the mutant, even if the file is elsewhere.
func (m Mutant) Package() string {
	if m.Dir == Engine {
		return path.Dir(m.File)
	}
	return strings.TrimSuffix(m.Dir, "/testdata/mutants")
}

// Named returns the mutants that a list names. The list is "all", or names separated by commas.
// Each is the name of a mutant, optionally after its package, or a prefix of several names up to a
// dash, such as a rule. A name that matches no mutant is an error.
func Named(mutants []Mutant, list string) (named []Mutant, err error) {
	if list == "all" {
		return mutants, nil
	}
	names := strings.Split(list, ",")
	found := make([]bool, len(names))
	for _, m := range mutants {
		chosen := false
		for i, name := range names {
			if name = strings.TrimPrefix(name, m.Package()+"/"); name == m.Name || strings.HasPrefix(m.Name, name+"-") {
				chosen, found[i] = true, true
			}
		}
		if chosen {
			named = append(named, m)
		}
	}
	if none := slices.Index(found, false); none >= 0 {
		return nil, fmt.Errorf("no mutant is named %q, nor does a name begin with it: give the rule or the name of the file", names[none])
	}
	return named, nil
}

// Source returns the text of the file with the mistake in it.
func (m Mutant) Source(root string) (string, error) {
	source, err := os.ReadFile(filepath.Join(root, m.File))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.Old); n != 1 {
		return "", fmt.Errorf("%s: the old text occurs %d times in %s, want once: where the source has changed, change %s/%[1]s.txt with it", m.Name, n, m.File, m.Dir)
	}
	if m.Old == m.New {
		return "", errors.New(m.Name + " changes nothing")
	}
	return strings.Replace(string(source), m.Old, m.New, 1), nil
}

// sorted returns flags in a canonical order, so that equal sets of flags are equal.
func sorted(flags []string) []string { return slices.Sorted(slices.Values(flags)) }
