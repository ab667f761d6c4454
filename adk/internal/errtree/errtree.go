// Package errtree goes through what an error wraps, down every branch of it.
package errtree

import "errors"

// Every reports whether all that an error leads to is what is looked for. It asks decide of
// the error, and of what that wraps until decide has decided; of errors that are joined all
// have to be it. What wraps nothing, and is not decided on, is not. Nor is an error whose
// own methods panic, as those of a nil pointer that came back as an error do.
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
