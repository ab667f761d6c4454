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

// Few is how many mutants do no harm to the build cache of the go command.
const Few = 5

// Builder builds the tests of packages with a mutant in place. The zero value uses
// the build cache of the go command, which is for few of them.
type Builder struct {
	// Root is the root of the tree.
	Root string
	// Flags are given to go test in every build.
	Flags []string
	// Scratch is a folder for a build cache of its own; empty means that of the go
	// command. Every mutant leaves some hundred megabytes in the cache that it is
	// built with, so each gets a copy, which goes when it is built.
	Scratch string

	mu     sync.Mutex
	warmed map[string]bool // the packages and flags that the cache holds unbroken
}

// Build compiles the tests of a package, a folder from the root of the tree, with
// the mistake in place, by way of dir, and gives the binary.
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

// compile builds the tests of a package into a binary, with a cache if one is named.
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

// cache is the build cache for one mutant, and what takes it away: a copy of one
// in which the package was built without a mistake.
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

// warm builds a package as it is, once for each set of flags.
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

// linkTree makes a folder with the files of another, which take no room of their
// own. A file that goes while it is at it was one that is being written.
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

// InTime is a test's context that ends a while before the time of all tests is over:
// what is built by then is stopped, so that the verdicts are printed and the build
// cache is taken away, which an end by force would leave behind.
func InTime(t interface {
	Context() context.Context
	Deadline() (time.Time, bool)
}) (context.Context, context.CancelFunc) {
	if at, limited := t.Deadline(); limited {
		return context.WithDeadline(t.Context(), at.Add(-Patience))
	}
	return context.WithCancel(t.Context())
}

// Patience is how long one test may take with a mutant in place: one that waits for
// ever is noticed too.
const Patience = 30 * time.Second

// Verdict is what the tests of a mutant say of it.
type Verdict struct {
	Mutant
	Seen   []string // the tests that notice it, each with how where it does not just fail
	Missed []string // those that do not
}

// Killed tells that each of the tests notices it.
func (v Verdict) Killed() bool { return len(v.Seen) > 0 && len(v.Missed) == 0 }

// tried reports whether any test was run on it.
func (v Verdict) tried() bool { return len(v.Seen)+len(v.Missed) > 0 }

// String is who notices it and who does not.
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

// Try builds the mutant by way of dir, and runs its tests one by one.
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

// notices reports whether a test, run in the folder of its package, notices the
// mutant, and how if it does not just fail. A test that is not there notices
// nothing.
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
		run.Env = append(os.Environ(), thorough.Variable+"="+thorough.Usual) // long tests notice, too
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

// draws reports whether a binary's tests draw their cases: a case that a mutant fails
// on is none to keep, and rapid would keep it in the folder of the package.
func draws(binary string) bool {
	content, err := os.ReadFile(binary)
	return err == nil && bytes.Contains(content, []byte("rapid.nofailfile"))
}

// Table is the table of verdicts in the order of the mutants' names, and how many
// were killed, survived, or were not tried, as when they could not be built in time.
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
