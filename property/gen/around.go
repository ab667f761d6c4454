package gen

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/shrink"
	"github.com/adkreplay/adkreplay/property/turn"
)

// Mine is user code to be placed in random turns. Each middleware is placed somewhere in its
// pipeline, among middlewares that do legal and illegal things. Anything that has state must be
// made anew for each run.
type Mine struct {
	TurnInput, TurnOutput         []adk.TurnMiddleware
	DispatchInput, DispatchOutput []adk.DispatchMiddleware
	// Executor, if it has a Run, replaces that of the turn.
	Executor adk.Executor
	// Tools are added to those of the turn, whose executor calls each of them.
	Tools []*adk.Tool
	// Args generates the arguments of a tool, by the tool's name. Without a generator a tool gets
	// an empty object.
	Args map[string]*rapid.Generator[map[string]any]
	// Storage replaces that of the turn, unless it is the zero Storage.
	Storage adk.Storage
	// Check is called for every run, and may look into what was made for the run. It may be nil.
	Check func(turn.Run) error
	// Close is called after a run is over and was judged. It may be nil.
	Close func()
}

// Around returns a property for rapid.Check and rapid.MakeFuzz: in every random turn that contains
// the user's code, run twice and replayed, all invariants hold and the user's check passes. make is
// called for each run. A failure prints what is wrong and the rest of the turn, in the smallest
// form that still fails.
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
		mine := make()
		if mine.Close != nil {
			defer mine.Close()
		}
		places := mine.places(t)
		one = mine.calling(t, one)
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

// places draws, for each pipeline, how many of the other middlewares come after the user's.
func (m Mine) places(t *rapid.T) (at [4]int) {
	for i := range at {
		at[i] = rapid.IntRange(0, 3).Draw(t, "place")
	}
	return at
}

// calling returns the turn with calls of the tools added to the first call of its executor.
func (m Mine) calling(t *rapid.T, one turn.Turn) turn.Turn {
	if len(m.Tools) == 0 {
		return one
	}
	seam := adk.Seam{Label: adk.LabelExecutor, Name: cmp.Or(one.Executor, "model")}.String()
	at := slices.IndexFunc(one.Scripts, func(s turn.Script) bool { return s.Seam == seam && s.Occurrence == 0 })
	one.Scripts = slices.Clone(one.Scripts)
	if at < 0 {
		at = len(one.Scripts)
		one.Scripts = append(one.Scripts, turn.Script{Seam: seam})
	}
	body := &one.Scripts[at].Body
	for _, tool := range m.Tools {
		args := map[string]any{}
		if drawn := m.Args[tool.Name()]; drawn != nil {
			args = drawn.Draw(t, tool.Name())
		}
		op := turn.Op{Kind: "execute", Name: tool.Name(), Args: turn.ValueOf(args)}
		body.Ops = slices.Insert(slices.Clone(body.Ops), rapid.IntRange(0, len(body.Ops)).Draw(t, "place"), op)
	}
	return one
}

// withMine returns the turn as a subject, with the user's code in it.
func withMine(t turn.Turn, make func() Mine, at [4]int) turn.Subject {
	var m Mine // of the present run
	subject := t.SubjectWith(turn.Running{Amend: func(c *adk.Config) {
		m = make()
		c.TurnInput = amid(c.TurnInput, m.TurnInput, at[0])
		c.DispatchInput = amid(c.DispatchInput, m.DispatchInput, at[1])
		c.DispatchOutput = amid(c.DispatchOutput, m.DispatchOutput, at[2])
		c.TurnOutput = amid(c.TurnOutput, m.TurnOutput, at[3])
		c.Tools = append(c.Tools, m.Tools...)
		if m.Executor.Run != nil {
			c.Executor = m.Executor
		}
		if m.Storage != (adk.Storage{}) {
			c.Storage = m.Storage
		}
	}})
	begin := subject.Begin
	subject.Build, subject.Open = nil, func(cancel context.CancelCauseFunc) turn.Instance {
		i := begin(cancel)
		i.Check = m.Check
		if m.Close != nil {
			i.Close = m.Close
		}
		return i
	}
	return subject
}

// amid inserts mine into others, before the last at of them.
func amid[M any](others, mine []M, at int) []M {
	at = min(at, len(others))
	return append(append(append([]M(nil), others[:len(others)-at]...), mine...), others[len(others)-at:]...)
}
