package wire_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/wire"
)

// Each text has its own place, whatever the names of the members are.
func TestTextsHavePlacesOfTheirOwn(t *testing.T) {
	places := map[string]string{}
	require.NoError(t, wire.EachText([]byte(`{"a":{"b":"1"},"a/b":"2","a~1b":"3","l":["4",{"~":"5"}]}`), "", func(place, text string) { places[place] = text }))
	assert.Equal(t, map[string]string{"/a/b": "1", "/a~1b": "2", "/a~01b": "3", "/l/0": "4", "/l/1/~0": "5"}, places)
}
