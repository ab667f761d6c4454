package golden

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/adkreplay/adkreplay/replay/corpus"
)

// claimsVariable is the environment variable that names the folder for claims.
const claimsVariable = "ADKREPLAY_CLAIMS"

// Claim records that a test uses files that say what is expected: golden files and traces that the
// test reads itself. Turn, Transcript and Replay claim theirs. Claim writes to the folder that the
// environment variable ADKREPLAY_CLAIMS names, and does nothing if it is not set.
func Claim(t TB, files ...string) {
	t.Helper()
	if err := claims.add(os.Getenv(claimsVariable), files); err != nil {
		t.Errorf("golden: what the test uses cannot be claimed: %v", err)
	}
}

// claims holds the claims of this run of a package's tests. Packages are tested concurrently, so
// each has a file of its own.
var claims = &claimsFile{home: home()}

// claimsFile is the file to which the tests of one package write their claims.
type claimsFile struct {
	home string // the package's folder

	mu   sync.Mutex
	path string // the file in use; empty before the first claim
}

// home returns the folder in which go test begins to run the tests of a package.
func home() string {
	dir, err := os.Getwd()
	if err != nil {
		return "" // readers refuse claims without a package
	}
	return corpus.WholePath(dir)
}

// add writes claims. The first call overwrites the claims of an earlier run.
func (c *claimsFile) add(folder string, files []string) (err error) {
	if folder == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !filepath.IsAbs(folder) {
		return fmt.Errorf("%s is %q: give the whole path, as each package's tests run in a folder of their own", claimsVariable, folder)
	}
	path := filepath.Join(folder, c.name())
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if path != c.path {
		flags |= os.O_TRUNC
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	c.path = path
	return c.write(f, files)
}

// name returns the file's name: the name of the package's folder, for people, and a digest that
// distinguishes it from other folders of that name.
func (c *claimsFile) name() string {
	sum := sha256.Sum256([]byte(c.home))
	return fmt.Sprintf("%s-%x%s", filepath.Base(c.home), sum[:6], corpus.ClaimsEnding)
}

func (c *claimsFile) write(f *os.File, files []string) error {
	for _, file := range files {
		line, err := json.Marshal(corpus.Reference{Package: c.home, File: corpus.WholePath(file), Partial: partial()})
		if err != nil {
			return err
		}
		if _, err := f.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// partial returns the test flag that keeps some tests from running, or "" if there is none.
func partial() string {
	for _, name := range []string{"run", "skip", "short", "fuzz"} {
		f := flag.Lookup("test." + name)
		if f != nil && f.Value.String() != f.DefValue {
			return "-" + name + " " + f.Value.String()
		}
	}
	return ""
}
