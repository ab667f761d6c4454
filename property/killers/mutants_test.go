package killers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/mutant"
)

const treeRoot = "../.."

// mutantsVariable names the mutants to build and to run against whole killers, or "all".
const mutantsVariable = "ADKREPLAY_MUTANTS"

// patience is how long a killer may take, many times more than it needs, so that an engine that waits
// for ever is noticed too.
const patience = 2 * time.Minute

// binaryFlags halve the time to build the binary, because they switch optimizations off.
var binaryFlags = []string{"-gcflags=github.com/adkreplay/adkreplay/...=-N -l"}

// Every mutant that a trace can show is killed by the killers that its file names. make killers builds
// all mutants and prints which killer found which. If the variable is set to DEL-3, only the mutants of
// that rule are built.
func TestMutantsAreKilled(t *testing.T) {
	named := os.Getenv(mutantsVariable)
	if named == "" {
		t.Skip("each mutant builds all packages: make killers (" + mutantsVariable + "=all) runs it")
	}
	all, err := mutant.All(treeRoot, mutant.Engine)
	require.NoError(t, err)
	chosen, err := mutant.Named(all, named)
	require.NoError(t, err)
	builder := &mutant.Builder{Root: treeRoot, Flags: binaryFlags}
	if len(chosen) > mutant.Few {
		builder.Scratch = t.TempDir()
	}
	var mu sync.Mutex
	verdicts, left := map[string]verdict{}, []mutant.Mutant(nil)
	t.Cleanup(func() { // runs when the last subtest has ended
		fmt.Print(tableOf(verdicts, left))
	})
	for _, m := range chosen {
		if m.Untold != "" {
			left = append(left, m)
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			v := tried(t, builder, m)
			mu.Lock()
			verdicts[m.Name] = v
			fmt.Fprintf(os.Stderr, "%d: %s %s\n", len(verdicts), m.Name, v.cells()) // progress, since this takes a while
			mu.Unlock()
			assert.NotEmpty(t, v.killers(), "%s survives: %s A trace must show it: an invariant is missing, or a kind of turn", m.Name, m.Says)
			for _, name := range m.Killers {
				assert.Contains(t, v.killers(), name, "%s survives one that has to see it: %s", m.Name, m.Says)
			}
		})
	}
}

// verdict is what each killer found of one mutant, in the order of the killers.
type verdict struct {
	mutant.Mutant
	seen []seenState
}

func (v verdict) killers() (names []string) {
	for _, s := range v.seen {
		if s.By != "" {
			names = append(names, s.Killer)
		}
	}
	return names
}

// tried builds the mutant and runs every killer against it.
func tried(t *testing.T, builder *mutant.Builder, m mutant.Mutant) verdict {
	m.Flags = nil // killers examine traces, so a detector such as -race does not help them
	ctx, cancel := mutant.InTime(t)
	defer cancel()
	binary, err := builder.Build(ctx, m, "property/killers", t.TempDir())
	require.NoError(t, err)
	v := verdict{Mutant: m}
	for _, k := range killers {
		seen, err := shown(ctx, binary, k, true)
		require.NoError(t, err, "%s, shown to %s", m.Name, k.name)
		v.seen = append(v.seen, seen)
	}
	return v
}

// shown runs one killer in a process of its own, because a mutant may end the process, or never
// end.
func shown(ctx context.Context, binary string, k killer, whole bool) (seenState, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	begun := time.Now()
	run := exec.CommandContext(ctx, binary, "-test.run", "^TestTheEngineStands$/^"+k.name+"$", fmt.Sprintf("-whole=%t", whole))
	out, err := run.CombinedOutput()
	if at := bytes.Index(out, []byte(`{"killer":`)); at >= 0 {
		var seen seenState
		err := json.NewDecoder(bytes.NewReader(out[at:])).Decode(&seen)
		return seen, err
	}
	seen := seenState{Killer: k.name, Text: string(out), Seconds: time.Since(begun).Seconds()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil || bytes.Contains(out, []byte("all goroutines are asleep")):
		seen.By = "waits for ever"
	case errors.As(err, &exit):
		seen.By = "crashes"
	default:
		return seen, fmt.Errorf("it said nothing: %w\n%s", err, out)
	}
	return seen, nil
}

// standInVariable makes this program behave as a mutant may, in place of a killer.
const standInVariable = "ADKREPLAY_STAND_IN"

// The result of a killer is what its process prints. A process that ends without printing, or that never ends,
// is noticed too.
func TestShown(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for name, want := range map[string]seenState{
		"":       {Killer: "fixtures", Looked: sampleBudget.scenarios},
		"sees":   {Killer: "fixtures", Looked: 3, By: "changed output"},
		"dies":   {Killer: "fixtures", By: "crashes"},
		"sleeps": {Killer: "fixtures", By: "waits for ever"},
	} {
		t.Setenv(standInVariable, name)
		seen, err := shown(t.Context(), self, killers[len(killers)-1], false)
		require.NoError(t, err, name)
		seen.Text, seen.Seconds = "", 0
		assert.Equal(t, want, seen, name)
	}
	t.Setenv(standInVariable, "is silent")
	_, err = shown(t.Context(), self, killers[0], false)
	assert.ErrorContains(t, err, "it said nothing")
}

// standIn behaves as a mutant may, and reports whether the variable asked for that.
func standIn() bool {
	switch os.Getenv(standInVariable) {
	case "sees":
		fmt.Println(`{"killer":"fixtures","looked":3,"by":"changed output","text":"as it was","seconds":0.5}`)
	case "dies":
		os.Exit(3)
	case "sleeps":
		fmt.Println("fatal error: all goroutines are asleep - deadlock!") // what the runtime prints
		os.Exit(2)
	case "is silent":
	default:
		return false
	}
	return true
}

// tableOf returns the table of mutants and killers, with its totals.
func tableOf(verdicts map[string]verdict, left []mutant.Mutant) string {
	var names []string
	for name := range verdicts {
		names = append(names, name)
	}
	slices.Sort(names)
	var text strings.Builder
	text.WriteString("| mutant | what breaks |")
	for _, k := range killers {
		fmt.Fprintf(&text, " %s (%s) |", k.name, k.unit)
	}
	text.WriteString(" first after |\n| --- | --- |" + strings.Repeat(" --- |", len(killers)+1) + "\n")
	alone, slowest, killed := map[string][]string{}, 0.0, 0
	for _, name := range names {
		v := verdicts[name]
		first, seers := v.first(), v.killers()
		fmt.Fprintf(&text, "| %s | %s |%s %s |\n", name, v.Says, v.cells(), first)
		if len(seers) > 0 {
			killed++
		}
		if len(seers) == 1 {
			alone[seers[0]] = append(alone[seers[0]], name)
		}
		for _, s := range v.seen {
			slowest = max(slowest, s.Seconds)
		}
	}
	fmt.Fprintf(&text, "%d mutants, %d killed; the budget of a killer is %d turns, or %d scenarios, and the slowest took %.1f s\n",
		len(names), killed, wholeBudget.turns, wholeBudget.scenarios, slowest)
	for _, k := range killers {
		if of := alone[k.name]; len(of) > 0 {
			fmt.Fprintf(&text, "seen by %s alone: %s\n", k.name, strings.Join(of, ", "))
		}
	}
	if len(left) > 0 {
		text.WriteString("\nleft out, as no trace shows them:\n")
		for _, m := range left {
			fmt.Fprintf(&text, "| %s | %s | %s |\n", m.Name, m.Says, m.Untold)
		}
	}
	return text.String()
}

// cells says for each killer what it found, and after how many of its units.
func (v verdict) cells() string {
	var text strings.Builder
	for _, s := range v.seen {
		switch {
		case s.By == "":
			text.WriteString(" · |")
		case s.Looked == 0:
			fmt.Fprintf(&text, " ✓ %s |", s.By)
		default:
			fmt.Fprintf(&text, " ✓ %d %s |", s.Looked, s.By)
		}
	}
	return text.String()
}

// first returns how long the fastest killer took.
func (v verdict) first() string {
	best := -1.0
	for _, s := range v.seen {
		if s.By != "" && (best < 0 || s.Seconds < best) {
			best = s.Seconds
		}
	}
	if best < 0 {
		return "**survives**"
	}
	return fmt.Sprintf("%.3f s", best)
}
