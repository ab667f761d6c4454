package httpform

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// LeftOut stands for a value that is never recorded.
const LeftOut = "left out"

// openSecrets mark a secret anywhere in the name of a header or a parameter.
var openSecrets = []string{"secret", "password", "passwd", "passphrase", "pwd", "credential"}

// secretParts do so only in the name of a header.
var secretParts = []string{"key", "token", "auth", "cookie"}

// IsSecretHeader reports whether the value of a header is never recorded.
func IsSecretHeader(name string) bool {
	name = strings.ToLower(name)
	if name == "access-control-allow-credentials" { // it says whether credentials are allowed
		return false
	}
	within := func(part string) bool { return strings.Contains(name, part) }
	return slices.ContainsFunc(openSecrets, within) || slices.ContainsFunc(secretParts, within)
}

// secretWords mark the name of a parameter as a secret's, if it contains one of them as a word.
var secretWords = slices.Concat(openSecrets, []string{"key", "token", "sig", "signature", "auth", "authorization", "code", "credentials", "assertion",
	"apikey", "secretkey", "privatekey", "accesskey", "accesstoken", "refreshtoken", "sessiontoken", "authtoken", "idtoken", "clientsecret"})

var (
	// plainly are words after which "key" or "token" means a position or a public value, and no
	// secret.
	plainly = []string{"page", "next", "continuation", "sync", "cursor", "start", "evaluated", "sort", "partition", "row", "primary", "foreign", "group", "order", "cache", "public"}
	// ofCodes are words after which "code" means a secret; a country code is none.
	ofCodes = []string{"auth", "authorization", "access", "device"}
)

// IsSecretParameter reports whether the value of a parameter of a query or a form is never
// recorded. In a name of several words that capitals divide, only the last word counts, since such
// names are common for other things; but the words of openSecrets count anywhere.
func IsSecretParameter(name string) bool {
	for _, field := range strings.FieldsFunc(name, isMark) {
		words := wordsIn(field)
		last := len(words) - 1
		switch word := words[last]; {
		case slices.Contains(secretWords, strings.ToLower(field)), slices.ContainsFunc(words, func(word string) bool { return slices.Contains(openSecrets, word) }):
			return true
		case last == 0:
		case word == "code":
			if slices.Contains(ofCodes, words[last-1]) {
				return true
			}
		case word == "key", word == "token":
			if !slices.Contains(plainly, words[last-1]) {
				return true
			}
		case slices.Contains(secretWords, word):
			return true
		}
	}
	return false
}

func isMark(r rune) bool {
	r = unicode.ToLower(r)
	return (r < 'a' || r > 'z') && (r < '0' || r > '9')
}

// wordsIn splits letters and digits at capitals, and returns the words in lower case. A capital
// begins a word after a character that is no capital, and the last of several capitals begins one
// if a lower-case letter follows.
func wordsIn(field string) (words []string) {
	letters, begin := []rune(field), 0
	for i := 1; i < len(letters); i++ {
		behindSmall := !unicode.IsUpper(letters[i-1])
		beforeSmall := i+1 < len(letters) && unicode.IsLower(letters[i+1])
		if unicode.IsUpper(letters[i]) && (behindSmall || beforeSmall) {
			words, begin = append(words, strings.ToLower(string(letters[begin:i]))), i
		}
	}
	return append(words, strings.ToLower(string(letters[begin:])))
}

// idempotency matches a member whose name can only mean such a key, keyed any member by whose value
// a server recognises a repeated request, and credential a member that is left out, which cannot be
// such a key.
var (
	idempotency = regexp.MustCompile(`(?i)("[^"]*(?:idempoten|dedup|request.?id)[^"]*"\s*:\s*)(?:"(?:[^"\\]|\\.)*"|\\"[^"\\]*\\")`)
	keyed       = regexp.MustCompile(`(?i)"[^"]*(idempoten|dedup|request.?id|\bkey\b)[^"]*"\s*:`)
	credential  = regexp.MustCompile(`"[^"]*"\s*:\s*"` + LeftOut + `"`)
)

// HasKey reports whether a request, as JSON, has a member by whose value the server recognises a
// repeated request, which is then executed only once.
func HasKey(request string) bool {
	return keyed.MatchString(credential.ReplaceAllString(request, ""))
}

// WithoutKeys returns a request, as JSON, without the texts of the members that can only be such
// keys, also in a body that is a text. The result is only for comparison and need not be JSON.
func WithoutKeys(request string) string {
	return idempotency.ReplaceAllString(request, `$1""`)
}
