package fakes

import (
	"strconv"
	"strings"
	"sync/atomic"
)

// IDs is an adk.IDSource that counts: id-1, id-2 and so on. It is safe for
// concurrent use, but runs that share one share its numbers too: give each run
// its own, as Deterministic does, where ids have to come out the same.
type IDs struct {
	prefix string
	last   atomic.Int64
}

// NewIDs makes a source that begins at 1. Prefixes are joined by a dash and
// stand before the number; with none it is "id".
func NewIDs(prefixes ...string) *IDs {
	if len(prefixes) == 0 {
		prefixes = []string{"id"}
	}
	return &IDs{prefix: strings.Join(prefixes, "-") + "-"}
}

// NewID is the next id.
func (s *IDs) NewID() string { return s.prefix + strconv.FormatInt(s.last.Add(1), 10) }
