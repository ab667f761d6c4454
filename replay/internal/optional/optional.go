// Package optional reads optional options: the last, variadic argument of a function, of which at
// most one counts. If several are given, the first counts and the others are ignored.
package optional

// First is the first of the options, or the zero value if there are none.
func First[T any](options []T) (first T) {
	if len(options) > 0 {
		first = options[0]
	}
	return first
}
