package compare

import (
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/wire"
)

// addressText matches addresses in texts.
var addressText = regexp.MustCompile(`(\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:.%]+\]|localhost):(\d{1,5})\b`)

// Addresses returns a text with each address replaced by what called returns for its host and port.
func Addresses(text string, called func(host, port string) string) string {
	return addressText.ReplaceAllStringFunc(text, func(address string) string {
		at := strings.LastIndexByte(address, ':')
		return called(address[:at], address[at+1:])
	})
}

// IsLoopback reports whether a host is the local machine, under any of its names.
func IsLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(strings.Trim(host, "[]")).IsLoopback()
}

// DifferInPorts reports whether fields differ in nothing but the addresses of servers on the local
// machine, whose ports the system chooses.
func DifferInPorts(fields []FieldDiff) bool {
	for _, f := range fields {
		if WithoutPorts(f.Want) != WithoutPorts(f.Got) {
			return false
		}
	}
	return len(fields) > 0
}

// WithoutPorts returns a text in which each address on the local machine is "localhost".
func WithoutPorts(text string) string {
	return Addresses(text, func(host, port string) string {
		if IsLoopback(host) {
			return "localhost"
		}
		return host + ":" + port
	})
}

// numbers matches numbers, and placeholders, which contain a number.
var numbers = regexp.MustCompile(wire.Placeholder.String() + `|[0-9]+`)

// DifferInNumbers reports whether fields differ in nothing but the numbers in them. A redacted
// number matches any placeholder of its kind, and it matches 0, since code that gets the value
// again has no number there (redact.Rules).
func DifferInNumbers(fields []FieldDiff) bool {
	return len(fields) > 0 && !slices.ContainsFunc(fields, func(f FieldDiff) bool { return !sameButForNumbers(f.Want, f.Got) })
}

func sameButForNumbers(want, got string) bool {
	if !slices.Equal(numbers.Split(want, -1), numbers.Split(got, -1)) {
		return false
	}
	is := numbers.FindAllString(got, -1)
	for i, was := range numbers.FindAllString(want, -1) {
		before, now := wire.Placeholder.FindStringSubmatch(was), wire.Placeholder.FindStringSubmatch(is[i])
		switch {
		case before != nil && now != nil && before[1] != now[1], before == nil && now != nil, before != nil && now == nil && is[i] != "0":
			return false
		}
	}
	return true
}
