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
	m, err := mutant.Parse("RUN-6-late", text)
	require.NoError(t, err)
	assert.Equal(t, mutant.Mutant{Name: "RUN-6-late", Rule: "RUN-6", Says: "It breaks in two lines.", File: "adk/turn.go",
		Tests: []string{"TestOne", "TestTwo"}, Flags: []string{"-race"}, Killers: []string{"fixtures", "model"}, Old: "\ta", New: "\tb"}, m)
	m, err = mutant.Parse("RUN-6", "It breaks.\n-- file --\nf\n-- test --\nT\n-- killers --\nnone: it only shows in a text.\n-- old --\na\n-- new --\n")
	require.NoError(t, err)
	assert.Equal(t, "it only shows in a text.", m.Untold)
	assert.Empty(t, m.Killers)
	assert.Empty(t, m.New)
	for name, text := range map[string]string{"late": text, "RUN-6": "It breaks.\n-- file --\nf\n-- old --\na\n-- new --\nb\n"} {
		_, err := mutant.Parse(name, text)
		assert.ErrorContains(t, err, "want a file named for its rule", name)
	}
}

// A mutant whose place in the source is gone says which file is to be mended.
func TestSource(t *testing.T) {
	_, err := mutant.All(t.TempDir())
	assert.ErrorContains(t, err, "there are no mutants")
	all, err := mutant.All("../..")
	require.NoError(t, err)
	m := all[0]
	source, err := m.Source("../..")
	require.NoError(t, err)
	assert.Contains(t, source, m.New)
	m.Old = "no such text"
	_, err = m.Source("../..")
	assert.ErrorContains(t, err, "occurs 0 times in "+m.File+", want once: where the source has changed, change adk/testdata/mutants/"+m.Name+".txt")
}
