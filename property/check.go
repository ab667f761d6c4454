package property

import (
	"context"
	"io"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

// TB is the part of *testing.T that Check needs.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
}

// T is the part of *testing.T that a test of an exploration needs; Self is *testing.T itself.
type T[Self any] interface {
	TB
	Name() string
	Context() context.Context
	Run(name string, f func(Self)) bool
}

// Check checks a trace against all invariants and fails the test for each violation. The failure
// says which invariant does not hold, why that matters, and shows the stretch of the transcript. A
// trace that breaks off is checked as far as it goes, and the log says so. Check ignores hints.
func Check(t TB, trace io.Reader) {
	t.Helper()
	e, err := Examine(trace)
	if err != nil {
		t.Errorf("the trace cannot be read: %v", err)
	}
	if e == nil {
		return
	}
	if e.Cut != nil {
		t.Logf("checked as far as it goes: %v", e.Cut)
	}
	for _, v := range e.Violations {
		t.Errorf("%s\n%s", v, safetext.Inset(e.Stretch(v)))
	}
}
