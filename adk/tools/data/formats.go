package data

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// knownFormat is a form that a text can have.
type knownFormat struct {
	name, label string
	fits        func(string) bool
}

func pattern(expression string) func(string) bool {
	return regexp.MustCompile(`\A(?:` + expression + `)\z`).MatchString
}

// formats are the forms, in the order of the schema.
var formats = []knownFormat{
	{"email", "email address", pattern(`[A-Za-z0-9.!#$%&'*+/=?^_{|}~` + "`" + `-]+@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)+`)},
	{"uuid", "UUID", pattern(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)},
	{"ipv4", "IPv4 address", func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() }},
	{"iso_date", "ISO date", func(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil }},
	{"iso_datetime", "ISO date-time", isoDateTime},
	{"hex_color", "hex color", pattern(`#(?:[0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})`)},
	{"phone_e164", "E.164 phone number", pattern(`\+[1-9]\d{1,14}`)},
	{"semver", "semantic version", pattern(`(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?`)},
	{"integer", "integer", pattern(`[+-]?\d+`)},
	{"decimal", "decimal number", pattern(`[+-]?(?:\d+(?:\.\d+)?|\.\d+)`)},
	{"alphanumeric", "alphanumeric text", pattern(`[A-Za-z0-9]+`)},
	{"slug", "slug", pattern(`[a-z0-9]+(?:-[a-z0-9]+)*`)},
	{"hex", "hexadecimal text", pattern(`(?:0[xX])?[0-9a-fA-F]+`)},
	{"base64", "base64 text", pattern(`[A-Za-z0-9+/]+={0,2}`)},
}

// isoDateTime accepts the common forms of ISO 8601: seconds, their fraction and the zone may be
// missing.
func isoDateTime(s string) bool {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		for _, zone := range []string{"", "Z07:00"} {
			if _, err := time.Parse(layout+zone, s); err == nil && strings.Count(s, "T") == 1 && !strings.Contains(s, ",") {
				return true
			}
		}
	}
	return false
}

// ValidateFormat returns the tool validate_format, which says whether a text has a known form.
func ValidateFormat() *adk.Tool {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return spec.Tool{
		Name:        "validate_format",
		Description: "Says whether a text has a known form, such as an email address, a UUID or a date that exists.",
		Args:        []spec.Arg{spec.Text("value", "the text").Required(), spec.Word("format", "the form", names...).Required()},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			f := formats[slices.IndexFunc(formats, func(f knownFormat) bool { return f.name == c.Text("format") })]
			if f.fits(c.Text("value")) {
				return fmt.Sprintf(`Valid: "%s" is a valid %s.`, c.Text("value"), f.label), nil
			}
			return fmt.Sprintf(`Invalid: "%s" is not a valid %s.`, c.Text("value"), f.label), nil
		},
	}.Make()
}
