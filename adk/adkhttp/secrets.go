package adkhttp

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/adkreplay/adkreplay/internal/httpform"
)

// This file says which parts of a request or an answer are never recorded.

// unheldRequestHeader reports whether a header, whose name is in lowercase, is not recorded:
// secrets, values that differ on each machine or each time, and values derived from the body, since
// a hash changes with every id in the body.
func unheldRequestHeader(name string) bool {
	switch name {
	case "user-agent", "traceparent", "tracestate", "baggage", "content-length", "x-request-id", "x-client-request-id", "x-server-timeout", "amz-sdk-invocation-id",
		"x-amz-content-sha256", "content-md5", "digest", "content-digest":
		return true
	}
	return httpform.IsSecretHeader(name) || isOfSigning(name) || strings.HasPrefix(name, "x-stainless-") || strings.HasPrefix(name, "x-b3-") || strings.HasPrefix(name, "idempotency")
}

// idempotencyKey returns the key by which a server recognizes a repeated request; empty if there is
// none. Neither of its headers is recorded: one differs each time, and the other has the name of a
// secret.
func idempotencyKey(headers http.Header) string {
	return cmp.Or(headers.Get("Idempotency-Key"), headers.Get("X-Idempotency-Key"))
}

// isOfSigning reports whether a header, whose name is in lowercase, belongs to the signing of a
// request: a signature, its time, or a nonce.
func isOfSigning(name string) bool {
	switch name {
	case "date", "x-date", "x-amz-date", "x-ms-date", "x-goog-date", "x-acs-date":
		return true
	}
	return strings.Contains(name, "signature") || strings.HasSuffix(name, "timestamp") || strings.HasSuffix(name, "nonce")
}

// unheldAnswerHeader is unheldRequestHeader for an answer. Challenges are recorded: they are no
// secrets, and clients act on them.
func unheldAnswerHeader(name string) bool {
	switch name {
	case "www-authenticate", "proxy-authenticate":
		return false
	case "date", "age", "expires", "server-timing", "x-envoy-upstream-service-time", "alt-svc":
		return true
	}
	return httpform.IsSecretHeader(name) || strings.Contains(name, "ratelimit") || strings.HasSuffix(name, "processing-ms")
}

// withoutSecrets returns a URL without its user and without the secret values of its query.
func withoutSecrets(text string) string {
	to, err := url.Parse(text)
	if err != nil {
		return httpform.LeftOut
	}
	to.User = nil
	query, err := url.ParseQuery(to.RawQuery)
	changed := err != nil
	for name := range query {
		if httpform.IsSecretParameter(name) {
			query[name], changed = []string{httpform.LeftOut}, true
		}
	}
	if changed {
		to.RawQuery = query.Encode()
	}
	return to.String()
}

// isForm reports whether the body of a request is a form, encoded like a query.
func isForm(req *http.Request) bool {
	kind, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded")
}

// leftOutOfForm replaces httpform.LeftOut within a text. The patterns of a redaction look for
// values behind secret names; this one is too short to match.
// behind such names: it is too short to be one.
const leftOutOfForm = "…"

// formWithoutSecrets returns a form without its secret values and otherwise unchanged. A request
// for a token, for example, carries a secret in its form, or a text that was signed just now.
func formWithoutSecrets(text string) string {
	fields := strings.Split(text, "&")
	for i, field := range fields {
		written, _, _ := strings.Cut(field, "=")
		if name, err := url.QueryUnescape(written); err != nil || httpform.IsSecretParameter(name) {
			fields[i] = written + "=" + leftOutOfForm
		}
	}
	return strings.Join(fields, "&")
}
