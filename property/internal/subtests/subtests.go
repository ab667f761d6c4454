package subtests

import (
	"fmt"
	"regexp"
	"strings"
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
		t.Errorf("%s    go test -run '%s'", found, pattern(t.Name()))
	})
}

// pattern is what -run wants for one test.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}
