package compare

import (
	"slices"
	"time"
)

// DifferInTimes reports whether fields differ in nothing but times: each was one, and is another.
func DifferInTimes(fields []FieldDiff) bool {
	return len(fields) > 0 && !slices.ContainsFunc(fields, func(f FieldDiff) bool { return !isTime(f.Want) || !isTime(f.Got) })
}

// isTime reports whether a value is a time, as a trace writes it.
func isTime(value string) bool {
	var at time.Time
	return at.UnmarshalJSON([]byte(value)) == nil && value != "null"
}
