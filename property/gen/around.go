package gen

import (
	"strings"

	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/shrink"
	"github.com/adkreplay/adkreplay/property/turn"
)

// Mine is user code that random turns are to be drawn around. Each middleware
// stands somewhere in its pipeline, among middlewares that do legal and illegal
// things; it has to be made anew where it remembers anything.
type Mine struct {
	TurnInput, TurnOutput         []adk.TurnMiddleware
	DispatchInput, DispatchOutput []adk.DispatchMiddleware
}

// Around is a property for rapid.Check and rapid.MakeFuzz: in every random turn
// that has the user's middlewares in it, run twice and replayed, all invariants
// hold. What make gives is in one run only. A failure prints the rest of the turn
// in the smallest form that still fails, as a Go test's transcript would.
//
//	func TestCap(t *testing.T) {
//		rapid.Check(t, gen.Around(gen.Knobs{}, func() gen.Mine {
//			return gen.Mine{DispatchInput: []adk.DispatchMiddleware{Cap(3)}}
//		}))
//	}
func Around(knobs Knobs, make func() Mine) func(*rapid.T) {
	turns := Turns(knobs)
	return func(t *rapid.T) {
		one := turns.Draw(t, "turn")
		places := make().places(t)
		findings := turn.CheckSubject(withMine(one, make, places))
		if len(findings) == 0 {
			return
		}
		name := findings[0].Name
		small, _ := shrink.Shrink(one, func(t turn.Turn) bool {
			finding, found := named(turn.CheckSubject(withMine(t, make, places)), name)
			if found {
				findings = []turn.Finding{finding}
			}
			return found
		})
		t.Fatalf("%s%#v", flawText(findings), small)
	}
}

func named(findings []turn.Finding, name string) (turn.Finding, bool) {
	for _, f := range findings {
		if f.Name == name {
			return f, true
		}
	}
	return turn.Finding{}, false
}

func flawText(findings []turn.Finding) string {
	var text strings.Builder
	for _, f := range findings {
		text.WriteString(f.Name + ": " + f.Text + "\n")
	}
	return text.String()
}

// places draws where the middlewares of each pipeline stand: before how many of
// the others.
func (m Mine) places(t *rapid.T) (at [4]int) {
	for i := range at {
		at[i] = rapid.IntRange(0, 3).Draw(t, "place")
	}
	return at
}

// withMine is the turn with user code in its pipelines.
func withMine(t turn.Turn, make func() Mine, at [4]int) turn.Subject {
	return t.SubjectWith(turn.Running{Amend: func(c *adk.Config) {
		m := make()
		c.TurnInput = amid(c.TurnInput, m.TurnInput, at[0])
		c.DispatchInput = amid(c.DispatchInput, m.DispatchInput, at[1])
		c.DispatchOutput = amid(c.DispatchOutput, m.DispatchOutput, at[2])
		c.TurnOutput = amid(c.TurnOutput, m.TurnOutput, at[3])
	}})
}

// amid puts mine into a list, before at of the others, or all of them.
func amid[M any](others, mine []M, at int) []M {
	at = min(at, len(others))
	return append(append(append([]M(nil), others[:len(others)-at]...), mine...), others[len(others)-at:]...)
}
