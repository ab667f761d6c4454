package httpform

import (
	"regexp"
	"slices"
	"strings"
)

// LeftOut stands for a value that is never told.
const LeftOut = "left out"

// secretParts make the name of a header a secret's, wherever in it they stand.
var secretParts = []string{"key", "token", "secret", "auth", "cookie"}

// IsSecretHeader reports whether the value of a header is never told.
func IsSecretHeader(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(name, part) })
}

// secretWords make the name of a parameter a secret's, where one of its words is one.
var secretWords = []string{"key", "apikey", "token", "secret", "sig", "signature", "auth", "authorization", "code", "password", "credential", "assertion"}

// IsSecretParameter reports whether the value of a parameter, of a query or a form, is never
// told.
func IsSecretParameter(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(secretWords, word) })
}

// keyed is a member by whose value who is asked knows a request again, and credential one that is said to
// be left out: who asks is no key of what is asked.
var (
	idempotency = regexp.MustCompile(`(?i)("[^"]*(?:idempoten|dedup|request.?id)[^"]*"\s*:\s*)(?:"(?:[^"\\]|\\.)*"|\\"[^"\\]*\\")`)
	keyed       = regexp.MustCompile(`(?i)"[^"]*(idempoten|dedup|request.?id|\bkey\b)[^"]*"\s*:`)
	credential  = regexp.MustCompile(`"[^"]*"\s*:\s*"` + LeftOut + `"`)
)

// HasKey reports whether a request, as JSON, has a member by whose value who is asked knows it again: what
// has the same is done once.
func HasKey(request string) bool {
	return keyed.MatchString(credential.ReplaceAllString(request, ""))
}

// WithoutKeys is a request, as JSON, without the texts of those of its members that are named as
// nothing but such a key, in a body that is a text as well: to be compared, and no JSON any more.
func WithoutKeys(request string) string {
	return idempotency.ReplaceAllString(request, `$1""`)
}
