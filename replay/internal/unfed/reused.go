package unfed

import (
	"slices"
	"strings"
	"unicode"

	"github.com/adkreplay/adkreplay/internal/compare"
)

// Changes are the changes of text that earlier differences show: what was replaced, and by what.
type Changes []change

type change struct{ want, got string }

// mostChanges is how many changes are kept. What follows from a later one is taken to follow from
// none.
const mostChanges = 256

// Add adds the changes of the fields of a difference.
func (c *Changes) Add(fields []compare.FieldDiff) {
	for _, f := range fields {
		if one := changeIn(f); len(*c) < mostChanges && !slices.Contains(*c, one) {
			*c = append(*c, one)
		}
	}
}

// Without returns the fields whose change is not one of the changes, or a part of one. A change of
// mere numbers is never one of them, because the same small number stands in many places.
func (c Changes) Without(fields []compare.FieldDiff) []compare.FieldDiff {
	return slices.DeleteFunc(slices.Clone(fields), func(f compare.FieldDiff) bool {
		one := changeIn(f)
		return strings.ContainsFunc(one.want+one.got, unicode.IsLetter) && slices.ContainsFunc(c, func(earlier change) bool {
			return strings.Contains(earlier.want, one.want) && strings.Contains(earlier.got, one.got)
		})
	})
}

// changeIn returns the words that differ between the two values of a field, from the first to the
// last of them.
func changeIn(f compare.FieldDiff) change {
	want, got := f.Want, f.Got
	head := 0
	for head < len(want) && head < len(got) && want[head] == got[head] {
		head++
	}
	head = strings.LastIndexFunc(want[:head], isBreak) + 1
	want, got = want[head:], got[head:]
	tail := 0
	for tail < len(want) && tail < len(got) && want[len(want)-1-tail] == got[len(got)-1-tail] {
		tail++
	}
	if end := strings.IndexFunc(want[len(want)-tail:], isBreak); end >= 0 {
		tail -= end
	} else {
		tail = 0
	}
	return change{want[:len(want)-tail], got[:len(got)-tail]}
}

// isBreak reports whether a word ends at a character.
func isBreak(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
