package watchdog

import (
	"slices"
	"strings"
)

// Alone finds out whether the current goroutine is the only one of its run, as it is after it has
// waited for all goroutines that it started. The zero value is ready. A snapshot takes some
// microseconds for each goroutine of the program, so if Is keeps failing, it skips the snapshot
// more and more often and returns false.
type Alone struct{ asked, inVain int }

// sureLooks is how many snapshots may fail before Is begins to skip some.
const sureLooks = 8

// Is reports whether the current goroutine is the only one with the label, ignoring those that a
// client or a pool of the standard library keeps. It may return false although that is so.
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

// keepers are the packages of the standard library that keep goroutines which call no user code.
var keepers = []string{"net/http.", "database/sql."}

// isKept reports whether a package of the standard library started the goroutine for itself, and
// only the standard library is on its stack.
func (g Goroutine) isKept() bool {
	if len(g.Stack) == 0 || slices.ContainsFunc(g.Stack, func(f Frame) bool { return !isStandard(f.Function, ownModule()) }) {
		return false
	}
	entry := g.Stack[len(g.Stack)-1].Function
	return slices.ContainsFunc(keepers, func(of string) bool { return strings.HasPrefix(entry, of) })
}
