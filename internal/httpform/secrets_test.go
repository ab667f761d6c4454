package httpform_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/httpform"
)

// WLD-7: the words of a parameter's name decide whether it is secret, whether marks or capitals separate them.
func TestIsSecretParameter(t *testing.T) {
	for _, name := range []string{"key", "api_key", "api-key", "apiKey", "APIKey", "X-Goog-Signature", "sig", "access_token", "code", "client.secret", "client_assertion",
		"accessToken", "clientSecret", "sessionToken", "authToken", "OAuthToken", "subscriptionKey", "subscription-key", "refreshToken", "userPassword", "passwordConfirmation",
		"passwd", "passphrase", "pwd", "credentials", "user[newPassword]", "accesstoken", "ACCESSTOKEN", "access2Token", "authCode", "code_verifier",
		"page_token", "country_code", "sort_key"} { // no secrets, but traces leave their values out
		assert.True(t, httpform.IsSecretParameter(name), name)
	}
	for _, name := range []string{"keyword", "q", "monkey", "encoding", "authority", "tokens", "max_tokens", "maxTokens", "tokenCount", "keyName", "authType",
		"pageToken", "nextPageToken", "nextToken", "continuationToken", "syncToken", "sortKey", "exclusiveStartKey", "partitionKey", "languageCode", "statusCode",
		"secretary", "passwordless", "compass", "unauthorized", "design", ""} {
		assert.False(t, httpform.IsSecretParameter(name), name)
	}
}

// REQ-22: a header is secret if any word of its name is one of a secret.
func TestIsSecretHeader(t *testing.T) {
	for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "openai-api-key", "X-Auth-Token", "X-Password", "X-Pwd", "X-Passwd", "Passphrase", "Credential", "X-Amz-Credentials"} {
		assert.True(t, httpform.IsSecretHeader(name), name)
	}
	for _, name := range []string{"Accept", "Content-Type", "Access-Control-Allow-Credentials", "Upgrade-Insecure-Requests"} {
		assert.False(t, httpform.IsSecretHeader(name), name)
	}
}

// A request has an idempotency key if a member's name says so. An API key that identifies the caller does not count.
func TestHasKey(t *testing.T) {
	for member, want := range map[string]bool{"Idempotency-Key": true, "request_id": true, "requestId": true, "key": true, "dedup": true, "monkey": false, "keyboard": false, "to": false} {
		assert.Equal(t, want, httpform.HasKey(`{"`+member+`":"k"}`), member)
	}
	assert.False(t, httpform.HasKey(`{"method":"POST","path":"/refunds","query":{"key":"left out"},"body":{"to":"Ada"}}`))
	assert.True(t, httpform.HasKey(`{"method":"POST","path":"/refunds","query":{"key":"left out"},"body":{"request_id":"r1"}}`))
}

// Without its keys, a request is the same for each key, in JSON and in a text within JSON. A member that may mean
// something else is kept.
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
