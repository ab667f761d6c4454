package jsonpointer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/jsonpointer"
)

func TestNamesReadWhatEscapeWrites(t *testing.T) {
	pointers := map[string]string{}
	for _, name := range []string{"", "a", "a/b", "a~1b", "a~01b", "~", "/", "~~//", "0"} {
		pointer := "/" + jsonpointer.Escape(name)
		assert.Equal(t, []string{name}, jsonpointer.Names(pointer), pointer)
		assert.Equal(t, []string{"x", name, "y"}, jsonpointer.Names("/x"+pointer+"/y"), pointer)
		assert.NotContains(t, pointers, pointer, "%q and %q", name, pointers[pointer])
		pointers[pointer] = name
	}
	assert.Equal(t, "a~1b", jsonpointer.Escape("a/b"))
	assert.Equal(t, "a~01b", jsonpointer.Escape("a~1b"))
	assert.Empty(t, jsonpointer.Names(""))
}
