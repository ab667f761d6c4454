package corpus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/adkreplay/adkreplay/internal/jsonfault"
	"github.com/adkreplay/adkreplay/internal/safetext"
)

// Reference records that a test used a file that says what is expected: a golden file or a trace. A
// file of claims holds one Reference per line, as JSON.
type Reference struct {
	// Package is the folder of the tests, and File is what they used. Both are absolute paths.
	Package string `json:"package"`
	File    string `json:"file"`
	// Partial is the flag that kept some tests of the package from running, such as -run ^TestA$.
	// It is empty if all tests ran.
	Partial string `json:"partial,omitempty"`
}

// ClaimsEnding is the end of the names of files of claims.
const ClaimsEnding = ".claims"

// References holds what the tests of one run claim.
type References struct {
	files    map[string]bool
	packages map[string]bool
	partial  string // why there may be more claims; empty if there are none
}

// ReadReferences reads the files of claims in a folder. It returns an error if there are none,
// because then every file would look unused.
func ReadReferences(folder string) (*References, error) {
	c := &References{files: map[string]bool{}, packages: map[string]bool{}}
	names, err := fs.Glob(os.DirFS(folder), "*"+ClaimsEnding)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	for _, name := range names {
		path := filepath.Join(folder, name)
		in, err := openRegular(os.DirFS(folder), name)
		if err != nil {
			return nil, fmt.Errorf("replay: %s: %w", safetext.Line(path), err)
		}
		if err := errors.Join(c.read(path, in), in.Close()); err != nil {
			return nil, err
		}
	}
	if len(c.files) == 0 {
		why := "there are no claims in this folder"
		if info, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) { // fs.Glob does not report this
			why = "there is no such folder, and so no claims"
		} else if err == nil && !info.IsDir() {
			why = "this is no folder of claims"
		}
		return nil, fmt.Errorf("replay: %s: %s: tests write them where ADKREPLAY_CLAIMS names it, and not when go test takes their results from its cache", safetext.Bare(folder), why)
	}
	return c, nil
}

func (c *References) read(path string, in io.Reader) error {
	content, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("replay: %s: %w", safetext.Line(path), err)
	}
	number := 0
	for line := range bytes.Lines(content) {
		number++
		var claim Reference
		err := json.Unmarshal(line, &claim)
		if err == nil && (!filepath.IsAbs(claim.File) || !filepath.IsAbs(claim.Package)) {
			err = errors.New("it needs the whole paths of a file and of a package")
		}
		if err != nil {
			return fmt.Errorf("replay: %s:%d: this is no claim: %w", safetext.Bare(path), number, jsonfault.Of(err))
		}
		c.files[claim.File], c.packages[claim.Package] = true, true
		if claim.Partial != "" && c.partial == "" {
			c.partial = fmt.Sprintf("the tests in %s ran with %s, and others may claim it", claim.Package, claim.Partial)
		}
	}
	return nil
}

// Count returns how many files are claimed, and by how many packages.
func (c *References) Count() (files, packages int) { return len(c.files), len(c.packages) }

// Unreferenced is a file that no test claims.
type Unreferenced struct {
	File string
	// Doubt says why the file may still be in use; empty if it is certainly unused.
	Doubt string
}

// Unreferenced returns the golden files and traces in a folder, at any depth, that no test claims,
// with their files of reasons, in the order of their paths. It skips folders whose names begin with
// a dot.
//
// A file is in doubt if some tests that could claim it have not run: if some tests ran with a flag
// that excludes others, or if the tests next to the file claimed nothing at all.
func (c *References) Unreferenced(folder string) (found []Unreferenced, err error) {
	err = eachExpectation(folder, func(path string) error {
		if doubt, claimed := c.uses(path); !claimed {
			found = append(found, Unreferenced{path, doubt})
		}
		return nil
	})
	return found, err
}

// Conflicts returns an error that wraps ErrConflict for each file of reasons in a folder, at any
// depth, in which a merge has left conflict markers. It skips the folders that Unreferenced skips.
func Conflicts(folder string) (found []error, err error) {
	err = eachExpectation(folder, func(path string) error {
		if !strings.HasSuffix(path, ReasonEnding) {
			return nil
		}
		reasons, err := os.ReadFile(path)
		if conflict := conflictIn(path, reasons); conflict != nil {
			found = append(found, conflict)
		}
		return err
	})
	return found, err
}

// eachExpectation calls see for each file in a folder that isExpectation accepts, in the order of
// their paths. It skips folders whose names begin with a dot.
func eachExpectation(folder string, see func(path string) error) error {
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != folder && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case entry.IsDir() || !isExpectation(path):
			return nil
		}
		return see(path)
	})
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	return nil
}

// isExpectation reports whether a file is one that tests claim, or the reasons for such a file.
func isExpectation(path string) bool {
	path = strings.TrimSuffix(path, ReasonEnding)
	return IsTrace(path) || filepath.Ext(path) == ".golden"
}

// uses reports whether a file is claimed. If it is not, doubt says why it may still be in use.
func (c *References) uses(path string) (doubt string, claimed bool) {
	of, isReason := strings.CutSuffix(path, ReasonEnding)
	if _, err := os.Stat(of); isReason && errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	of = WholePath(of)
	if c.files[of] {
		return "", true
	}
	if c.partial != "" {
		return c.partial, false
	}
	if tests := testsNextTo(of); tests != "" && !c.packages[tests] {
		return fmt.Sprintf("no test in %s claims anything: they did not run, or go test took their results from its cache", tests), false
	}
	return "", false
}

// WholePath returns a path in the form of claims: absolute, with all links resolved.
func WholePath(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	if behind, err := filepath.EvalSymlinks(path); err == nil {
		path = behind
	}
	return path
}

// testsNextTo returns the nearest folder above a file, within its module, that has tests. It
// returns "" if there is none.
func testsNextTo(path string) (nearest string) {
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if tests, _ := fs.Glob(os.DirFS(dir), "*_test.go"); len(tests) > 0 && nearest == "" {
			nearest = dir
		}
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return nearest
		}
	}
	return ""
}
