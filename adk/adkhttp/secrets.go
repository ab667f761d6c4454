package adkhttp

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/adkreplay/adkreplay/internal/httpform"
)

// This file says what of a request or an answer is never told.

// unheldRequestHeader reports whether a header, in small letters, is none to tell: a
// secret, what is another one on each machine and each time, and what follows from the
// body, whose hash is another one too where an id in it is.
func unheldRequestHeader(name string) bool {
	switch name {
	case "user-agent", "traceparent", "tracestate", "baggage", "content-length", "x-request-id", "x-client-request-id", "x-server-timeout", "amz-sdk-invocation-id",
		"x-amz-content-sha256", "content-md5", "digest", "content-digest":
		return true
	}
	return httpform.IsSecretHeader(name) || isOfSigning(name) || strings.HasPrefix(name, "x-stainless-") || strings.HasPrefix(name, "x-b3-") || strings.HasPrefix(name, "idempotency")
}

// idempotencyKey is the key by which a server knows a request again; empty where there is none. Neither
// of its headers is told: one is another each time, and the other is named as a secret is.
func idempotencyKey(headers http.Header) string {
	return cmp.Or(headers.Get("Idempotency-Key"), headers.Get("X-Idempotency-Key"))
}

// isOfSigning reports whether a header, in small letters, signs a request, or is when it was
// signed, or what keeps two of them apart.
func isOfSigning(name string) bool {
	switch name {
	case "date", "x-date", "x-amz-date", "x-ms-date", "x-goog-date", "x-acs-date":
		return true
	}
	return strings.Contains(name, "signature") || strings.HasSuffix(name, "timestamp") || strings.HasSuffix(name, "nonce")
}

// unheldAnswerHeader is unheldRequestHeader for an answer. Challenges are no secrets,
// and clients act on them.
func unheldAnswerHeader(name string) bool {
	switch name {
	case "www-authenticate", "proxy-authenticate":
		return false
	case "date", "age", "expires", "server-timing", "x-envoy-upstream-service-time", "alt-svc":
		return true
	}
	return httpform.IsSecretHeader(name) || strings.Contains(name, "ratelimit") || strings.HasSuffix(name, "processing-ms")
}

// withoutSecrets is a URL without the values of its query that are never told.
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

// isForm reports whether a body has the form of a query.
func isForm(req *http.Request) bool {
	kind, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded")
}

// leftOutOfForm is httpform.LeftOut within a text, in which the patterns of a redaction look for values
// behind such names: it is too short to be one.
const leftOutOfForm = "…"

// formWithoutSecrets is a form without the values that are never told; all else is as it was
// written. Who asks for a token sends a secret in it, or what was signed at this very moment.
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
