package watchdog

import (
	"slices"
	"strings"
)

// Alone tells whether no other goroutine of a run may do anything in it, as it is for the one that
// has waited for all that it has begun. The zero value is ready. Looking takes some microseconds
// for each goroutine of the program, so that whoever asks again and again in vain is answered no
// without a look more and more often.
type Alone struct{ asked, inVain int }

// sureLooks is up to how many looks in vain nobody goes without one.
const sureLooks = 8

// Is reports whether the present goroutine is the only one with the label, but for those that a
// client or a pool of the standard library keeps. It may say no where that is so.
func (a *Alone) Is(label Label) bool {
	a.asked++
	if a.inVain > sureLooks && a.asked < 2*a.inVain {
		return false
	}
	if slices.ContainsFunc(Of(label), func(g Goroutine) bool { return !g.isKept() }) {
		a.inVain = a.asked
		return false
	}
	*a = Alone{}
	return true
}

// keepers are the packages of the standard library that keep goroutines which call nobody.
var keepers = []string{"net/http.", "database/sql."}

// isKept reports whether a package of the standard library has begun the goroutine for itself, and
// no code but the standard library's is on its stack.
func (g Goroutine) isKept() bool {
	if len(g.Stack) == 0 || slices.ContainsFunc(g.Stack, func(f Frame) bool { return !isStandard(f.Function, ownModule()) }) {
		return false
	}
	entry := g.Stack[len(g.Stack)-1].Function
	return slices.ContainsFunc(keepers, func(of string) bool { return strings.HasPrefix(entry, of) })
}
