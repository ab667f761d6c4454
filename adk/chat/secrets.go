package chat

import (
	"encoding/base64"
	"slices"
	"strings"
)

// leastSecret is the least length of a secret that is looked for. A shorter one occurs in many
// words by chance: for example, a header whose name sounds like a secret may hold a protocol
// version, which occurs in many numbers.
const leastSecret = 8

// secretsOf returns what a server may repeat of a secret header (REQ-22): all of it, the part after
// the scheme, the password in it, and each value of a cookie.
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

// toldNowhere returns the secrets to look for: without surrounding white space, the longest first,
// because one may be a part of another.
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
