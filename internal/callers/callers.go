// Package callers keeps where something happened, and puts it into words when it is asked.
package callers

import (
	"fmt"
	"runtime"
)

// Place is the innermost calls, at most 32 of them, as package runtime counts: they say where
// it happened. The zero Place is nowhere.
type Place []uintptr

// Of is the place of what calls who calls it, skip calls further out.
func Of(skip int) Place {
	var calls [32]uintptr
	const own = 2 // runtime.Callers and Of
	return append(Place(nil), calls[:runtime.Callers(own+skip, calls[:])]...)
}

// Line is the innermost of the calls of Of alone, which is kept at no cost; 0 is nowhere.
func Line(skip int) uintptr {
	var call [1]uintptr
	const own = 2 // runtime.Callers and Line
	runtime.Callers(own+skip, call[:])
	return call[0]
}

// Staged is embedded in the value of a panic that this project makes on purpose, in the place of
// user code. To keep where that happened takes longer than to panic.
type Staged struct{}

func (Staged) staged() {}

// IsStaged reports whether a panic has such a value.
func IsStaged(value any) bool {
	_, ok := value.(interface{ staged() })
	return ok
}

// OfPanic is Of for a panic with a value; nowhere, where that is Staged.
func OfPanic(value any, skip int) Place {
	if IsStaged(value) {
		return nil
	}
	return Of(skip + 1)
}

// Text names the innermost call first, a function and its place each.
func (p Place) Text() (text []byte) {
	frames := runtime.CallersFrames(p)
	for more := len(p) > 0; more; {
		var f runtime.Frame
		f, more = frames.Next()
		text = fmt.Appendf(text, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
	}
	return text
}
