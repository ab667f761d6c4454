// Package unfed finds the members of requests that differ without following from anything that the
// turn was given: for example another model, or an additional header, after a prompt that has
// changed, too.
package unfed

import (
	"regexp"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// Pair is an ask of the recorded run and its counterpart, with the fields that differ, taken apart
// by compare.InDetail.
type Pair struct {
	Want, Got *adk.Crossing
	Fields    []compare.FieldDiff
	Told      bool // the report shows all of them already
}

// asker is a seam that asks and the service that it asks.
type asker struct{ seam, name string }

// member is a member of a request, as it was and as it is.
type member struct {
	of               asker
	field, want, got string
}

// finder finds members in two runs.
type finder struct {
	known        wire.Comparer
	got          *calls.Tree
	changed      map[member]int // how many asks have a member changed in this way
	asked, today map[asker]int  // how often an asker asked in the recording, and asks today
	looked       int            // how many members were looked for
}

// mostLooked is how many members are looked for in what came before an ask; each time all of it is
// searched. Code with more differences has changed more than a list can show.
const mostLooked = 32

// In finds, in two complete runs, the members of differing asks that nothing feeds. It returns them
// for each pair, without those that an earlier pair has or that are told already.
func In(known wire.Comparer, want, got *calls.Tree, pairs []Pair) [][]compare.FieldDiff {
	found := make([][]compare.FieldDiff, len(pairs))
	if len(pairs) == 0 {
		return found
	}
	f := &finder{known: known, got: got, changed: map[member]int{}, asked: asksIn(want), today: asksIn(got)}
	said, looked := map[string]bool{}, map[member]bool{}
	for _, p := range pairs {
		for _, d := range p.Fields {
			f.changed[memberOf(want, p, d)]++
			said[d.String()] = said[d.String()] || p.Told
		}
	}
	for i, p := range pairs {
		for _, d := range p.Fields {
			m := memberOf(want, p, d)
			if !said[d.String()] && !looked[m] && f.isUnfed(m, p, d) {
				found[i], said[d.String()] = append(found[i], d), true
			}
			looked[m] = true
		}
	}
	return found
}

// asksIn counts how often each asker asks in a run.
func asksIn(run *calls.Tree) map[asker]int {
	count := map[asker]int{}
	for _, x := range run.Lines {
		if wire.Asks(x) {
			count[askerOf(run, x)]++
		}
	}
	return count
}

func askerOf(in *calls.Tree, x *adk.Crossing) asker {
	seam := in.SeamOf(x)
	return asker{seam.Label + "/" + seam.Name, x.Name}
}

func memberOf(in *calls.Tree, p Pair, d compare.FieldDiff) member {
	return member{askerOf(in, p.Want), d.Field, d.Want, d.Got}
}

// isUnfed reports whether nothing feeds a member. That is so if every ask of this asker has the
// same change, as is usual for something that code says itself, and if the new value appears in
// nothing that came before. A number is computed from data more easily than a word, and something
// that is gone appears nowhere, so these two need at least two asks. The effect of an ask is always
// said by code.
func (f *finder) isUnfed(m member, p Pair, d compare.FieldDiff) bool {
	n := f.changed[m]
	switch word := word.MatchString(d.Got); {
	case d.Of == adk.FieldStatus:
		return true
	case madeByReplay.MatchString(d.Got): // it stands for a recorded id that something else has
		return false
	case n != f.asked[m.of] || n != f.today[m.of] || !isScalar(d):
		return false
	case !word:
		return n > 1
	}
	f.looked++
	return f.looked <= mostLooked && !f.isSaid(strings.Trim(d.Got, `"`), p.Got)
}

// Why says why members are shown in addition to what the ask follows from. They may follow from it
// all the same, where code chooses one word or another.
func Why(members []compare.FieldDiff) string {
	switch {
	case slices.ContainsFunc(members, func(d compare.FieldDiff) bool { return word.MatchString(d.Got) && d.Of != adk.FieldStatus }):
		return ", which nothing before it says"
	case slices.ContainsFunc(members, func(d compare.FieldDiff) bool { return d.Of != adk.FieldStatus }):
		return ", the same in all its asks"
	}
	return ""
}

// Worded returns the fields that differ in words, and not only in numbers, times and ids: in what
// code says, and in what is there or not.
func Worded(fields []compare.FieldDiff) (said []compare.FieldDiff) {
	for _, d := range fields {
		if numbered.ReplaceAllString(d.Want, "") != numbered.ReplaceAllString(d.Got, "") {
			said = append(said, d)
		}
	}
	return said
}

// numbered matches parts of a text that contain a number, such as an id or a time, and the names in
// times.
var numbered = regexp.MustCompile(`[\pL-]*\d[\pL\d:.+-]*|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\pL*`)

// isScalar reports whether what differs is a single value of the request, or of an object in it.
// Members of lists, which are histories and results, follow from others.
func isScalar(d compare.FieldDiff) bool {
	isOne := func(v string) bool { return !strings.HasPrefix(v, "{") && !strings.HasPrefix(v, "[") }
	return d.Input && strings.Contains(d.Field, ".") && !strings.Contains(d.Field, "[") && isOne(d.Want) && isOne(d.Got) && !isMade(d.Want) && !isMade(d.Got)
}

// isMade reports whether a value is a text of several words, or a digest: both are made of other
// values.
func isMade(value string) bool { return strings.ContainsAny(value, " \\") || digest.MatchString(value) }

// word is a text that somebody has written into code, and digest a part of a computed one.
var (
	word   = regexp.MustCompile(`^"[^"]*\pL[^"]*"$`)
	digest = regexp.MustCompile(`[0-9A-Za-z]{16,}`)
)

// madeByReplay matches ids that a replay made where no recorded one was left.
var madeByReplay = regexp.MustCompile(`\b` + wire.MadeByReplay + `\d+\b`)

// isSaid reports whether a text appears in what came before an ask, apart from what code says
// itself and what it asked before.
func (f *finder) isSaid(text string, ask *adk.Crossing) bool {
	return slices.ContainsFunc(f.got.Lines[:ask.Seq-1], func(x *adk.Crossing) bool {
		if wire.Asks(x) || wire.IsLog(x) || x.Kind.Class() == adk.ClassEvent {
			return false
		}
		return slices.ContainsFunc(x.Kind.Fields(x.Phase), func(use adk.FieldUse) bool {
			return strings.Contains(f.known.Text(use.Field, x), text)
		})
	})
}
