package adk

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// fieldCheck gathers what is wrong with the fields a record is made from. It is
// asked field by field in the order they are declared, so that one error names
// every bad field and always in the same order.
type fieldCheck struct{ faults []Fault }

// fault notes that a field is wrong: what it is and what would be right. It
// must never hold a payload (ERR-3).
func (c *fieldCheck) fault(field, format string, args ...any) {
	c.faults = append(c.faults, Fault{Path: field, Message: fmt.Sprintf(format, args...)})
}

// err is the error for all faults, or nil where there are none.
func (c *fieldCheck) err(code Code) error {
	if len(c.faults) == 0 {
		return nil
	}
	texts := make([]string, len(c.faults))
	for i, f := range c.faults {
		texts[i] = f.Path + ": " + f.Message
	}
	return &Error{Code: code, Message: strings.Join(texts, "; "), Faults: c.faults}
}

// required checks a text that must be there.
func (c *fieldCheck) required(field, text, want string) {
	if text == "" {
		c.fault(field, "is missing, want %s", want)
		return
	}
	c.optional(field, text)
}

// optional checks a text that may be empty.
func (c *fieldCheck) optional(field, text string) {
	if fault := textFault(text); fault != "" {
		c.fault(field, "%s", fault)
	}
}

// textFault says what is wrong with a text. One that is not valid UTF-8 is
// refused: JSON cannot hold it, so a trace could not give it back.
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

// oneOf checks a word of a closed list.
func oneOf[T ~string](c *fieldCheck, field string, word T, allowed ...T) {
	for _, one := range allowed {
		if word == one {
			return
		}
	}
	names := make([]string, len(allowed))
	for i, one := range allowed {
		names[i] = string(one)
	}
	want := strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
	if word == "" {
		c.fault(field, "is missing, want %s", want)
		return
	}
	c.fault(field, "is %.32q, want %s", string(word), want)
}

// requiredScore checks a score that must be there and gives it.
func (c *fieldCheck) requiredScore(field string, score *float64) float64 {
	if score == nil {
		c.fault(field, "is missing, want a number within [0,1]")
		return 0
	}
	c.score(field, score)
	return *score
}

// score checks a score that may be nil.
func (c *fieldCheck) score(field string, score *float64) {
	if score == nil {
		return
	}
	if math.IsNaN(*score) || *score < 0 || *score > 1 {
		c.fault(field, "is %v, want a number within [0,1]", *score)
	}
}

// moment checks a time that must be there and gives it as records keep times:
// in UTC, without the reading of the monotonic clock.
func (c *fieldCheck) moment(field string, t time.Time) time.Time {
	if t.IsZero() {
		c.fault(field, "is missing, want a time")
		return t
	}
	t = t.UTC().Round(0)
	if year := t.Year(); year < 0 || year > 9999 {
		c.fault(field, "is in the year %d, want a year from 0 to 9999", year)
	}
	return t
}

// moments checks the two times that every dated record has.
func (c *fieldCheck) moments(created, updated time.Time) (time.Time, time.Time) {
	created, updated = c.moment("createdAt", created), c.moment("updatedAt", updated)
	if !updated.IsZero() && updated.Before(created) {
		c.fault("updatedAt", "is before createdAt, want the same time or a later one")
	}
	return created, updated
}
