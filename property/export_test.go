package property

import (
	"iter"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// The bounds of what is told.
const (
	ManyIterations = manyIterations
	MostOfOne      = mostOfOne
)

// Readings reports of a time whether it may come of these readings of the clock.
func Readings(readings ...time.Time) func(time.Time) bool {
	return (&outsideTime{readings: readings}).read
}

// KindsOf are the kinds that an invariant is about.
func KindsOf(i Invariant) []adk.Kind { return i.kinds }

// CrossingsOf are the crossings of a turn that was examined.
func CrossingsOf(e *Examination) iter.Seq[*adk.Crossing] { return e.again }

// ViolationsInPart is Violations for a turn whose end is not told.
func ViolationsInPart(info adk.RunInfo, crossings iter.Seq[*adk.Crossing]) []Violation {
	return newStory(info).holds(crossings, false)
}

// MadeOf says what an id is of a text.
var MadeOf = madeOf

// LooksSecret reports whether a request looks like one with a secret in it.
func LooksSecret(request string) bool { return looksSecret([]byte(request)) }

// TriedOn are how many patterns of secrets a text is held against.
func TriedOn(text string) (n int) {
	for _, like := range secretLike() {
		if like.has(lowered([]byte(text))) {
			n++
		}
	}
	return n
}
