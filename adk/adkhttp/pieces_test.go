package adkhttp

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/adkreplay/adkreplay/internal/draws"
	"github.com/adkreplay/adkreplay/internal/httpform"
)

// somethingLike draws bytes that resemble events and lines.
func somethingLike(t *rapid.T) []byte {
	part := rapid.SampledFrom([]string{"\n", "\r\n", "\r", "data: ", "event: ", "data:", ": x", `{"a":1.0}`, `{ "a":1}`, "[DONE]", `"x"`, "\xff", "é", "id: 1", "{}", "[]", " "})
	var all []byte
	for _, one := range rapid.SliceOfN(part, 1, 12).Draw(t, "parts") {
		all = append(all, one...)
	}
	return all
}

// WLD-2: a piece gives back its bytes exactly, whatever they are and in whichever form they are held.
func TestPiecesComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.SampledFrom([]httpform.Form{httpform.Whole, httpform.Events, httpform.Lines}).Draw(t, "form")
		data := somethingLike(t)
		raw := httpform.PieceOf(form, data).JSON()
		require.True(t, json.Valid(raw), "%s", raw)
		back, err := httpform.ReadPiece(raw)
		require.NoError(t, err)
		assert.Equal(t, string(data), string(back.Bytes()), "%s", raw)
	})
	_, err := httpform.ReadPiece(json.RawMessage(`[]`))
	assert.ErrorContains(t, err, "no piece")
}

// pieces cuts data that arrives in portions.
func pieces(form httpform.Form, portions ...[]byte) (all []string) {
	s, piece := httpform.Splitter{Form: form}, ""
	for _, data := range portions {
		for end := s.End(data); end >= 0; end = s.End(data) {
			all, piece, data = append(all, piece+string(data[:end])), "", data[end:]
		}
		piece += string(data)
	}
	if piece != "" {
		all = append(all, piece)
	}
	return all
}

// WLD-4: the pieces of a body do not depend on how the network cut it.
func TestPiecesDoNotDependOnPortions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.SampledFrom([]httpform.Form{httpform.Events, httpform.Lines}).Draw(t, "form")
		data := somethingLike(t)
		var portions [][]byte
		for rest := data; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			portions = append(portions, rest[:n])
			rest = rest[n:]
		}
		assert.Equal(t, pieces(form, data), pieces(form, portions...))
	})
	assert.Equal(t, []string{"data: a\n\n", "data: b\r\n\r\n", "data: c\r\r", "data: d"}, pieces(httpform.Events, []byte("data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d")))
	assert.Equal(t, []string{"a\n", "\n", "b"}, pieces(httpform.Lines, []byte("a\n\nb")))
}

// WLD-7: IsSecretParameter recognizes names of secrets, and no others.
func TestSecretNames(t *testing.T) {
	for _, name := range []string{"key", "api_key", "api-key", "X-Goog-Signature", "sig", "access_token", "code", "client.secret", "client_assertion"} {
		assert.True(t, httpform.IsSecretParameter(name), name)
	}
	for _, name := range []string{"keyword", "q", "monkey", "encoding", "authority"} {
		assert.False(t, httpform.IsSecretParameter(name), name)
	}
	assert.Equal(t, "https://x.example/p?a=1&token=left+out", withoutSecrets("https://user:pw@x.example/p?token=abc&a=1"))
	assert.Equal(t, "/p?a=b%20c", withoutSecrets("/p?a=b%20c"))
	assert.Equal(t, httpform.LeftOut, withoutSecrets("http://[::1"))
	assert.Equal(t, "grant_type=a%3Ab&client%5fsecret=…&scope=x&&%zz=…&token=…&q=a=b", formWithoutSecrets("grant_type=a%3Ab&client%5fsecret=s3cr3t&scope=x&&%zz=1&token&q=a=b"))
	assert.True(t, unheldRequestHeader("openai-api-key"))
	assert.True(t, unheldRequestHeader("idempotency-key"))
	assert.True(t, unheldRequestHeader("x-idempotency-key"))
	for range 20 { // map order must not matter
		assert.Equal(t, "k1", idempotencyKey(http.Header{"Idempotency-Expiry": {"soon"}, "Idempotency-Key": {"k1"}, "X-Idempotency-Key": {"k2"}}))
	}
	assert.Equal(t, "k2", idempotencyKey(http.Header{"X-Idempotency-Key": {"k2"}}))
	assert.Empty(t, idempotencyKey(http.Header{"X-Api-Key": {"secret"}}))
	for _, name := range []string{"x-amz-date", "date", "x-amz-content-sha256", "amz-sdk-invocation-id", "signature-input", "x-hub-signature-256", "x-timestamp", "x-nonce"} {
		assert.True(t, unheldRequestHeader(name), name)
	}
	for _, name := range []string{"openai-beta", "x-effective-date", "amz-sdk-request", "if-unmodified-since"} {
		assert.False(t, unheldRequestHeader(name), name)
	}
	assert.False(t, unheldAnswerHeader("www-authenticate"))
	assert.True(t, unheldAnswerHeader("x-ratelimit-limit-requests"))
}
