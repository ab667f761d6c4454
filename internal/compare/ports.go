package compare

import (
	"net"
	"regexp"
	"slices"
	"strings"
)

// addressText finds addresses in texts.
var addressText = regexp.MustCompile(`(\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:.%]+\]|localhost):(\d{1,5})\b`)

// Addresses is a text whose addresses stand as called says: hosts with their ports.
func Addresses(text string, called func(host, port string) string) string {
	return addressText.ReplaceAllStringFunc(text, func(address string) string {
		at := strings.LastIndexByte(address, ':')
		return called(address[:at], address[at+1:])
	})
}

// IsLoopback reports whether a host is the machine itself, by whichever of its names.
func IsLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(strings.Trim(host, "[]")).IsLoopback()
}

// DifferInPorts reports whether fields differ in nothing but the addresses of servers on the
// machine itself, whose ports the system chooses.
func DifferInPorts(fields []FieldDiff) bool {
	for _, f := range fields {
		if withoutPorts(f.Want) != withoutPorts(f.Got) {
			return false
		}
	}
	return len(fields) > 0
}

func withoutPorts(text string) string {
	return Addresses(text, func(host, port string) string {
		if IsLoopback(host) {
			return "localhost"
		}
		return host + ":" + port
	})
}

var numbers = regexp.MustCompile(`[0-9]+`)

// DifferInNumbers reports whether fields differ in nothing but the numbers in them.
func DifferInNumbers(fields []FieldDiff) bool {
	return len(fields) > 0 && !slices.ContainsFunc(fields, func(f FieldDiff) bool {
		return numbers.ReplaceAllString(f.Want, "0") != numbers.ReplaceAllString(f.Got, "0")
	})
}
