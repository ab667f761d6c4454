package watchdog

import (
	"slices"
	"strings"
)

// Within reports whether the present goroutine is in a call of a function, or was begun by code that is still
// under way in one: a goroutine of its own that nobody is left to wait for is in none.
func Within(function string) bool {
	g := Here()
	if g.calls(function) {
		return true
	}
	for alive := byID(All()); ; { // which is dear
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

// isBelow reports whether the code that began the goroutine has not returned: it is on the stack of its parent
// still, itself or, where a library has begun it for that, as what the goroutine's first function stands in.
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
