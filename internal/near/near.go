// Package near finds the names that somebody may have meant who wrote another.
package near

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// DidYouMean offers the names that are spelled like a wrong one, as the end of a
// sentence; nothing if none is.
func DidYouMean(wrong string, names []string) string {
	like := Names(wrong, names)
	if len(like) == 0 {
		return ""
	}
	return ": did you mean " + strings.Join(like, " or ") + "?"
}

// OneOf offers the names that are spelled like a wrong one, and all where none is.
func OneOf(wrong string, names []string) string {
	return cmp.Or(DidYouMean(wrong, names), ": want one of "+strings.Join(names, ", "))
}

// mostOffered is how many names are offered at most.
const mostOffered = 3

// Names are the names that are like a wrong one, the nearest first: those it is
// a part of, and those that a few slips of the finger make of it.
func Names(wrong string, names []string) []string {
	wrong = strings.ToLower(wrong)
	if wrong == "" {
		return nil
	}
	slips := 1 + len(wrong)/4 // two letters exchanged are two slips
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
