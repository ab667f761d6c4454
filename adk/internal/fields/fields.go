// Package fields checks the fields that a value is made from, and collects what is wrong with them.
// The caller checks field by field in the order of declaration, so that one error names every bad
// field, and always in the same order.
package fields

import (
	"fmt"
	"math"
	"mime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Fault is what is wrong with a field. Its Message must never hold a payload (ERR-3).
type Fault struct{ Path, Message string }

// Check collects the faults of a value. The zero Check has found none.
type Check struct{ faults []Fault }

// Fault records that a field is wrong. The message says what it is and what would be right.
func (c *Check) Fault(field, format string, args ...any) {
	c.faults = append(c.faults, Fault{Path: field, Message: fmt.Sprintf(format, args...)})
}

// Faults returns what was found, or nil if nothing is wrong.
func (c *Check) Faults() []Fault { return c.faults }

// Required checks a text that must not be empty.
func (c *Check) Required(field, text, want string) {
	if text == "" {
		c.Fault(field, "is missing, want %s", want)
		return
	}
	c.Optional(field, text)
}

// Optional checks a text that may be empty.
func (c *Check) Optional(field, text string) {
	if fault := textFault(text); fault != "" {
		c.Fault(field, "%s", fault)
	}
}

// textFault says what is wrong with a text, or returns "". A text that is not valid UTF-8 is
// refused, because JSON cannot hold it and so a trace could not give it back.
func textFault(text string) string {
	if utf8.ValidString(text) {
		return ""
	}
	at := 0
	for {
		r, size := utf8.DecodeRuneInString(text[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return fmt.Sprintf("is not valid UTF-8 from byte %d on, want valid UTF-8", at)
}

// OneOf checks that word is one of the allowed ones.
func OneOf[T ~string](c *Check, field string, word T, allowed ...T) {
	if slices.Contains(allowed, word) {
		return
	}
	names := make([]string, len(allowed))
	for i, one := range allowed {
		names[i] = string(one)
	}
	want := strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
	if word == "" {
		c.Fault(field, "is missing, want %s", want)
		return
	}
	c.Fault(field, "is %.32q, want %s", string(word), want)
}

// RequiredScore checks a score that must not be nil, and returns it.
func (c *Check) RequiredScore(field string, score *float64) float64 {
	if score == nil {
		c.Fault(field, "is missing, want a number within [0,1]")
		return 0
	}
	c.Score(field, score)
	return *score
}

// Score checks a score that may be nil.
func (c *Check) Score(field string, score *float64) {
	if score == nil {
		return
	}
	if math.IsNaN(*score) || *score < 0 || *score > 1 {
		c.Fault(field, "is %v, want a number within [0,1]", *score)
	}
}

// Moment checks a time that must not be zero. It returns the time as records keep it: in UTC,
// without the monotonic clock reading.
func (c *Check) Moment(field string, t time.Time) time.Time {
	if t.IsZero() {
		c.Fault(field, "is missing, want a time")
		return t
	}
	t = t.UTC().Round(0)
	if year := t.Year(); year < 0 || year > 9999 {
		c.Fault(field, "is in the year %d, want a year from 0 to 9999", year)
	}
	return t
}

// Moments checks the two times that every dated record has.
func (c *Check) Moments(created, updated time.Time) (time.Time, time.Time) {
	created, updated = c.Moment("createdAt", created), c.Moment("updatedAt", updated)
	if !updated.IsZero() && updated.Before(created) {
		c.Fault("updatedAt", "is before createdAt, want the same time or a later one")
	}
	return created, updated
}

// MIMEType checks a MIME type, which must not be empty.
func (c *Check) MIMEType(field, text string) {
	c.Required(field, text, "a MIME type such as image/png")
	if text == "" {
		return
	}
	if name, _, err := mime.ParseMediaType(text); err != nil || !strings.Contains(name, "/") {
		c.Fault(field, "is %.64q, want a MIME type such as image/png", text)
	}
}
