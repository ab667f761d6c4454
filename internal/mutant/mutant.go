// Package mutant reads the mistakes that are kept as data, and builds tests with
// one of them in place, so that the code itself carries no switch. It says who has
// to notice one, and judges nobody.
//
// Mistakes in the engine break a rule of the contract, and what looks at turns has
// to see them. Mistakes in the harness make what looks at turns see less, or more,
// than there is; its own tests have to see those.
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

// Engine is where the mutants of the engine are, from the root of the tree.
const Engine = "adk/testdata/mutants"

// Harness finds where those of the harness are, and of what rests on the engine, each
// beside the tests that notice it. The folders are given from the root of the tree.
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

// Mutant is one seeded mistake, in a file of one of these folders. In Engine it
// breaks one rule of the contract and is named for that:
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
// A rule with several mutants has a word behind its id: ABT-8-late-ack.txt. One of
// the harness is named for what it breaks. What a race breaks has -race behind its
// tests, and is built with the detector. The part on killers may be left out.
type Mutant struct {
	Name string // of the file, without its ending
	Dir  string // the folder of the file, from the root of the tree
	Rule string // empty for one of the harness
	Says string
	File string // from the root of the tree
	// Tests are the tests of Package that have to fail, and Flags what they are built
	// with.
	Tests, Flags []string
	// Killers are those who have to see it in a trace; where there are none, any
	// one of them has to, but for a mutant that no trace shows: then Untold says
	// why, after the word none. A mutant of the harness has none of this.
	Killers  []string
	Untold   string
	Old, New string
}

var (
	form = regexp.MustCompile(`(?s)^(.+?)\n-- file --\n(\S+)\n-- test --\n([^\n]+)\n(?:-- killers --\n([^\n]+)\n)?-- old --\n(.*)\n-- new --\n(.*)$`)
	rule = regexp.MustCompile(`^[A-Z]{3}-\d+\b`)
)

// Parse reads the text of a file of that name in a folder.
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

// All are the mutants in the folders below the root of the tree, folder by folder
// and by their names.
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

// Package is the folder of the package whose tests have to notice it, from the root of
// the tree: of the engine that of the file, and of the harness the one whose testdata the
// mutant lies in, which may use the file from afar.
func (m Mutant) Package() string {
	if m.Dir == Engine {
		return path.Dir(m.File)
	}
	return strings.TrimSuffix(m.Dir, "/testdata/mutants")
}

// Named are those of the mutants that a list names: all, or names with commas
// between, each a mutant's own, with its package before it or without, or the
// beginning of several up to a dash, as a rule is. A name of none is an error.
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

// Source is the file with the mistake in it.
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

// sorted are flags in one order, so that those of one set are alike.
func sorted(flags []string) []string { return slices.Sorted(slices.Values(flags)) }
