package house_test

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// goroutines are the files that may start goroutines, with the reason. The list shows everything that runs
// concurrently. In the engine these are the strands, and nothing
// else (DET-2).
var goroutines = map[string]string{
	"adk/call.go":                        "a strand",
	"adk/session/suite.go":               "callers of a store, to see whether it can bear them",
	"adk/session/settle.go":              "the renewal of a lease, when its timer fires, which is not to wait",
	"fakes/provider.go":                  "the server, until it is closed",
	"fakes/suite_spool.go":               "writers of one key, to see whether a spool can bear them",
	"fakes/suite_storage.go":             "users of a storage, to see whether it can bear them",
	"fakes/suite_storage_lasting.go":     "a writer, beside whom a storage is read",
	"fakes/watch.go":                     "user code that may hang, which is then left behind",
	"property/explore/free.go":           "time that moves for a free strand that waits for it",
	"property/explore/watcher.go":        "who watches the runs that are under way",
	"property/explore/search.go":         "workers, which share the schedules of an exploration",
	"property/explore/worker.go":         "a lane of a worker, which a turn may end or keep for ever",
	"internal/ending/ending.go":          "what follows the end of a context, as in package context",
	"property/sessions/explore.go":       "a run, which user code may keep for ever, and time that moves for it",
	"property/sessions/run.go":           "a call of a host, which a crash freezes",
	"property/turn/play.go":              "a turn that is run, which a Goexit ends",
	"property/explore/faultseams.go":     "user code that is to be broken off",
	"internal/watchdog/limit.go":         "checks and cleanup of users, which may hang and are then left behind",
	"internal/watchdog/silence.go":       "who tells a person that live code is silent, until the run has ended",
	"internal/watchdog/watch.go":         "who sees that live code waits where no crossing shows it, until the replay has ended",
	"replay/beside.go":                   "what user code did on a goroutine of its own, while its call went on",
	"replay/internal/bycause/endless.go": "who makes what comes next whenever a run is at rest, until that has ended",
	"replay/production.go":               "what writes a trace behind its run, until both have ended",
	"internal/storagetest/lasting.go":    "writers of one database, to see whether they wait for one another",
	"internal/storagetest/sessions.go":   "senders of deliveries, to see that each counts once",
	"internal/storagetest/processes.go":  "processes that open one storage at once",
	"internal/stub/watcher.go":           "the replayed run, which a recorded Goexit ends",
	"internal/tracetest/fixtures.go":     "tests of fixtures, as many at a time as there are cores",
	"internal/tracetest/fold.go":         "a turn of a test, which a Goexit ends",
	"replay/corpus/corpus.go":            "the replays of several traces",
	"example/chat/standin.go":            "the server that plays a model, until it is closed",
	"example/chat/talk.go":               "lines of a terminal, which ^C does not wait for",
	"scenarios/sessions.go":              "a process of a story, which ends in the middle of its work",
	"cmd/adkreplay/terminal.go":          "the drawing of how long silent work has been at it, until that ends",
	"cmd/adkreplay/traces.go":            "a wait for a pipe, which an interrupt leaves alone",
}

func TestGoroutines(t *testing.T) {
	found := map[string][]string{}
	for _, f := range productionFiles(t) {
		if at := starts(f); len(at) > 0 {
			found[f.path] = at
		}
	}
	for file, at := range found {
		assert.NotEmpty(t, goroutines[file], "a goroutine starts at %v: find it a place, or another way", at)
	}
	for file, why := range goroutines {
		assert.Contains(t, found, file, "%s starts no goroutine (%s): strike it from the table", file, why)
	}
	assert.Len(t, found["adk/call.go"], 1, "the engine has one go statement")
}

// starts returns the places where a file starts goroutines: go statements, and calls of
// methods named Go. Timers do not count; they belong to clocks and contexts.
func starts(f *source) (places []string) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			places = append(places, f.place(n))
		case *ast.CallExpr:
			if method, ok := n.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Go" {
				places = append(places, f.place(n))
			}
		}
		return true
	})
	slices.Sort(places)
	return places
}

func TestStarts(t *testing.T) {
	f := parsed(t, "adk/x.go", []byte(`package adk

func f() { // starts nothing: Go(), "go f()"
	go f()
	group.Go(f)
	defer func() { go func() {}() }()
}
`))
	assert.Equal(t, []string{"adk/x.go:4", "adk/x.go:5", "adk/x.go:6"}, starts(f))
}

// sharing finds the list of imports that makes "make race" run a package's tests.
var sharing = regexp.MustCompile(`(?m)^MAY_RACE = \((.*)\)\(`)

// Every package that starts a goroutine, also in a test, is run under the race detector.
func TestWhatStartsGoroutinesIsRaced(t *testing.T) {
	found := sharing.FindSubmatch(treeFiles(t)["Makefile"])
	require.NotNil(t, found, "the Makefile says who may race")
	pattern := strings.ReplaceAll(string(found[1]), "$(ADKREPLAY)", "github.com/adkreplay/adkreplay")
	mayRace := regexp.MustCompile("^(" + pattern + ")$")
	starting, raced := map[string][]string{}, map[string]bool{}
	for _, f := range goFiles(t) {
		starting[f.dir] = append(starting[f.dir], starts(f)...)
		raced[f.dir] = raced[f.dir] || slices.ContainsFunc(f.imports(), mayRace.MatchString)
	}
	for dir, at := range starting {
		assert.True(t, len(at) == 0 || raced[dir] || dir == "internal/house", "goroutines start at %v, and no import has make race run the tests of %s", at, dir)
	}
	assert.False(t, raced["internal/canonical"], "who is on one goroutine is not linked once more")
}
