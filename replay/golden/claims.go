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

// Claim says that a test uses files that say what is expected: golden files and
// traces that it reads by itself. Turn, Transcript and Replay claim theirs. It
// writes down what is claimed where the environment variable ADKREPLAY_CLAIMS
// names a folder, and does nothing elsewhere.
func Claim(t TB, files ...string) {
	t.Helper()
	if err := claims.add(os.Getenv(claimsVariable), files); err != nil {
		t.Errorf("golden: what the test uses cannot be claimed: %v", err)
	}
}

// claims are those of this run of a package's tests: packages are tested at the
// same time, and each has a file of its own.
var claims = &claimsFile{home: home()}

// claimsFile is the file that a run of one package's tests writes.
type claimsFile struct {
	home string // the package's folder

	mu   sync.Mutex
	path string // that was begun; empty before the first claim
}

// home is the folder in which go test begins to run the tests of a package.
func home() string {
	dir, err := os.Getwd()
	if err != nil {
		return "" // claims without a package are refused when they are read
	}
	return corpus.WholePath(dir)
}

// add writes claims, over those of an earlier run.
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

// name is the name of the package's folder, for people, and what tells it from
// others of that name.
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

// partial is the flag that keeps tests from running; empty where there is none.
func partial() string {
	for _, name := range []string{"run", "skip", "short", "fuzz"} {
		f := flag.Lookup("test." + name)
		if f != nil && f.Value.String() != f.DefValue {
			return "-" + name + " " + f.Value.String()
		}
	}
	return ""
}
