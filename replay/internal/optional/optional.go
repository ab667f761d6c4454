// Package optional has what a function was given that may be given options, or none.
package optional

// First is the first of the options, and the zero value where there are none.
func First[T any](options []T) (first T) {
	if len(options) > 0 {
		first = options[0]
	}
	return first
}
