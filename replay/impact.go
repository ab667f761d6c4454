package replay

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/unfed"
)

// impact counts what came of the crossings after the first difference.
func (r *replayed) impact(found []*difference) *Impact {
	b := r.behind(found[0].at)
	b.Ends = r.ends()
	b.Follow += found[0].lines - 1
	return b
}

// ends says how the turn ended, by its last line and its last state.
func (r *replayed) ends() string {
	last := r.want.Lines[len(r.want.Lines)-1]
	if !slices.Contains(r.equal, last.Seq) {
		return "otherwise"
	}
	for _, x := range slices.Backward(r.want.Lines) {
		if x.Kind.Uses(adk.FieldDigest) {
			if slices.Contains(r.equal, x.Seq) {
				break
			}
			return "in another state"
		}
	}
	if slices.ContainsFunc(r.got.Lines, func(x *adk.Crossing) bool { return stub.Lacks(x.Err) }) {
		return "" // it is unknown how the turn would end with an answer
	}
	return "as recorded"
}

// changeOf is what differs, and in which members, without the data: a seam that makes the same
// change twice makes it with other data. It is empty for most things that are missing.
func changeOf(d *difference) string {
	if d.got == nil && d.want != nil && wire.OnlyMakes(d.want) {
		return fmt.Sprintf("%s %s %s", d.class, describe.SeamName(d.call.Begin.Seam), d.want.Kind)
	}
	if d.got == nil {
		return ""
	}
	said := []string{string(d.class), d.call.Begin.Seam.Label, d.call.Begin.Seam.Name, describe.Gist(d.got)}
	if d.want != nil && d.want.Kind == d.got.Kind {
		for _, f := range compare.InDetail(d.want, d.got, d.fields) {
			if field := f.AnyElement(); !slices.Contains(said[4:], field) {
				said = append(said, field)
			}
		}
	}
	return fmt.Sprintf("%q", said)
}

// behind counts the crossings after one, and says which differ on their own.
func (r *replayed) behind(seq int) *Impact {
	b := &Impact{}
	for _, at := range r.equal {
		if at > seq {
			b.Equal++
		}
	}
	change := ""
	var own []*difference
	for i, d := range r.found {
		switch {
		case i == 0 && d.at == seq:
			change = changeOf(d)
		case d.at < seq && !d.own:
		case d.own && change != "" && (changeOf(d) == change || r.changesAlike(r.found[0], d)):
			b.Again += d.lines
		case d.own:
			own = append(own, d)
		default:
			b.Follow += d.lines
		}
	}
	slices.SortStableFunc(own, func(a, b *difference) int { // a report shows the first ones
		switch {
		case a.isGrave() == b.isGrave():
			return 0
		case a.isGrave():
			return -1
		}
		return 1
	})
	for _, d := range own {
		b.Own += d.lines
		b.Causes, b.Apart = append(b.Causes, r.inALine(d)), append(b.Apart, d.apart())
	}
	return b
}

// changesAlike reports whether one line of code, such as one of a client that two tools use, made
// the same change in two calls.
func (r *replayed) changesAlike(a, b *difference) bool {
	if a.want == nil || a.got == nil || b.want == nil || b.got == nil || a.got.Kind != b.got.Kind || a.class != b.class {
		return false
	}
	at, other := r.callers.Of(r.got.OperationOf(a.got)), r.callers.Of(r.got.OperationOf(b.got))
	return len(at) > 0 && len(other) > 0 && at[0] == other[0] && compare.AreAlike(compare.InDetail(a.want, a.got, a.fields), compare.InDetail(b.want, b.got, b.fields))
}

func (r *replayed) inALine(d *difference) string {
	if d.want != nil {
		return fmt.Sprintf("%s at crossing %d: %s", d.class, d.at, r.want.Line(d.want))
	}
	return fmt.Sprintf("%s behind crossing %d: %s", d.class, d.at, r.got.Line(d.got))
}

// apart describes a difference that does not follow from the first.
func (d *difference) apart() Apart {
	a := Apart{What: fmt.Sprintf("%s in %s", d.class, describe.SeamName(d.call.Begin.Seam)), Crossing: d.at}
	x := cmp.Or(d.got, d.want)
	if x.Kind.Class() != adk.ClassCall {
		a.What += ": " + describe.Gist(x)
	}
	if d.want == nil || d.got == nil || d.want.Kind != d.got.Kind {
		return a
	}
	members := []string{}
	fields := slices.Concat(d.unsaid, d.unfed)
	if len(fields) == 0 {
		fields = compare.InDetail(d.want, d.got, d.fields)
	}
	for i, f := range fields {
		if member := f.AnyElement(); f.Of != adk.FieldResult && !slices.Contains(members, member) {
			members = append(members, member)
		}
		if i == 0 {
			a.Shown = f.Lines(width - 4)
		}
	}
	if len(members) > 0 {
		a.What += " " + safetext.Short(members, safetext.Bare) + unfed.Why(d.unfed)
	}
	return a
}
