package oddtext_test

import (
	"encoding/json"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/property/internal/oddtext"
)

// With appends words to a text. If the text is JSON, it puts them into a string of it, so that it stays JSON.
func TestWith(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "\nWell.",
		"It rains.":                   "It rains.\nWell.",
		`"It rains."`:                 `"It rains. Well."`,
		`{"of":"Oslo","said":"Rain"}`: `{"of":"Oslo Well.","said":"Rain"}`,
		`{"a long name":"x"}`:         `{"a long name":"x Well."}`,
		`["a \"quote\"", "short"]`:    `["a \"quote\" Well.", "short"]`,
		`{"n":12}`:                    `{"n":12}`,
		`[1,null]`:                    `[1,null]`,
	} {
		got := oddtext.With(text, oddtext.Plain)
		assert.Equal(t, want, got)
		assert.Equal(t, json.Valid([]byte(text)), json.Valid([]byte(got)), got)
	}
}

// The odd texts are unusual but possible input: valid text, and each one only once.
func TestTexts(t *testing.T) {
	for _, all := range [][]string{oddtext.Messages, oddtext.Said, oddtext.Prompts} {
		for _, text := range all {
			assert.True(t, utf8.ValidString(text), text)
		}
		assert.Len(t, slices.Compact(slices.Sorted(slices.Values(all))), len(all))
	}
	assert.Greater(t, len(oddtext.Long), 30_000)
}
