package circle

import (
	"fmt"

	"github.com/adkreplay/adkreplay/internal/codeplace"
)

// Need is that a strand does not end before another one.
type Need struct {
	Of  int
	Seq int // the crossing that began the wait; zero of one that it forked
}

// Text says it of a strand, with the line of user code that waits, if that is known.
func (n Need) Text(strand int, lines []codeplace.Place) string {
	text := fmt.Sprintf("strand %d for ", strand)
	switch {
	case n.Seq == 0:
		return text + fmt.Sprintf("strand %d, which it forked", n.Of)
	case n.Of == strand:
		text += "itself"
	default:
		text += fmt.Sprintf("strand %d", n.Of)
	}
	if len(lines) > 0 {
		text += " at " + lines[0].String()
	}
	return text
}
