package yamltree_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/adk/internal/yamltree"
)

// ART-18: keys keep their order, times and unusual keys become texts, and digits are kept.
func TestRead(t *testing.T) {
	value, err := yamltree.Read("b: 2026-01-02\na: {1: x, [y]: 9007199254740993}\n", 10)
	require.NoError(t, err)
	assert.Equal(t, `{"b":"2026-01-02","a":{"1":"x","[\"y\"]":9007199254740993}}`, jsontree.Text(value))
	value, err = yamltree.Read("", 10)
	require.NoError(t, err)
	assert.Nil(t, value)
	for text, line := range map[string]string{
		"a: [": "line 1: ", "\tx: 1": "line 1: ", "a: 1\n---\nb: 2": "line 2: ", "&a [*a]": "line 1: ", "<<: 1": "line 1: ",
		"a: 1\nb: 2\na: 3": "line 3: ", "- {x: 1, 'x': 2}": "line 1: ", strings.Repeat("[", 13) + strings.Repeat("]", 13): "line 1: ",
	} {
		_, err := yamltree.Read(text, 10)
		if assert.Error(t, err, text) {
			assert.Equal(t, line, err.Error()[:len(line)], text)
		}
	}
}

// BAT-4: text whose tree would take hundreds of bytes for each of its bytes is refused before it is parsed.
func TestSmallValuesWithoutEnd(t *testing.T) {
	for _, text := range []string{strings.Repeat("- a: b\n", 140_000), strings.Repeat("a: b\n", 200_000), strings.Repeat("? a\n", 249_000), "[" + strings.Repeat("1,", 400_000) + "1]", strings.Repeat("[", 400_000), "[" + strings.Repeat(`{"a":1},`, 99_999) + "1]"} {
		_, err := yamltree.Read(text, 10)
		assert.ErrorContains(t, err, "more than 250000 signs", text[:10])
	}
	value, err := yamltree.Read(`text: "`+strings.Repeat("well: said, ", 50_000)+`"`, 10)
	require.NoError(t, err)
	assert.NotNil(t, value)
}
