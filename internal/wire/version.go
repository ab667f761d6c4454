package wire

import (
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
)

// The versions of the format that first had a feature: recording waits for strands (VersionOfWait),
// faults in errors (versionOfFaults), references to earlier texts (versionOfRepeats), types of
// errors (versionOfForms), and digests of states made of running sums (versionOfSums).
const (
	VersionOfWait    = 2
	versionOfFaults  = 3
	versionOfRepeats = 4
	versionOfForms   = 4
	versionOfSums    = 5
)

// isSince reports whether version is first or later. Version 0 is today's.
func isSince(version, first int) bool { return version == 0 || version >= first }

// HasSums reports whether a version of the format computes the digests of states as today's does.
func HasSums(version int) bool { return isSince(version, versionOfSums) }

// hasForms reports whether errors have types in a version of the format.
func hasForms(version int) bool { return isSince(version, versionOfForms) }

// hasRepeats reports whether a line in a version of the format may refer to another line's text.
func hasRepeats(version int) bool { return isSince(version, versionOfRepeats) }

// hasFaults reports whether errors have their faults in a version of the format.
func hasFaults(version int) bool { return isSince(version, versionOfFaults) }

// versionOfWords is the first version in which kinds and members have today's names.
const versionOfWords = 3

// formerWords maps today's words to those of versions before versionOfWords. They never change,
// whatever today's kinds are called.
var formerWords = map[string]string{"state": "sight", MemberStandalone: "alone"}

// laterKinds maps kinds that the first version did not have to the version that added them.
var laterKinds = map[string]int{"wait": VersionOfWait}

// WordIn returns what a version of the format calls a kind or a member. Version 0 is today's.
func WordIn(version int, word string) string {
	if former, renamed := formerWords[word]; renamed && isOld(version) {
		return former
	}
	return word
}

// WordOf returns today's name for a word of a version of the format. It returns "" for a word that
// this version does not have.
func WordOf(version int, word string) string {
	if !isOld(version) {
		return word
	}
	for today, former := range formerWords {
		switch word {
		case former:
			return today
		case today:
			return ""
		}
	}
	return word
}

func isOld(version int) bool { return !isSince(version, versionOfWords) }

// Knows returns an error if a version of the format does not have a kind.
func Knows(version int, kind adk.Kind) error {
	if version >= VersionOfWait { // the last version that added a kind
		return nil
	}
	if first := laterKinds[kind.String()]; version < first {
		return fmt.Errorf("%s is a kind of version %d of the format, and the header says %d", kind, first, version)
	}
	return nil
}
