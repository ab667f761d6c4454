package headroom

import "testing"

// Benchmarks, and people who set the garbage collector themselves, get the collector without this package's changes.
func TestIsWanted(t *testing.T) {
	for name, c := range map[string]struct {
		args     []string
		variable string
		want     bool
	}{
		"tests":                 {[]string{"-test.timeout=10m0s", "-test.run=^TestX$"}, "", true},
		"benchmarks":            {[]string{"-test.bench=."}, "", false},
		"benchmarks, by hand":   {[]string{"--test.bench", "."}, "", false},
		"a percentage is given": {nil, "GOGC", false},
		"a limit is given":      {nil, "GOMEMLIMIT", false},
	} {
		got := isWanted(c.args, func(variable string) (string, bool) { return "", variable == c.variable })
		if got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
