package circle

import (
	"fmt"

	"github.com/adkreplay/adkreplay/internal/codeplace"
)

// Need says that a strand does not end before another one, Of.
type Need struct {
	Of  int
	Seq int // the crossing that began the wait; zero for a strand that it forked
}

// Text describes the need of a strand, with the line of user code that waits, if that is known.
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
