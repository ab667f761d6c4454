package wire

import (
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
)

// since is the version of the format that a kind came with, where that is not the
// first.
var since = map[adk.Kind]int{adk.KindWait: VersionOfWait}

// VersionOfWait is the first version in which waiting for strands is told.
const VersionOfWait = 2

// Knows is the error of a line of a kind that a version of the format does not
// know.
func Knows(version int, kind adk.Kind) error {
	if first, later := since[kind]; later && version < first {
		return fmt.Errorf("%s is a kind of version %d of the format, and the header says %d", kind, first, version)
	}
	return nil
}
