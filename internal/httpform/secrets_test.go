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

// A request without its keys is the same for each of them, as JSON and as a text in one; a member
// that may name something else stays.
func TestWithoutKeys(t *testing.T) {
	for request, want := range map[string]string{
		`{"to":"Ada","request_id":"a-1"}`:                 `{"to":"Ada","request_id":""}`,
		`{"Idempotency-Key" : "say \"a\"","to":"Ada"}`:    `{"Idempotency-Key" : "","to":"Ada"}`,
		`{"body":"{\"dedupId\":\"a-1\",\"to\":\"Ada\"}"}`: `{"body":"{\"dedupId\":"",\"to\":\"Ada\"}"}`,
		`{"key":"a-1","value":"b"}`:                       `{"key":"a-1","value":"b"}`,
		`{"request_id":7,"note":"request_id: \"a\""}`:     `{"request_id":7,"note":"request_id: \"a\""}`,
	} {
		assert.Equal(t, want, httpform.WithoutKeys(request))
	}
}
