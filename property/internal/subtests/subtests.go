package subtests

import (
	"fmt"

	"github.com/adkreplay/adkreplay/internal/shell"
)

// T is what it needs of a *testing.T, which is T itself.
type T[Self any] interface {
	Helper()
	Errorf(format string, args ...any)
	Name() string
	Run(name string, f func(Self)) bool
}

// Fail fails a subtest of a name, and says of what was found how it is run alone.
func Fail[Self T[Self]](t Self, name string, found fmt.Stringer) {
	t.Helper()
	t.Run(name, func(t Self) {
		t.Helper()
		t.Errorf("%s    go test -run '%s'", found, shell.TestPattern(t.Name()))
	})
}
