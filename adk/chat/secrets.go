package chat

import (
	"encoding/base64"
	"slices"
	"strings"
)

// leastSecret is how long a secret is at least. A shorter one stands in many words by chance,
// and the version of a protocol, which a header with such a name may say, in every number.
const leastSecret = 8

// secretsOf are what a server can repeat of a header that is a secret (REQ-22): all of it,
// what stands behind the scheme, a password in there, and each value of a cookie.
func secretsOf(name, value string) []string {
	all := []string{value}
	switch strings.ToLower(name) {
	case "cookie", "set-cookie":
		for pair := range strings.SplitSeq(value, ";") {
			_, one, _ := strings.Cut(pair, "=")
			all = append(all, strings.Trim(strings.TrimSpace(one), `"`))
		}
	default:
		scheme, credentials, has := strings.Cut(strings.TrimSpace(value), " ")
		if !has {
			break
		}
		all = append(all, credentials)
		if pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(credentials)); err == nil && strings.EqualFold(scheme, "Basic") {
			_, password, _ := strings.Cut(string(pair), ":")
			all = append(all, password)
		}
	}
	return all
}

// toldNowhere are the secrets that are looked for: as they are sent, without white space
// around them, the longest first, since one may be a part of another.
func toldNowhere(given []string) (secrets []string) {
	for _, one := range given {
		if one = strings.TrimSpace(one); len(one) >= leastSecret && !slices.Contains(secrets, one) {
			secrets = append(secrets, one)
		}
	}
	slices.SortFunc(secrets, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return secrets
}
