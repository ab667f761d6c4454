package mutant

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/internal/thorough"
)

// Few is how many mutants do no harm to the go command's build cache.
const Few = 5

// Builder builds the tests of packages with a mutant in place. The zero value uses the go command's
// build cache, which is acceptable for few mutants.
type Builder struct {
	// Root is the root of the tree.
	Root string
	// Flags are passed to go test in every build.
	Flags []string
	// Scratch is a folder for a separate build cache; "" means the go command's cache. Every mutant
	// leaves some hundred megabytes in the cache that it is built with, so each one gets a copy of
	// the cache, which is removed after the build.
	Scratch string

	mu     sync.Mutex
	warmed map[string]bool // the packages and flags that were built without a mutant
}

// Build compiles the tests of a package, which is a folder from the root of the tree, with the
// mutant in place, and returns the binary. It writes to dir.
func (b *Builder) Build(ctx context.Context, m Mutant, pkg, dir string) (binary string, err error) {
	source, err := m.Source(b.Root)
	if err = cmp.Or(ctx.Err(), err); err != nil {
		return "", err
	}
	root, err := filepath.Abs(b.Root)
	if err != nil {
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
	flags := sorted(slices.Concat(b.Flags, m.Flags))
	cache, remove, err := b.cache(ctx, pkg, dir, flags)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if err := b.compile(ctx, pkg, binary, cache, append(flags, "-overlay", overlay)); err != nil {
		return "", fmt.Errorf("%s: %w", m.Name, err)
	}
	return binary, nil
}

// compile builds the tests of a package into a binary, with the given cache unless that is "".
func (b *Builder) compile(ctx context.Context, pkg, binary, cache string, flags []string) error {
	args := slices.Concat([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary}, flags, []string{"."})
	build := exec.CommandContext(ctx, "go", args...)
	build.Dir, build.WaitDelay = filepath.Join(b.Root, pkg), time.Second
	if cache != "" {
		build.Env = append(os.Environ(), "GOCACHE="+cache)
	}
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// cache returns the build cache for one mutant, and a function that removes it: a copy of a cache
// in which the package was built without a mutant.
func (b *Builder) cache(ctx context.Context, pkg, dir string, flags []string) (cache string, remove func() error, err error) {
	if b.Scratch == "" {
		return "", func() error { return nil }, nil
	}
	whole := filepath.Join(b.Scratch, "cache")
	if err := b.warm(ctx, pkg, whole, flags); err != nil {
		return "", nil, err
	}
	cache = filepath.Join(dir, "cache")
	if err := linkTree(whole, cache); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(cache))
	}
	return cache, func() error { return os.RemoveAll(cache) }, nil
}

// warm builds a package without a mutant, once for each set of flags.
func (b *Builder) warm(ctx context.Context, pkg, cache string, flags []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := pkg + " " + strings.Join(flags, " ")
	if b.warmed[key] {
		return nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	if err := b.compile(ctx, pkg, os.DevNull, cache, flags); err != nil {
		return fmt.Errorf("without a mistake: %w", err)
	}
	if b.warmed == nil {
		b.warmed = map[string]bool{}
	}
	b.warmed[key] = true
	return nil
}

// linkTree makes a folder with hard links to the files of another, which take no space. A file that
// disappears meanwhile was a temporary one.
func linkTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if err := os.Link(path, filepath.Join(to, rel)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// InTime returns a context for a test that ends some time before the deadline of all tests. Builds
// that still run then are stopped, so that the verdicts are printed and the build cache is removed,
// which would not happen if the test were killed.
func InTime(t interface {
	Context() context.Context
	Deadline() (time.Time, bool)
}) (context.Context, context.CancelFunc) {
	if at, limited := t.Deadline(); limited {
		return context.WithDeadline(t.Context(), at.Add(-Patience))
	}
	return context.WithCancel(t.Context())
}

// Patience is how long one test may take with a mutant in place. A test that waits for ever has
// noticed the mutant too.
const Patience = 30 * time.Second

// Verdict is the result of the tests of a mutant.
type Verdict struct {
	Mutant
	Seen   []string // the tests that notice it, and how if they do not simply fail
	Missed []string // the tests that do not
}

// Killed reports whether each of the tests notices the mutant.
func (v Verdict) Killed() bool { return len(v.Seen) > 0 && len(v.Missed) == 0 }

// tried reports whether any test was run with the mutant.
func (v Verdict) tried() bool { return len(v.Seen)+len(v.Missed) > 0 }

// String says which tests notice the mutant and which do not.
func (v Verdict) String() string {
	text := strings.Join(v.Seen, ", ")
	switch {
	case v.Killed():
		return text
	case !v.tried():
		return "not tried"
	}
	if text != "" {
		text = ", noticed by " + text
	}
	return "**survives** " + strings.Join(v.Missed, ", ") + text
}

// Try builds the mutant in dir, and runs its tests one after the other.
func (b *Builder) Try(ctx context.Context, m Mutant, dir string) (Verdict, error) {
	v := Verdict{Mutant: m}
	binary, err := b.Build(ctx, m, m.Package(), dir)
	if err != nil {
		return v, err
	}
	for _, test := range m.Tests {
		if how, sees := notices(ctx, binary, filepath.Join(b.Root, m.Package()), test); sees {
			v.Seen = append(v.Seen, test+how)
		} else {
			v.Missed = append(v.Missed, test)
		}
	}
	return v, nil
}

// notices reports whether a test, run in the folder of its package, notices the mutant, and how if
// it does not simply fail. A test that does not exist notices nothing.
func notices(ctx context.Context, binary, dir, test string) (how string, noticed bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*Patience)
	defer cancel()
	args := []string{"-test.run", "^" + test + "$", "-test.timeout", Patience.String()}
	if draws(binary) {
		args = append(args, "-rapid.nofailfile")
	}
	run := exec.CommandContext(ctx, binary, args...)
	run.Dir = dir
	if !thorough.All() {
		run.Env = append(os.Environ(), thorough.Variable+"="+thorough.Usual) // includes long tests
	}
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

// draws reports whether a binary's tests draw random cases. A case that fails because of a mutant
// must not be kept, but rapid would keep it in the folder of the package.
func draws(binary string) bool {
	content, err := os.ReadFile(binary)
	return err == nil && bytes.Contains(content, []byte("rapid.nofailfile"))
}

// Table formats the verdicts, sorted by the mutants' names, and how many mutants were killed,
// survived, or were not tried, for example because they could not be built in time.
func Table(verdicts []Verdict) string {
	verdicts = slices.SortedFunc(slices.Values(verdicts), func(a, b Verdict) int {
		return strings.Compare(a.Dir+"/"+a.Name, b.Dir+"/"+b.Name)
	})
	var text strings.Builder
	text.WriteString("| mutant | what breaks | noticed by |\n| --- | --- | --- |\n")
	killed, survived := 0, 0
	for _, v := range verdicts {
		switch {
		case v.Killed():
			killed++
		case v.tried():
			survived++
		}
		fmt.Fprintf(&text, "| %s %s | %s | %s |\n", v.Package(), v.Name, v.Says, v)
	}
	fmt.Fprintf(&text, "of %d mutants: %d killed, %d survived, %d not tried\n", len(verdicts), killed, survived, len(verdicts)-killed-survived)
	return text.String()
}
