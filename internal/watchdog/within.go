package watchdog

import (
	"slices"
	"strings"
)

// Within reports whether the current goroutine is in a call of the function, or was started by code
// that is still in such a call. A goroutine whose starter has returned is in none.
func Within(function string) bool {
	g := Here()
	if g.calls(function) {
		return true
	}
	for alive := byID(All()); ; { // slow: stops the program
		parent, known := alive[g.parent]
		switch {
		case !known || !g.isBelow(parent):
			return false
		case parent.calls(function):
			return true
		}
		g = parent
	}
}

func (g Goroutine) calls(function string) bool {
	return slices.ContainsFunc(g.Stack, func(f Frame) bool { return f.Function == function })
}

// isBelow reports whether the code that started the goroutine has not returned: it is still on the
// stack of the parent. If a library started the goroutine on its behalf, the function that contains
// the goroutine's first function must be on that stack.
func (g Goroutine) isBelow(parent Goroutine) bool {
	first := ""
	for _, f := range slices.Backward(g.Stack) {
		if !isStandard(f.Function, ownModule()) {
			first = f.Function
			break
		}
	}
	return slices.ContainsFunc(parent.Stack, func(f Frame) bool {
		return f.Function == g.Origin.Function || strings.HasPrefix(first, f.Function+".")
	})
}
