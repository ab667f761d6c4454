package unescaped

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMarshalLeavesMarkupAlone(t *testing.T) {
	text, err := Marshal(map[string]any{"b": "<a href='?x&y'>", "a": []int{1}})
	require.NoError(t, err)
	assert.Equal(t, `{"a":[1],"b":"<a href='?x&y'>"}`, string(text), "one line, with no end of line")
	_, err = Marshal(func() {})
	assert.Error(t, err)
}
