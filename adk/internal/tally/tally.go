// Package tally counts things by a mark that each of them has. Each thing counts once, under its
// latest mark.
package tally

// Count is a count of things by mark. The zero Count is empty.
type Count struct {
	marks  map[string]string // by thing
	things map[string]int    // by mark
}

// Bears sets the mark of a thing.
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

// Changes is Bears for a thing that is counted already; it ignores any other thing.
func (n *Count) Changes(thing, mark string) {
	if _, counts := n.marks[thing]; counts {
		n.Bears(thing, mark)
	}
}

// Of returns how many things have the mark.
func (n *Count) Of(mark string) int { return n.things[mark] }
