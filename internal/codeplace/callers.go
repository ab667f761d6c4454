package codeplace

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// Callers records from where the operations of a run, and the dispatches that user code makes, were
// called. The zero value has recorded none.
type Callers struct {
	stacks Stacks
	bySeq  []int32         // the numbers of stacks, by the number of the crossing; 0 is none
	panics map[int][]Place // for calls that ended with a panic, by the number of the crossing
}

// tellDepth is the smallest number of calls between the engine's operation and Tell.
const tellDepth = 4

// Tell records the stack of an operation of user code. It must be called on the goroutine of the
// user code, in the step that makes the effect.
func (c *Callers) Tell(x *adk.Crossing) {
	for len(c.bySeq) <= x.Seq {
		c.bySeq = append(c.bySeq, 0)
	}
	if x.Kind.Class() == adk.ClassOperation && x.Phase != adk.Done || x.Seams != nil { // x.Seams is set for a dispatch that user code calls
		c.bySeq[x.Seq] = c.stacks.Here(tellDepth)
	}
	if x.Outcome == adk.OutcomePanic {
		if c.panics == nil {
			c.panics = map[int][]Place{}
		}
		c.panics[x.Seq] = OfPanic(x.Err)
	}
}

// Of returns the line of user code that made an operation of the run, or that panicked in a call of
// it, followed by the lines that called it. It returns none if no user code did.
func (c *Callers) Of(x *adk.Crossing) []Place {
	if c != nil && x != nil && x.Outcome == adk.OutcomePanic {
		return c.panics[x.Seq]
	}
	return c.stack(x).Users()
}

// Own returns the nearest line of an operation's stack that is on no different stack. For example,
// a helper that makes all requests is on the stacks of all of them, so Own returns a line that
// called it. If there is no such line, Own returns the first line, or no place if Of returns none.
func (c *Callers) Own(x *adk.Crossing) Place {
	lines := c.Of(x)
	if len(lines) == 0 {
		return Place{}
	}
	others := map[Place]bool{}
	for _, stack := range c.stacks.all {
		if users := stack.Users(); !slices.Equal(users, lines) {
			for _, line := range users {
				others[line] = true
			}
		}
	}
	if at := slices.IndexFunc(lines, func(line Place) bool { return !others[line] }); at > 0 {
		return lines[at]
	}
	return lines[0]
}

// IsApart reports whether an operation of the run was made on a goroutine that user code started.
func (c *Callers) IsApart(x *adk.Crossing) bool { return c != nil && c.stacks.IsApart(c.number(x)) }

// number returns the number of the stack of an operation, or 0 if none was recorded.
func (c *Callers) number(x *adk.Crossing) int32 {
	if c == nil || x == nil || x.Seq >= len(c.bySeq) {
		return 0
	}
	return c.bySeq[x.Seq]
}

func (c *Callers) stack(x *adk.Crossing) Stack {
	if c == nil {
		return Stack{}
	}
	return c.stacks.Of(c.number(x))
}
