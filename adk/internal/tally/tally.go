// Package tally counts things by a mark that each of them bears: one each, under the
// mark that it bore last.
package tally

// Count is a count. The zero Count has counted nothing.
type Count struct {
	marks  map[string]string // by thing
	things map[string]int    // by mark
}

// Bears takes in the mark that a thing bears now.
func (n *Count) Bears(thing, mark string) {
	if n.marks == nil {
		n.marks, n.things = map[string]string{}, map[string]int{}
	}
	if former, known := n.marks[thing]; known {
		n.things[former]--
	}
	n.marks[thing] = mark
	n.things[mark]++
}

// Changes is Bears for a thing that counts already, and nothing for another.
func (n *Count) Changes(thing, mark string) {
	if _, counts := n.marks[thing]; counts {
		n.Bears(thing, mark)
	}
}

// Of is how many things bear the mark.
func (n *Count) Of(mark string) int { return n.things[mark] }
