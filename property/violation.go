package property

import (
	"fmt"
	"iter"

	"github.com/adkreplay/adkreplay/adk"
)

// Violation is one place where a turn breaks an invariant.
type Violation struct {
	// Invariant is the name of the invariant, and Rule the contract rule from which it follows.
	Invariant string `json:"invariant"`
	Rule      string `json:"rule"`
	// Crossing is the number, from 1, of the crossing that breaks the invariant. If something is
	// missing at the end, it is the number of the last crossing plus one.
	Crossing int `json:"crossing"`
	// Seam is the path of the seam call to which the crossing belongs.
	Seam string `json:"seam"`
	// Text says in a sentence what is wrong. If two runs differ, or something was left behind, the
	// details follow on further lines.
	Text string `json:"text"`
	// Related are the numbers of the earlier crossings that explain the violation, in order.
	Related []int `json:"related,omitempty"`
}

// String says in a few lines which invariant does not hold, where, and what goes wrong without it.
func (v Violation) String() string {
	where := ""
	if v.Seam != "" {
		where = ", in " + v.Seam
	}
	text := fmt.Sprintf("%s (%s) at crossing %d%s: %s", v.Invariant, v.Rule, v.Crossing, where, v.Text)
	for _, invariant := range invariants {
		if invariant.Name == v.Invariant {
			text += "\n" + invariant.Breaks
		}
	}
	return text
}

// Checker checks one turn after another against all invariants, as Violations does, but reuses its
// memory. The zero Checker is ready to use. It is not safe for concurrent use.
type Checker struct{ story *history }

// Violations returns the violations in a whole turn, in the order of the crossings. The result is
// valid until the next call.
func (c *Checker) Violations(info adk.RunInfo, crossings []adk.Crossing) []Violation {
	c.begin(info)
	return c.look(crossings)
}

// Both returns the violations and the hints of a whole turn, found in one pass. The results are
// valid until the next call.
func (c *Checker) Both(info adk.RunInfo, crossings []adk.Crossing) ([]Violation, []Hint) {
	c.begin(info)
	c.story.advised()
	return c.look(crossings), c.story.hintsInOrder()
}

func (c *Checker) begin(info adk.RunInfo) {
	if c.story == nil {
		c.story = newStory(info)
	} else {
		c.story.begins(info)
	}
}

func (c *Checker) look(crossings []adk.Crossing) []Violation {
	for i := range crossings {
		c.story.tell(&crossings[i])
	}
	c.story.end()
	return c.story.inOrder()
}

// Violations checks the crossings of one turn against all invariants, and returns the violations in
// the order of the crossings; nil if there are none. info is what the probe's Observe received for
// the run. The sequence is read once.
func Violations(info adk.RunInfo, crossings iter.Seq[*adk.Crossing]) []Violation {
	return newStory(info).holds(crossings, true)
}
