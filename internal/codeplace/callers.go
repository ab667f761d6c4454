package codeplace

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// Callers notes from where the operations of a run were called, and the dispatches of user
// code. The zero value has noted none.
type Callers struct {
	stacks Stacks
	bySeq  []int32         // by the number of the crossing, that of the stack; 0 is none
	panics map[int][]Place // of the calls that ended with one, by the crossing
}

// tellDepth is how many calls lie between the engine's operation and Tell, at least.
const tellDepth = 4

// Tell notes the stack of what user code asks of the engine. It is called on the
// goroutine of the user code, in the step that makes the effect.
func (c *Callers) Tell(x *adk.Crossing) {
	for len(c.bySeq) <= x.Seq {
		c.bySeq = append(c.bySeq, 0)
	}
	if x.Kind.Class() == adk.ClassOperation && x.Phase != adk.Done || x.Seams != nil { // those are of a dispatch that user code calls
		c.bySeq[x.Seq] = c.stacks.Here(tellDepth)
	}
	if x.Outcome == adk.OutcomePanic {
		if c.panics == nil {
			c.panics = map[int][]Place{}
		}
		c.panics[x.Seq] = OfPanic(x.Err)
	}
}

// Of is the line of user code that made an operation of the run, or panicked in a call of it,
// and behind it those that called it; none where no user code did.
func (c *Callers) Of(x *adk.Crossing) []Place {
	if c != nil && x != nil && x.Outcome == adk.OutcomePanic {
		return c.panics[x.Seq]
	}
	return c.stack(x).Users()
}

// Own is the nearest of the lines of an operation through which no other came by other lines:
// a helper that everything is asked through has those of all of them. Where there is no such
// line it is the first; none where Of has none.
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

// IsApart reports whether an operation of the run was made on a goroutine that user
// code has begun itself.
func (c *Callers) IsApart(x *adk.Crossing) bool { return c != nil && c.stacks.IsApart(c.number(x)) }

// number is that of the stack of an operation; zero of what was not noted.
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
