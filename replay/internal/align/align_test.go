package align

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// commonLength is a simple reference for Common: the textbook's table.
func commonLength(a, b []int32) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
	}
	for i := range a {
		for j := range b {
			if a[i] == b[j] {
				table[i+1][j+1] = table[i][j] + 1
			} else {
				table[i+1][j+1] = max(table[i][j+1], table[i+1][j])
			}
		}
	}
	return table[len(a)][len(b)]
}

func checkCommon(t *rapid.T, a, b []int32, matches []Pair) {
	last := Pair{-1, -1}
	for _, m := range matches {
		if m.A <= last.A || m.B <= last.B || a[m.A] != b[m.B] {
			t.Fatalf("%v behind %v in %v", m, last, matches)
		}
		last = m
	}
}

func drawSequence(t *rapid.T, label string) []int32 {
	return rapid.SliceOfN(rapid.Int32Range(0, 6), 0, 40).Draw(t, label)
}

func TestCommon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSequence(t, "a"), drawSequence(t, "b")
		matches := Common(a, b)
		checkCommon(t, a, b, matches)
		if want := commonLength(a, b); len(matches) != want {
			t.Fatalf("%d of %d in common: %v", len(matches), want, matches)
		}
	})
}

func TestCommonByOccurrence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSequence(t, "a"), drawSequence(t, "b")
		checkCommon(t, a, b, commonByOccurrence(a, b))
		if all := commonByOccurrence(a, a); len(all) != len(a) {
			t.Fatalf("%d of %d that are equal", len(all), len(a))
		}
	})
}

// Sequences that share nothing but a long common subsequence are aligned correctly, even beyond
// the bound of the exact search.
func TestCommonOfWhatDiffersMuch(t *testing.T) {
	var a, b []int32
	for i := range int32(50_000) {
		a = append(a, i)
		b = append(b, i+1_000_000*(i%3), i)
	}
	assert.Len(t, Common(a, b), 50_000)
	reversed := make([]int32, len(a))
	for i, x := range a {
		reversed[len(a)-1-i] = x
	}
	assert.Len(t, Common(a, reversed), 1)
}

// riseLength is a simple reference for Rise: for each number it computes the longest increasing run that ends there.
func riseLength(numbers []int) (longest int) {
	ending := make([]int, len(numbers))
	for i := range numbers {
		for j := range i {
			if numbers[j] < numbers[i] {
				ending[i] = max(ending[i], ending[j])
			}
		}
		ending[i]++
		longest = max(longest, ending[i])
	}
	return longest
}

func TestRise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.IntRange(-3, 20), 0, 30).Draw(t, "numbers")
		rise := Rise(numbers)
		for i, at := range rise[min(1, len(rise)):] {
			if before := rise[i]; before >= at || numbers[before] >= numbers[at] {
				t.Fatalf("%d behind %d in %v", at, before, rise)
			}
		}
		if want := riseLength(numbers); len(rise) != want {
			t.Fatalf("%v, and a run of %d rises", rise, want)
		}
	})
}
