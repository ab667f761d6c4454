package zoo_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// families returns all families of the zoo.
func families() []family {
	return slices.Concat(keeping, atOnce, control, tools, asking, histories, sharing, services, texts, lasting, odd, strange, production, parts, overlooked, subagents, talking, wellFormed, providers)
}

// row is the result of exploring one family: the agent with the bug, and its twin.
type row struct {
	name              string
	alone             int // entries found without the author's check
	checked           *explore.Exploration
	accused           int // entries against the twin
	foundAt, bugCount int
}

// everything reports whether the environment asks for the whole zoo (ADKREPLAY_ZOO=all).
func everything() bool { return os.Getenv("ADKREPLAY_ZOO") == "all" }

func explored(t *testing.T, s turn.Subject, o explore.Options) *explore.Exploration {
	t.Helper()
	o.Budget = patience.Long
	result, err := explore.Explore(t.Context(), s, o)
	if !assert.NoError(t, err, s.Name) {
		return &explore.Exploration{}
	}
	return result
}

// blocking are the families whose runs block outside the engine most often, so that the explorer dumps
// goroutines most often for them. They are explored first, before other bugs leave goroutines behind.
var blocking = []string{"a WaitGroup that an error forgets", "a lock kept when a wait is cancelled", "a channel that is full when its reader has left"}

// The requirements on the zoo: explore finds half of the bugs without a check and all of them with one
// assertion, in at most three entries each; it accuses no twin; and the line that a violation ends with
// fails for the bug and passes for the twin. The twins are explored first, because goroutines that the
// bugs leave behind for ever show up in every goroutine dump of later runs. A normal run explores only a
// part of the families, and checks only the requirements on each one, not those on the totals.
func TestZoo(t *testing.T) {
	all := families()
	every := thorough.All() || everything()
	if !every {
		var some []family
		for i := 0; i < len(all); i += thorough.Of(1, 4, 8) {
			some = append(some, all[i])
		}
		all = some
	}
	accused := map[string]int{}
	for _, f := range all {
		t.Run("twin of "+f.name, func(t *testing.T) { accused[f.name] = f.exploreTwin(t) })
	}
	var rows []row
	slices.SortStableFunc(all, func(a, b family) int { return slices.Index(blocking, b.name) - slices.Index(blocking, a.name) })
	for _, f := range all {
		t.Run(f.name, func(t *testing.T) {
			r := f.exploreBug(t)
			r.accused = accused[f.name]
			rows = append(rows, r)
		})
	}
	if !every || len(accused) < len(all) || len(rows) < len(all) {
		return // -run selected only some families
	}
	alone, checked := 0, 0
	for _, r := range rows {
		if r.alone > 0 {
			alone++
		}
		if len(r.checked.Violations) > 0 {
			checked++
		}
	}
	t.Logf("\n%s", table(rows))
	page, err := os.ReadFile("../../docs/explore.md")
	assert.NoError(t, err)
	for _, line := range figures(rows, alone, checked) {
		assert.True(t, strings.Contains(string(page), line), "docs/explore.md quotes the zoo: %s", line)
	}
	assert.GreaterOrEqual(t, len(all), 60)
	assert.GreaterOrEqual(t, 2*alone, len(all), "half are found by oracles alone")
	assert.Equal(t, len(all), checked, "all are found with one assertion")
}

// exploreBug explores the agent with the bug and its check, and checks the requirements on this family.
func (f family) exploreBug(t *testing.T) row {
	r := row{name: f.name}
	bug, twin := f.subject(true, true), f.subject(false, true)
	one := explore.Options{Free: -1} // the bug may be a data race, which the race detector would report against this test
	r.checked = explored(t, bug, one)
	for _, b := range r.checked.Violations {
		if b.Invariant != "the check given" {
			r.alone++
		}
	}
	assert.Equal(t, f.oracle, r.alone > 0, "found by oracles alone: %s", r.checked)
	if everything() { // without the check, explore finds the same violations
		assert.Len(t, explored(t, f.subject(true, false), one).Violations, r.alone)
	}
	if assert.NotEmpty(t, r.checked.Violations, "not found") {
		r.foundAt, r.bugCount = r.checked.Violations[0].Found, len(r.checked.Violations)
	}
	assert.LessOrEqual(t, r.bugCount, 3, "entries for one bug: %s", r.checked)
	for _, b := range r.checked.Violations {
		assert.True(t, fails(t, bug, b), "%s does not reproduce", b.Test)
		assert.False(t, fails(t, twin, b), "%s fails with the twin", b.Test)
		comment, _, _ := strings.Cut(b.GoTest(), "func ")
		isNarrow(t, strings.ReplaceAll(comment, "//\t", inByTab), 80)
	}
	isNarrow(t, r.checked.String(), inGoTest)
	return r
}

// A terminal has 80 columns, and go test indents reports by eight, as wide as a tab.
const (
	inByTab  = "        "
	inGoTest = 80 - len(inByTab)
)

// isNarrow checks that no line of text has more than that many columns. Exempt are commands to paste, and
// single words such as long names and paths, which have a line to themselves.
func isNarrow(t *testing.T, text string, columns int) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		alone := len(strings.Fields(line)) == 1 || safetext.IsCommand(strings.TrimSpace(line))
		assert.True(t, alone || utf8.RuneCountInString(line) <= columns, "%q has %d columns", line, utf8.RuneCountInString(line))
	}
}

// exploreTwin explores the corrected twin with one fault at a time, or with two if the whole zoo is
// asked for, and returns the number of times that it was accused.
func (f family) exploreTwin(t *testing.T) (accused int) {
	bound := 1
	if everything() {
		bound = 2
	}
	result := explored(t, f.subject(false, true), explore.Options{Bound: bound})
	assert.Empty(t, result.Violations, "the twin is accused: %s", result)
	isNarrow(t, result.String(), inGoTest)
	return len(result.Violations)
}

// quiet is a test that counts its failures and prints nothing.
type quiet struct{ failures int }

func (q *quiet) Helper()               {}
func (q *quiet) Logf(string, ...any)   {}
func (q *quiet) Errorf(string, ...any) { q.failures++ }

// fails reports whether the Reproduce line at the end of a violation fails for s.
func fails(t *testing.T, s turn.Subject, b explore.Breach) bool {
	t.Helper()
	var q quiet
	line, found := strings.CutPrefix(b.Test, "explore.Reproduce(t, subject, \"")
	assert.True(t, found, b.Test)
	explore.Reproduce(&q, s, strings.TrimSuffix(line, "\")"))
	return q.failures > 0
}

// figures returns the lines with the zoo's totals that docs/explore.md quotes.
func figures(rows []row, alone, checked int) []string {
	most, accused := 0, 0
	var found []int
	for _, r := range rows {
		most, accused = max(most, r.bugCount), accused+r.accused
		found = append(found, r.foundAt)
	}
	slices.Sort(found)
	return []string{
		fmt.Sprintf("| of %d bugs | |\n", len(rows)),
		fmt.Sprintf("| found by what explore knows of any agent | %d |\n", alone),
		fmt.Sprintf("| found with one assertion of the author's | %d |\n", checked),
		fmt.Sprintf("| schedules until found, in the median | %d |\n", found[len(found)/2]),
		fmt.Sprintf("| entries for one bug of these, at most | %d |\n", most),
		fmt.Sprintf("| twins accused, with one or two things wrong | %d |\n", accused),
	}
}

// table returns the results of the zoo as a Markdown table, with a row for each bug.
func table(rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| bug | by oracles alone | with one assertion | found at schedule | entries | twin accused |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %d |\n", r.name, mark(r.alone), mark(len(r.checked.Violations)), r.foundAt, r.bugCount, r.accused)
	}
	return b.String()
}

func mark(n int) string {
	if n == 0 {
		return "·"
	}
	return "✓"
}
