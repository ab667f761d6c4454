package codeplace

import "github.com/adkreplay/adkreplay/adk"

// Callers notes from where the operations of a run were called. The zero value has noted
// none.
type Callers struct {
	stacks []Stack       // each that there is once
	known  map[Stack]int // their places in stacks
	bySeq  []int32       // by the number of the crossing, the place in stacks and 1; 0 is none
}

// tellDepth is how many calls lie between the engine's operation and Tell, at least.
const tellDepth = 4

// Tell notes the stack of what user code asks of the engine. It is called on the
// goroutine of the user code, in the step that makes the effect.
func (c *Callers) Tell(x *adk.Crossing) {
	for len(c.bySeq) <= x.Seq {
		c.bySeq = append(c.bySeq, 0)
	}
	if x.Kind.Class() != adk.ClassOperation || x.Phase == adk.Done {
		return
	}
	stack := Here(tellDepth)
	at, known := c.known[stack]
	if !known {
		at = len(c.stacks) + 1
		if c.known == nil {
			c.known = map[Stack]int{}
		}
		c.known[stack], c.stacks = at, append(c.stacks, stack)
	}
	c.bySeq[x.Seq] = int32(at)
}

// Of is the line of user code that made an operation of the run; none where no user
// code did.
func (c *Callers) Of(x *adk.Crossing) Place {
	if x == nil || x.Seq >= len(c.bySeq) || c.bySeq[x.Seq] == 0 {
		return Place{}
	}
	return c.stacks[c.bySeq[x.Seq]-1].User()
}

// IsApart reports whether an operation of the run was made on a goroutine that user
// code has begun itself.
func (c *Callers) IsApart(x *adk.Crossing) bool {
	if c == nil || x.Seq >= len(c.bySeq) || c.bySeq[x.Seq] == 0 {
		return false
	}
	return c.stacks[c.bySeq[x.Seq]-1].IsApart()
}
