package httpform

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// LeftOut stands for a value that is never told.
const LeftOut = "left out"

// openSecrets name a secret wherever they stand in the name of a header or a parameter.
var openSecrets = []string{"secret", "password", "passwd", "passphrase", "pwd", "credential"}

// secretParts do so in that of a header alone.
var secretParts = []string{"key", "token", "auth", "cookie"}

// IsSecretHeader reports whether the value of a header is never told.
func IsSecretHeader(name string) bool {
	name = strings.ToLower(name)
	if name == "access-control-allow-credentials" { // it says whether there may be any
		return false
	}
	within := func(part string) bool { return strings.Contains(name, part) }
	return slices.ContainsFunc(openSecrets, within) || slices.ContainsFunc(secretParts, within)
}

// secretWords make the name of a parameter a secret's, where one of its words is one.
var secretWords = slices.Concat(openSecrets, []string{"key", "token", "sig", "signature", "auth", "authorization", "code", "credentials", "assertion",
	"apikey", "secretkey", "privatekey", "accesskey", "accesstoken", "refreshtoken", "sessiontoken", "authtoken", "idtoken", "clientsecret"})

var (
	// plainly are words behind which a key or a token in capitals is one of a page or a place in it.
	plainly = []string{"page", "next", "continuation", "sync", "cursor", "start", "evaluated", "sort", "partition", "row", "primary", "foreign", "group", "order", "cache", "public"}
	// ofCodes are those behind which such a code is a secret, as a country's is not.
	ofCodes = []string{"auth", "authorization", "access", "device"}
)

// IsSecretParameter reports whether the value of a parameter, of a query or a form, is never
// told. Of words that capitals divide, which name much else, it looks at the last, but for
// openSecrets.
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

// wordsIn are the words of letters and digits that capitals divide, in small letters: a capital
// begins one behind what is none, and the last of several before a small letter does.
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
