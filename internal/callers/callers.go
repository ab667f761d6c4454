// Package callers records where something happened, and formats that only when asked.
package callers

import (
	"fmt"
	"runtime"
)

// Place is a list of program counters of at most 32 innermost calls, as in runtime.Callers. The
// zero Place is nowhere.
type Place []uintptr

// Of returns the place of the function that calls Of's caller, skipping skip more calls.
func Of(skip int) Place {
	var calls [32]uintptr
	const own = 2 // runtime.Callers and Of
	return append(Place(nil), calls[:runtime.Callers(own+skip, calls[:])]...)
}

// Line returns only the innermost call of Of, which can be kept at no cost; 0 is nowhere.
func Line(skip int) uintptr {
	var call [1]uintptr
	const own = 2 // runtime.Callers and Line
	runtime.Callers(own+skip, call[:])
	return call[0]
}

// Staged is embedded in the value of a panic that this project makes on purpose, in place of user
// code. OfPanic then does not record the place, because that takes longer than the panic itself.
type Staged struct{}

func (Staged) staged() {}

// IsStaged reports whether a panic's value embeds Staged.
func IsStaged(value any) bool {
	_, ok := value.(interface{ staged() })
	return ok
}

// OfPanic is Of for a panic with the given value. It returns nil if the value embeds Staged.
func OfPanic(value any, skip int) Place {
	if IsStaged(value) {
		return nil
	}
	return Of(skip + 1)
}

// Text formats the calls as a stack trace does, the innermost call first.
func (p Place) Text() (text []byte) {
	frames := runtime.CallersFrames(p)
	for more := len(p) > 0; more; {
		var f runtime.Frame
		f, more = frames.Next()
		text = fmt.Appendf(text, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
	}
	return text
}
