package property

import (
	"fmt"
	"iter"

	"github.com/adkreplay/adkreplay/adk"
)

// Violation is one place where a turn breaks an invariant.
type Violation struct {
	// Invariant is the name of the invariant, and Rule the contract rule that it
	// follows from.
	Invariant string `json:"invariant"`
	Rule      string `json:"rule"`
	// Crossing is the number, from 1, of the crossing that breaks it; one more
	// than the last where something is missing at the end.
	Crossing int `json:"crossing"`
	// Seam is the path of the seam call that the crossing belongs to.
	Seam string `json:"seam"`
	// Text says what is wrong, in a sentence. Where two runs differ, or something
	// was left behind, what it was stands below it.
	Text string `json:"text"`
	// Related are the numbers of the earlier crossings that one has to see to
	// understand it, in order.
	Related []int `json:"related,omitempty"`
}

// String says in a few lines what does not hold, where, and what it breaks.
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

// Checker holds one turn after another against all invariants, as Violations does,
// with memory that is made once. The zero Checker is ready. It is not safe for
// concurrent use.
type Checker struct{ story *history }

// Violations are what breaks invariants in a turn, of which the crossings are all, in
// the order of the crossings. They are good until the next call.
func (c *Checker) Violations(info adk.RunInfo, crossings []adk.Crossing) []Violation {
	c.begin(info)
	return c.look(crossings)
}

// Both are the Violations, and the Hints of the same turn, in one pass. They are good until
// the next call.
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

// Violations holds the crossings of one turn against all invariants, and gives
// what breaks them in the order of the crossings; nothing when all hold. Info is
// what the probe was told of the run. The crossings are read once, one after
// the other.
func Violations(info adk.RunInfo, crossings iter.Seq[*adk.Crossing]) []Violation {
	return newStory(info).holds(crossings, true)
}
