package wire

import (
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
)

// VersionOfWait is the first version in which waiting for strands is told,
// versionOfFaults that in which errors have their faults, versionOfRepeats that in which
// asks name what earlier ones said, versionOfForms that in which errors have types, and
// versionOfSums that in which the digests of states are made of sums that are carried on.
const (
	VersionOfWait    = 2
	versionOfFaults  = 3
	versionOfRepeats = 4
	versionOfForms   = 4
	versionOfSums    = 5
)

// isSince reports whether a version of the format is the first one of something, or a later
// one; version 0 is today's.
func isSince(version, first int) bool { return version == 0 || version >= first }

// HasSums reports whether the digests of states are today's in a version of the format.
func HasSums(version int) bool { return isSince(version, versionOfSums) }

// hasForms reports whether errors have types in a version of the format.
func hasForms(version int) bool { return isSince(version, versionOfForms) }

// hasRepeats reports whether a line of a version of the format may name what another said.
func hasRepeats(version int) bool { return isSince(version, versionOfRepeats) }

// hasFaults reports whether errors have their faults in a version of the format.
func hasFaults(version int) bool { return isSince(version, versionOfFaults) }

// versionOfWords is the first version in which kinds and members have the names of
// today, and formerWords are those that had others before.
const versionOfWords = 3

// A word of a format stays what it was, whatever today's kinds are called.
var formerWords = map[string]string{"state": "sight", MemberStandalone: "alone"}

// laterKinds are the versions that kinds came with of which the first knew nothing.
var laterKinds = map[string]int{"wait": VersionOfWait}

// WordIn is what a version of the format calls a kind or a member; version 0 is today's.
func WordIn(version int, word string) string {
	if former, renamed := formerWords[word]; renamed && isOld(version) {
		return former
	}
	return word
}

// WordOf is what the kind or the member is called today that a version of the format
// calls so; a word that the version does not know is empty.
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

// Knows is the error of a line of a kind that a version of the format does not
// know.
func Knows(version int, kind adk.Kind) error {
	if version >= VersionOfWait { // the last one that brought a kind
		return nil
	}
	if first := laterKinds[kind.String()]; version < first {
		return fmt.Errorf("%s is a kind of version %d of the format, and the header says %d", kind, first, version)
	}
	return nil
}
