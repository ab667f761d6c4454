// Package near finds the names that somebody may have meant who wrote a wrong one.
package near

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// DidYouMean offers the names that are spelled like a wrong one, as the end of a sentence. It
// returns "" if there are none.
func DidYouMean(wrong string, names []string) string {
	like := Names(wrong, names)
	if len(like) == 0 {
		return ""
	}
	return ": did you mean " + strings.Join(like, " or ") + "?"
}

// OneOf offers the names that are spelled like a wrong one, or all names if there are none.
func OneOf(wrong string, names []string) string {
	return cmp.Or(DidYouMean(wrong, names), ": want one of "+strings.Join(names, ", "))
}

// mostOffered is how many names are offered at most.
const mostOffered = 3

// Names returns the names that are like a wrong one, the nearest first: names that contain it, and
// names that a few typing errors turn into it.
func Names(wrong string, names []string) []string {
	wrong = strings.ToLower(wrong)
	if wrong == "" {
		return nil
	}
	slips := 1 + len(wrong)/4 // two exchanged letters are two errors
	var like []string
	for _, name := range names {
		if strings.Contains(name, wrong) || levenshtein.ComputeDistance(wrong, name) <= slips {
			like = append(like, name)
		}
	}
	slices.SortStableFunc(like, func(a, b string) int {
		return levenshtein.ComputeDistance(wrong, a) - levenshtein.ComputeDistance(wrong, b)
	})
	return like[:min(len(like), mostOffered)]
}
