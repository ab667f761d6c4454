package property

import "github.com/adkreplay/adkreplay/fakes"

// Pick is a decision of the scheduler of strands that is not the usual one,
// which is to let a strand run until it waits or ends, and then the one with the
// lowest number.
type Pick struct {
	// Choice counts, from 1, the times when more than one strand could go on.
	Choice int
	// Strand is the one that goes on.
	Strand int
}

var _ = fakes.RunInOrder
