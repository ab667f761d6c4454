package mutant_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/mutant"
)

const text = `It breaks
in two lines.
-- file --
adk/turn.go
-- test --
TestOne TestTwo -race
-- killers --
fixtures model
-- old --
	a
-- new --
	b
`

func TestParse(t *testing.T) {
	m, err := mutant.Parse(mutant.Engine, "RUN-6-late", text)
	require.NoError(t, err)
	assert.Equal(t, mutant.Mutant{Name: "RUN-6-late", Dir: mutant.Engine, Rule: "RUN-6", Says: "It breaks in two lines.", File: "adk/turn.go",
		Tests: []string{"TestOne", "TestTwo"}, Flags: []string{"-race"}, Killers: []string{"fixtures", "model"}, Old: "\ta", New: "\tb"}, m)
	assert.Equal(t, "adk", m.Package())
	m, err = mutant.Parse(mutant.Engine, "RUN-6", "It breaks.\n-- file --\nf\n-- test --\nT\n-- killers --\nnone: it only shows in a text.\n-- old --\na\n-- new --\n")
	require.NoError(t, err)
	assert.Equal(t, "it only shows in a text.", m.Untold)
	assert.Empty(t, m.Killers)
	assert.Empty(t, m.New)
	m, err = mutant.Parse("replay/testdata/mutants", "late", text)
	require.NoError(t, err)
	assert.Empty(t, m.Rule)
	for _, c := range []struct{ dir, name, text string }{
		{mutant.Engine, "late", text},
		{"replay/testdata/mutants", "RUN-6", text},
		{mutant.Engine, "RUN-6", "It breaks.\n-- file --\nf\n-- old --\na\n-- new --\nb\n"},
	} {
		_, err := mutant.Parse(c.dir, c.name, c.text)
		assert.ErrorContains(t, err, "want a file named for its rule", c.name)
	}
}

// If the place in the source that a mutant changes is gone, the error says which file has to be corrected.
func TestSource(t *testing.T) {
	_, err := mutant.All(t.TempDir(), mutant.Engine)
	assert.ErrorContains(t, err, "there are no mutants")
	all, err := mutant.All(treeRoot, mutant.Engine)
	require.NoError(t, err)
	m := all[0]
	source, err := m.Source(treeRoot)
	require.NoError(t, err)
	assert.Contains(t, source, m.New)
	m.New = m.Old
	_, err = m.Source(treeRoot)
	assert.ErrorContains(t, err, "changes nothing")
	m.Old = "no such text"
	_, err = m.Source(treeRoot)
	assert.ErrorContains(t, err, "occurs 0 times in "+m.File+", want once: where the source has changed, change adk/testdata/mutants/"+m.Name+".txt")
}

// The table counts a mutant as killed only if each of its tests fails, and does not count a mutant
// without a verdict.
func TestTable(t *testing.T) {
	of := func(name string) mutant.Mutant {
		return mutant.Mutant{Name: name, Says: "It is " + name + ".", Dir: "replay/testdata/mutants", File: "replay/diff.go"}
	}
	assert.Equal(t, `| mutant | what breaks | noticed by |
| --- | --- | --- |
| replay half | It is half. | **survives** TestB, noticed by TestA |
| replay known | It is known. | TestA, TestB (crashes) |
| replay unbuilt | It is unbuilt. | not tried |
of 3 mutants: 1 killed, 1 survived, 1 not tried
`, mutant.Table([]mutant.Verdict{
		{Mutant: of("unbuilt")},
		{Mutant: of("known"), Seen: []string{"TestA", "TestB (crashes)"}},
		{Mutant: of("half"), Seen: []string{"TestA"}, Missed: []string{"TestB"}},
	}))
}

// A list selects mutants by name, with or without their package, and by rule; ABT-1 does not
// select ABT-10. A name that selects none is an error, so that a mutant that was never built is not
// taken for one that was noticed.
func TestNamed(t *testing.T) {
	all, err := mutant.All(treeRoot, mutant.Engine)
	require.NoError(t, err)
	for list, want := range map[string][]string{
		"RUN-6":               {"RUN-6"},
		"ABT-8":               {"ABT-8", "ABT-8-flushed", "ABT-8-late-ack"},
		"ABT-8-late-ack":      {"ABT-8-late-ack"},
		"adk/ABT-8-late":      {"ABT-8-late-ack"},
		"ABT-1":               {"ABT-1"},
		"RUN-6,ABT-8-flushed": {"ABT-8-flushed", "RUN-6"},
	} {
		named, err := mutant.Named(all, list)
		require.NoError(t, err, list)
		var names []string
		for _, m := range named {
			names = append(names, m.Name)
		}
		assert.ElementsMatch(t, want, names, list)
	}
	named, err := mutant.Named(all, "all")
	require.NoError(t, err)
	assert.Len(t, named, len(all))
	for _, list := range []string{"", "RUN-6,", "RUN-6,no-such", "replay/RUN-6"} {
		_, err := mutant.Named(all, list)
		assert.ErrorContains(t, err, "no mutant is named", list)
	}
}
