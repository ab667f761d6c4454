// Package errtree walks the tree of errors that an error wraps.
package errtree

import "errors"

// Every reports whether an error is of the kind that decide looks for, in all of its branches. It
// calls decide with the error and then with what that wraps, until decide has decided. Of errors
// that are joined, all have to be of that kind. An error on which decide never decides is not of
// that kind, nor is one whose own methods panic, such as a nil pointer returned as an error.
func Every(err error, decide func(error) (ok, decided bool)) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return every(err, decide)
}

func every(err error, decide func(error) (ok, decided bool)) bool {
	for err != nil {
		if ok, decided := decide(err); decided {
			return ok
		}
		joined, several := err.(interface{ Unwrap() []error })
		if !several {
			err = errors.Unwrap(err)
			continue
		}
		all := joined.Unwrap()
		for _, one := range all {
			if !every(one, decide) {
				return false
			}
		}
		return len(all) > 0
	}
	return false
}
