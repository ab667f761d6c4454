package wanted

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Two ids that no float64 tells apart are those of two customers.
func TestMembersAreNumbersAsTheyAreSpelled(t *testing.T) {
	one := What{Request: []byte(`{"user":175928847299117063,"first":true}`)}.Members()
	other := What{Request: []byte(`{"user":175928847299117064}`)}.Members()
	assert.Equal(t, map[string]string{"user": "175928847299117063", "first": "true"}, one)
	assert.Equal(t, map[string]string{"user": "175928847299117064"}, other)
	assert.Empty(t, What{Request: []byte(`{"user":`)}.Members())
}
