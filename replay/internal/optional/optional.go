// Package optional has what a function was given that may be given options, or none. None of
// them joins two: of several the first one counts, and the others are not looked at.
package optional

// First is the first of the options, and the zero value where there are none.
func First[T any](options []T) (first T) {
	if len(options) > 0 {
		first = options[0]
	}
	return first
}
