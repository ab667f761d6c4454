package httpform_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/httpform"
)

// A request is known again by a member that says so by its name; who asks is none.
func TestHasKey(t *testing.T) {
	for member, want := range map[string]bool{"Idempotency-Key": true, "request_id": true, "requestId": true, "key": true, "dedup": true, "monkey": false, "keyboard": false, "to": false} {
		assert.Equal(t, want, httpform.HasKey(`{"`+member+`":"k"}`), member)
	}
	assert.False(t, httpform.HasKey(`{"method":"POST","path":"/refunds","query":{"key":"left out"},"body":{"to":"Ada"}}`))
	assert.True(t, httpform.HasKey(`{"method":"POST","path":"/refunds","query":{"key":"left out"},"body":{"request_id":"r1"}}`))
}
