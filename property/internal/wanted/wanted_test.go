package wanted

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Two ids that are the same float64 still belong to two customers: numbers are compared as they are spelled.
func TestMembersAreNumbersAsTheyAreSpelled(t *testing.T) {
	one := What{Request: []byte(`{"user":175928847299117063,"first":true}`)}.Members()
	other := What{Request: []byte(`{"user":175928847299117064}`)}.Members()
	assert.Equal(t, map[string]string{"user": "175928847299117063", "first": "true"}, one)
	assert.Equal(t, map[string]string{"user": "175928847299117064"}, other)
	assert.Empty(t, What{Request: []byte(`{"user":`)}.Members())
}
