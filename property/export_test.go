package property

import (
	"iter"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// The limits on what is reported.
const (
	ManyIterations = manyIterations
	MostOfOne      = mostOfOne
)

// Readings returns a function that reports whether a time may stem from these readings of the clock.
func Readings(readings ...time.Time) func(time.Time) bool {
	return (&outsideTime{readings: readings}).read
}

// KindsOf returns the kinds of crossings that an invariant is about.
func KindsOf(i Invariant) []adk.Kind { return i.kinds }

// CrossingsOf returns the crossings of an examined turn.
func CrossingsOf(e *Examination) iter.Seq[*adk.Crossing] { return e.again }

// ViolationsInPart is like Violations, for a turn whose end is missing from the crossings.
func ViolationsInPart(info adk.RunInfo, crossings iter.Seq[*adk.Crossing]) []Violation {
	return newStory(info).holds(crossings, false)
}

// MadeOf says how an id was made from a text.
var MadeOf = madeOf

// LooksSecret reports whether a request seems to contain a secret.
func LooksSecret(request string) bool { return looksSecret([]byte(request)) }

// TriedOn returns the number of secret patterns that are tried on a text.
func TriedOn(text string) (n int) {
	for _, like := range secretLike() {
		if like.has(lowered([]byte(text))) {
			n++
		}
	}
	return n
}
