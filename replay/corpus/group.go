package corpus

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay"
)

// group finds the causes of the divergences. Changes at one seam that hit the
// same traces are one cause; those that come without each other are several, and
// a trace that has both is hit by both.
func (r *Report) group() {
	r.Causes = []*CauseReport{}
	for _, traces := range r.places() {
		r.Causes = append(r.Causes, fewestCauses(traces)...)
	}
	reports := map[string]*TraceReport{}
	for _, t := range r.Traces {
		reports[t.Trace] = t
	}
	r.joinGone(reports)
	r.joinOrders(reports)
	r.joinSeams(reports)
	r.mostHitFirst()
	r.joinErrors(reports)
	for _, c := range r.Causes {
		c.showThePlainest(reports)
		c.gatherApart(reports)
		for _, name := range c.Traces {
			if of := reports[name].Cause; of.Kind == c.Kind {
				c.Asked = alike(c.Asked, of.Asked)
			}
		}
		c.Text = c.Cause.String()
		if c.Also != "" {
			c.Text += " and " + safetext.Bare(c.Also)
		}
		if c.Beside != "" {
			c.Text += ", " + safetext.Bare(c.Beside)
		}
		if c.Instead != "" {
			c.Text += ", " + safetext.Bare(c.Instead)
		}
	}
	r.mostHitFirst()
}

// showThePlainest shows the trace in which the cause is plainest, the first of several: where an error
// came that is new, one in which none was recorded; one in which the fewest other crossings differ on
// their own; and one in which nothing had failed before.
func (c *CauseReport) showThePlainest(reports map[string]*TraceReport) {
	hides := func(t *TraceReport) (all []int) {
		isNew := func(f replay.FieldDiff) bool { return f.Field == fieldErr && f.Want == "" && f.Got != "" }
		all = make([]int, 3)
		if c.Class == replay.ChangedError && !slices.ContainsFunc(t.Divergence.Fields, isNew) {
			all[0] = 1
		}
		if t.Divergence.After != nil {
			all[1] = t.Divergence.After.Own
		}
		if t.Cause.AfterFailure {
			all[2] = 1
		}
		return all
	}
	for _, name := range c.Traces {
		if t := reports[name]; t.Cause.place() == c.First.Cause.place() && slices.Compare(hides(t), hides(c.First)) < 0 {
			c.First = t
		}
	}
}

// mostHitFirst puts the causes first that hit the most traces.
func (r *Report) mostHitFirst() {
	slices.SortStableFunc(r.Causes, func(a, b *CauseReport) int { return cmp.Compare(len(b.Traces), len(a.Traces)) })
}

// joinOrders makes one cause of operations of a kind that come before others of a kind now, or
// in the place of one of their own kind: in which order a list is gone through is one thing,
// and what the list holds is data.
func (r *Report) joinOrders(reports map[string]*TraceReport) {
	first := map[string]*CauseReport{}
	r.Causes = slices.DeleteFunc(r.Causes, func(c *CauseReport) bool {
		other := c.Gone
		if c.Came != "" && kindWord(c.Came) == kindWord(c.Kind) {
			other = c.Kind
		}
		if c.Class != replay.Order && c.Class != replay.Missing || other == "" {
			return false
		}
		key := fmt.Sprintf("%q", []string{string(c.Class), c.Seam, kindWord(c.Kind), kindWord(other)})
		if first[key] == nil {
			first[key] = c
			return false
		}
		first[key].join(c, reports)
		return true
	})
}

// joinSeams makes one cause of what one line of code does otherwise in several seams: two tools that
// share a client share its change.
func (r *Report) joinSeams(reports map[string]*TraceReport) {
	first := map[string]*CauseReport{}
	r.Causes = slices.DeleteFunc(r.Causes, func(c *CauseReport) bool {
		line, _, _ := strings.Cut(c.First.Divergence.Place, " (")
		if line == "" || c.Seam == "" || c.Class == replay.Panicked || c.Class == replay.ChangedError { // those have lines and words of their own
			return false
		}
		key := []string{string(c.Class), c.Kind, line}
		for _, change := range c.Changes {
			key = append(key, change.identity())
		}
		same := first[fmt.Sprintf("%q", key)]
		if same == nil || same.Seam == c.Seam {
			first[fmt.Sprintf("%q", key)] = cmp.Or(same, c)
			return false
		}
		if !slices.Contains(same.AlsoIn, c.Seam) {
			same.AlsoIn = append(same.AlsoIn, c.Seam)
		}
		same.join(c, reports)
		return true
	})
}

// kindWord is the kind in the gist of an operation.
func kindWord(gist string) string {
	word, _, _ := strings.Cut(gist, " ")
	return word
}

// joinGone makes one cause of an operation that is missing in some traces, and of calls that end
// with an error or ask what has no answer in its place in others: they return there what they
// were answered last, and come then to what they did not ask, which is data. So it is with an
// operation that comes before another one now.
func (r *Report) joinGone(reports map[string]*TraceReport) {
	for _, c := range slices.Clone(r.Causes) {
		gone := c.Kind
		switch {
		case c.Class == replay.Order:
			gone = c.Gone
		case c.Class != replay.Missing:
			continue
		}
		if gone == "" || len(c.Changes) > 0 {
			continue
		}
		r.Causes = slices.DeleteFunc(r.Causes, func(other *CauseReport) bool {
			if other.Seam != c.Seam || !other.isInThePlaceOf(gone, reports) || c.Class == replay.Order && other.Kind != c.Kind {
				return false
			}
			c.join(other, reports)
			return true
		})
	}
}

// isInThePlaceOf reports whether an error or a question without an answer came in the place of
// an operation, in all traces of the cause.
func (c *CauseReport) isInThePlaceOf(gone string, reports map[string]*TraceReport) bool {
	return (c.Class == replay.ChangedError || c.Class == replay.Unanswered) &&
		!slices.ContainsFunc(c.Traces, func(name string) bool { return reports[name].Cause.Gone != gone })
}

// joinErrors makes one cause of an error that is new at one place in some traces, and at another
// in others: what ends a context, say, shows wherever somebody waits. Errors of the standard
// library's come of many things, and stay apart.
func (r *Report) joinErrors(reports map[string]*TraceReport) {
	first := map[string]*CauseReport{}
	r.Causes = slices.DeleteFunc(r.Causes, func(c *CauseReport) bool {
		said := c.newErrors(reports)
		for _, text := range said {
			if first[text] != nil {
				first[text].join(c, reports)
				return true
			}
		}
		for _, text := range said {
			first[text] = c
		}
		return false
	})
}

// everyones are errors that say nothing of who made them, as text and by name.
var everyones = []string{context.Canceled.Error(), "context.Canceled", context.DeadlineExceeded.Error(), "context.DeadlineExceeded",
	io.EOF.Error(), "io.EOF", io.ErrUnexpectedEOF.Error(), "io.ErrUnexpectedEOF"}

// newErrors are the text of the error that came in the place of whatever was recorded, and the
// same without what is data, each where it is one in all its traces.
func (c *CauseReport) newErrors(reports map[string]*TraceReport) (all []string) {
	if c.Class != replay.ChangedError {
		return nil
	}
	for _, text := range []func(*Change) string{func(c *Change) string { return c.Added }, func(c *Change) string { return c.Template }} {
		said := map[string]bool{}
		for _, name := range c.Traces {
			if came := reports[name].Cause.NewError; came != nil {
				said[text(came)] = true
			} else {
				said[""] = true
			}
		}
		for one := range said {
			if len(said) == 1 && hasWord(one) && !slices.Contains(everyones, one) {
				all = append(all, one)
			}
		}
	}
	return all
}

// join takes in the traces of a cause that is the same.
func (c *CauseReport) join(same *CauseReport, reports map[string]*TraceReport) {
	c.Traces = append(c.Traces, same.Traces...)
	slices.SortFunc(c.Traces, func(a, b string) int { return cmp.Compare(reports[a].Number, reports[b].Number) })
	c.Traces = slices.Compact(c.Traces)
}

// seamHits are the changes of one kind of crossing at one seam, each with the
// traces that it hits.
type seamHits struct {
	order []string // the identities of the changes, as they came
	hits  map[string]*changeHits
}

type changeHits struct {
	change Change
	traces []*TraceReport
}

// places are the traces that diverged by the places where they did, in the order in
// which each comes first.
func (r *Report) places() (all [][]*TraceReport) {
	known := map[string]int{}
	for _, t := range r.Traces {
		if t.Divergence == nil {
			continue
		}
		at, found := known[t.Cause.place()]
		if !found {
			at = len(all)
			known[t.Cause.place()], all = at, append(all, nil)
		}
		all[at] = append(all[at], t)
	}
	return all
}

// fewestCauses finds the causes of the traces that diverged at one place. Where
// several changes are those of one error that came in the place of whatever was
// recorded, that is the cause: what it took the place of is data, and what is gone
// with that follows.
func fewestCauses(traces []*TraceReport) []*CauseReport {
	byChange := causesOf(traces)
	if len(byChange) == 1 {
		return byChange
	}
	byError, rest := []*CauseReport{}, []*TraceReport{}
	for _, h := range newErrors(traces) {
		if h.change.Field != "" && len(causesOf(h.traces)) > 1 {
			byError = append(byError, h.cause(h.change))
		} else {
			rest = append(rest, h.traces...)
		}
	}
	slices.SortFunc(rest, func(a, b *TraceReport) int { return cmp.Compare(a.Number, b.Number) })
	if byError = append(byError, causesOf(rest)...); len(byError) < len(byChange) {
		return byError
	}
	return byChange
}

// causesOf finds the causes by the changes alone.
func causesOf(traces []*TraceReport) []*CauseReport {
	s := &seamHits{hits: map[string]*changeHits{}}
	for _, t := range traces {
		s.add(t)
	}
	s.merge()
	return s.causes()
}

// newErrors are the traces by the errors that came in them, the data of each apart,
// as changes to those errors as a whole. Where no error came the change is none.
func newErrors(traces []*TraceReport) (all []*changeHits) {
	known := map[string]*changeHits{}
	for _, t := range traces {
		var change Change
		if t.Cause.NewError != nil {
			change = *t.Cause.NewError
		}
		h := known[change.Template]
		if h == nil {
			h = &changeHits{change: change}
			known[change.Template], all = h, append(all, h)
		}
		h.change.Added = blurred(h.change.Added, change.Added)
		h.traces = append(h.traces, t)
	}
	return all
}

// add takes the changes of a trace in. A crossing that is missing or extra has
// none, and is a change by itself.
func (s *seamHits) add(t *TraceReport) {
	changes := t.Cause.Changes
	if len(changes) == 0 {
		changes = []Change{{}}
	}
	for _, change := range changes {
		id := change.identity()
		if s.hits[id] == nil {
			s.hits[id] = &changeHits{change: change}
			s.order = append(s.order, id)
		}
		h := s.hits[id]
		// Where only what today's code says is the same, what it took the place
		// of is not.
		h.change.Various = h.change.Various || h.change.Removed != change.Removed
		h.change.alsoWas(change)
		if last := len(h.traces) - 1; last < 0 || h.traces[last] != t {
			h.traces = append(h.traces, t)
		}
	}
}

// longestExample is how long a change may be that stands for others, in bytes.
const longestExample = 40

// alsoWas drops the values of a change where they are others in another trace. In how many
// pieces a text is said today is told where it is one number, whatever was recorded.
func (c *Change) alsoWas(other Change) {
	if other.As == "" && (c.Was != other.Was || c.Now != other.Now || c.As != "") {
		c.alsoAs(*c)
		c.alsoAs(other)
	}
	for _, as := range other.examples() {
		c.also(as)
	}
	if c.Various || c.Now != other.Now {
		c.Was, c.Now = "", ""
	} else if c.Was != other.Was {
		if c.Was = ""; c.Field != compare.FieldPieces {
			c.Now = ""
		}
	}
}

// alsoAs adds the values of a change to the examples, where they are none of them: long ones as one
// that is left out.
func (c *Change) alsoAs(other Change) {
	as := other.Was + " → " + other.Now
	if len(as) > longestExample {
		as = leftOut
	}
	if other.Was != "" {
		c.also(as)
	}
}

// also adds an example where it is none of those that there are, and they are few.
func (c *Change) also(as string) {
	var all []string
	if c.As != "" {
		all = strings.Split(c.As, betweenExamples)
	}
	if !slices.Contains(all, as) && len(all) <= mostChanges {
		c.As = strings.Join(append(all, as), betweenExamples)
	}
}

// betweenExamples stands between two of Change.As, and leftOut for those that are long.
const (
	betweenExamples = "; "
	leftOut         = "…"
)

// examples are those of Change.As, the one that is left out at last; none where no other is there.
func (c *Change) examples() []string {
	if c.As == "" || c.As == leftOut {
		return nil
	}
	all := strings.Split(c.As, betweenExamples)
	if at := slices.Index(all, leftOut); at >= 0 {
		all = append(slices.Delete(all, at, at+1), leftOut)
	}
	return all
}

// causes puts the changes together that hit the same traces.
func (s *seamHits) causes() (all []*CauseReport) {
	known := map[string]*CauseReport{}
	for _, id := range s.order {
		h := s.hits[id]
		var key strings.Builder
		for _, t := range h.traces {
			fmt.Fprintf(&key, "%d ", t.Number)
		}
		c := known[key.String()]
		if c == nil {
			c = h.cause()
			known[key.String()] = c
			all = append(all, c)
		}
		if h.change != (Change{}) {
			c.Changes = append(c.Changes, h.change)
		}
	}
	return absorbed(all)
}

// absorbed leaves out the causes that follow from another: where today's code says one
// thing whatever was recorded, what is gone of that in some traces is the same change, and so are
// the times of one crossing, of which some may be as they were.
func absorbed(all []*CauseReport) []*CauseReport {
	return slices.DeleteFunc(slices.Clone(all), func(c *CauseReport) bool {
		return slices.ContainsFunc(all, func(whole *CauseReport) bool { return whole != c && whole.covers(c) })
	})
}

// isOfTimes reports whether nothing but times differs in the changes of a cause.
func (c *CauseReport) isOfTimes() bool {
	return len(c.Changes) > 0 && !slices.ContainsFunc(c.Changes, func(change Change) bool {
		return !slices.ContainsFunc(c.First.Divergence.Fields, func(f replay.FieldDiff) bool {
			return f.AnyElement() == change.Field && compare.DifferInTimes([]replay.FieldDiff{f})
		})
	})
}

// covers reports whether a cause hits all traces of another, in the fields of that, with
// one text in the place of whatever was recorded, or in times as that does.
func (c *CauseReport) covers(part *CauseReport) bool {
	for _, name := range part.Traces {
		if !slices.Contains(c.Traces, name) {
			return false
		}
	}
	if c.isOfTimes() && part.isOfTimes() {
		return true
	}
	return len(part.Changes) > 0 && !slices.ContainsFunc(part.Changes, func(p Change) bool {
		return !slices.ContainsFunc(c.Changes, func(w Change) bool {
			return w.Various && w.Added != "" && firstMember(w.Field) == firstMember(p.Field)
		})
	})
}

// firstMember is the field that a path begins with.
func firstMember(path string) string {
	first, _, _ := strings.Cut(path, ".")
	return strings.TrimSuffix(first, "[]")
}

// cause is the cause of these changes, which hit the same traces.
func (h *changeHits) cause(changes ...Change) *CauseReport {
	c := &CauseReport{Cause: *h.traces[0].Cause, First: h.traces[0]}
	c.Changes, c.NewError = changes, nil
	for _, t := range h.traces {
		c.Traces = append(c.Traces, t.Trace)
	}
	return c
}

// fewestVarious is how many single traces in one frame show that it is filled
// with other data in each: two are no evidence.
const fewestVarious = 3

// merge makes one of the changes that differ in nothing but data: in the words beside
// the same signs, in the words that are in capitals now, in the words that are the trace's
// own, in what one line computes, or, where they hit one trace each, in the words in one frame.
func (s *seamHits) merge() {
	s.mergeBy(2, func(h *changeHits) string { return h.change.signs() }, func(*Change, Change) {})
	s.mergeBy(2, func(h *changeHits) string { return h.change.letters() }, func(c *Change, other Change) {
		mask := maskSmall
		if other.Added == strings.ToUpper(other.Removed) {
			mask = maskCapitals
		}
		c.Removed, c.Added, c.Template, c.Various = mask, mask, "", false
	})
	s.mergeBy(2, func(h *changeHits) string { return h.change.templateKey() }, func(c *Change, other Change) {
		c.Removed, c.Added = blurred(c.Removed, other.Removed), blurred(c.Added, other.Added)
	})
	s.mergeBy(2, (*changeHits).computed, func(*Change, Change) {})
	s.mergeBy(fewestVarious, func(h *changeHits) string {
		if len(h.traces) > 1 {
			return ""
		}
		return h.change.frame()
	}, func(c *Change, _ Change) { c.Removed, c.Added, c.Various = "", "", true })
}

// computed are the field and the kind of data of a result that is data in the place of data, with the
// line of code that it comes behind, whatever stands beside it: of one way to compute it there are as
// many results as there are arguments. It is empty of all else.
func (h *changeHits) computed() string {
	d := h.traces[0].Divergence
	if c := h.change; d.Class == replay.ChangedResult && d.Place != "" && c.Removed == c.Added && c.Added != "" && !hasWord(c.Added) {
		return fmt.Sprintf("%q", []string{c.Field, c.Added, d.Place})
	}
	return ""
}

// blurred is a piece with a mask where another piece differs from it.
func blurred(text, other string) string {
	a, b := tokensOf(text), tokensOf(other)
	hunks, _ := hunksOf(a, b)
	at, all := 0, []token{}
	for _, h := range hunks {
		all = append(append(all, a[at:h.fromA]...), token{masked: maskData, spaced: h.fromA < len(a) && a[h.fromA].spaced})
		at = h.toA
	}
	return piece(append(all, a[at:]...))
}

// mergeBy merges the changes that have one key, if there are enough of them.
// Those with an empty key stay as they are.
func (s *seamHits) mergeBy(enough int, keyOf func(*changeHits) string, blur func(*Change, Change)) {
	counts, keys := map[string]int{}, map[string]string{}
	for _, id := range s.order {
		keys[id] = keyOf(s.hits[id])
		counts[keys[id]]++
	}
	first := map[string]*changeHits{}
	s.order = slices.DeleteFunc(s.order, func(id string) bool {
		h, key := s.hits[id], keys[id]
		if key == "" || counts[key] < enough {
			return false
		}
		if first[key] == nil {
			first[key] = h
			return false
		}
		if first[key].meets(h) { // two in one trace are two
			return false
		}
		first[key].take(h)
		blur(&first[key].change, h.change)
		return true
	})
}

// meets reports whether a trace is hit by both changes.
func (h *changeHits) meets(other *changeHits) bool {
	return slices.ContainsFunc(h.traces, func(t *TraceReport) bool { return slices.Contains(other.traces, t) })
}

// take takes the traces of another change in.
func (h *changeHits) take(other *changeHits) {
	h.change.Various = h.change.Various || other.change.Various
	h.change.alsoWas(other.change)
	h.traces = append(h.traces, other.traces...)
	slices.SortStableFunc(h.traces, func(a, b *TraceReport) int { return cmp.Compare(a.Number, b.Number) })
	h.traces = slices.Compact(h.traces)
}

// place is where a cause is: what changed there is not in it.
func (c *Cause) place() string {
	return fmt.Sprintf("%q", []string{string(c.Class), c.Seam, c.Kind, c.At})
}

// frame is the field and what stands beside the piece: the same where a template
// is filled with other data in each trace.
func (c Change) frame() string { return fmt.Sprintf("%q", []string{c.Field, c.Left, c.Right}) }

// signs are the field and the pieces where they are signs alone, which stand beside the
// trace's own words; empty where a word or a number is in them.
func (c Change) signs() string {
	if pieces := c.Removed + c.Added; pieces == "" || hasWord(pieces) || strings.ContainsAny(pieces, "‹›") {
		return ""
	}
	return fmt.Sprintf("%q", []string{c.Field, c.Removed, c.Added})
}

// letters are the field, and that the whole text is the recorded one in capitals, or in small
// letters: empty of others.
func (c Change) letters() string {
	if c.Left+c.Right != "" || c.Removed == c.Added || !hasWord(c.Removed) {
		return ""
	}
	switch c.Added {
	case strings.ToUpper(c.Removed):
		return fmt.Sprintf("%q", []string{c.Field, "capitals"})
	case strings.ToLower(c.Removed):
		return fmt.Sprintf("%q", []string{c.Field, "small letters"})
	}
	return ""
}

// templateKey is the field and the template, with the frame where the template
// has no word of its own; empty where there is no template.
func (c Change) templateKey() string {
	switch {
	case c.Template == "":
		return ""
	case hasWord(c.Template):
		return fmt.Sprintf("%q", []string{c.Field, c.Template})
	}
	return fmt.Sprintf("%q", []string{c.Field, c.Template, c.Left, c.Right})
}

// identity is the field and what stands there now: recordings that had several
// things where today's code says one are of one cause. Where today's code has
// nothing, it is what is gone; and where neither says a word, what stands
// beside.
func (c Change) identity() string {
	switch {
	case hasWord(c.Added):
		return fmt.Sprintf("%q", []string{c.Field, "+", c.Added})
	case hasWord(c.Removed):
		return fmt.Sprintf("%q", []string{c.Field, "-", c.Removed, c.Added})
	}
	return c.key()
}
