package fakes

import (
	"strconv"
	"strings"
	"sync/atomic"
)

// IDs is an adk.IDSource that counts: id-1, id-2 and so on. It is safe for concurrent use. Runs
// that share an IDs also share its numbers; to get the same ids in every run, give each run its
// own, as Deterministic does.
type IDs struct {
	prefix string
	last   atomic.Int64
}

// NewIDs makes a source that begins at 1. The prefixes, joined by dashes, come before the number;
// without a prefix it is "id".
func NewIDs(prefixes ...string) *IDs {
	if len(prefixes) == 0 {
		prefixes = []string{"id"}
	}
	return &IDs{prefix: strings.Join(prefixes, "-") + "-"}
}

// NewID returns the next id.
func (s *IDs) NewID() string { return s.prefix + strconv.FormatInt(s.last.Add(1), 10) }
