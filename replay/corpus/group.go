package corpus

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/replay"
)

// group finds the causes of the divergences. Changes at one seam that affect the same traces are
// one cause. Changes that also occur without each other are several causes, and a trace that has
// both is affected by both.
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
		c.Text = c.inFull()
	}
	r.mostHitFirst()
}

// showThePlainest sets First to the trace that shows the cause most plainly, or to the first of
// several equal ones. A trace is better if a new error replaced no recorded error; then, if fewer
// other crossings differ independently; then, if nothing failed before the divergence.
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

// mostHitFirst sorts the causes so that those that affect the most traces come first.
func (r *Report) mostHitFirst() {
	slices.SortStableFunc(r.Causes, func(a, b *CauseReport) int { return cmp.Compare(len(b.Traces), len(a.Traces)) })
}

// joinOrders joins causes in which operations of one kind now come before operations of another
// kind, or in place of others of their own kind. The change is the order in which a list is
// processed; the elements of the list are data.
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

// joinSeams joins causes in which one line of code made the same change in several seams. For
// example, two tools that share a client share a change in it.
func (r *Report) joinSeams(reports map[string]*TraceReport) {
	first := map[string]*CauseReport{}
	r.Causes = slices.DeleteFunc(r.Causes, func(c *CauseReport) bool {
		line, _, _ := strings.Cut(c.First.Divergence.Place, " (")
		if line == "" || c.Seam == "" || c.Class == replay.Panicked || c.Class == replay.ChangedError { // panics and errors have lines and words of their own
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

// kindWord returns the kind at the beginning of an operation's gist.
func kindWord(gist string) string {
	word, _, _ := strings.Cut(gist, " ")
	return word
}

// joinGone joins a cause in which an operation is missing with causes in which a call ended with an
// error, or asked something without an answer, in place of the same operation. In these traces, the
// call returns its last answer where the operation was, or it goes on to something that it did not
// ask in the recorded run; which of the two happens depends on data. joinGone does the same for an
// operation that now comes before another one.
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

// isInThePlaceOf reports whether, in all traces of the cause, an error or an unanswered request
// came in place of the operation gone.
func (c *CauseReport) isInThePlaceOf(gone string, reports map[string]*TraceReport) bool {
	return (c.Class == replay.ChangedError || c.Class == replay.Unanswered) &&
		!slices.ContainsFunc(c.Traces, func(name string) bool { return reports[name].Cause.Gone != gone })
}

// joinErrors joins causes in which the same new error appears at different places. For example, the
// end of a context shows wherever code waits. Errors of the standard library have many origins, so
// their causes stay apart.
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

// everyones lists errors that do not show who made them, by text and by name.
var everyones = []string{context.Canceled.Error(), "context.Canceled", context.DeadlineExceeded.Error(), "context.DeadlineExceeded",
	io.EOF.Error(), "io.EOF", io.ErrUnexpectedEOF.Error(), "io.ErrUnexpectedEOF"}

// newErrors returns the text of the error that replaced what was recorded, and the same text with
// its data masked. Each is included only if it is the same in all traces of the cause.
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

// join adds the traces of a cause that is the same.
func (c *CauseReport) join(same *CauseReport, reports map[string]*TraceReport) {
	c.Traces = append(c.Traces, same.Traces...)
	slices.SortFunc(c.Traces, func(a, b string) int { return cmp.Compare(reports[a].Number, reports[b].Number) })
	c.Traces = slices.Compact(c.Traces)
}

// seamHits holds the changes of one kind of crossing at one seam, each with the traces that it
// affects.
type seamHits struct {
	order []string // the identities of the changes, in order of appearance
	hits  map[string]*changeHits
}

type changeHits struct {
	change Change
	traces []*TraceReport
}

// places groups the divergent traces by the place of their divergence, in the order in which the
// places first occur.
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

// fewestCauses finds the causes of the traces that diverged at one place. If several changes come
// from one new error that replaced different recorded results, the error is the cause: what it
// replaced is data, and what is missing with it follows from it.
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

// causesOf finds the causes from the changes alone.
func causesOf(traces []*TraceReport) []*CauseReport {
	s := &seamHits{hits: map[string]*changeHits{}}
	for _, t := range traces {
		s.add(t)
	}
	s.merge()
	return s.causes()
}

// newErrors groups the traces by the new error in them, with its data masked. The change of each
// group is the whole error, or the zero Change for traces without a new error.
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

// add adds the changes of a trace. A crossing that is missing or extra has no changes and counts as
// one change.
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
		// If traces share only what today's code says, what it replaced varies.
		h.change.Various = h.change.Various || h.change.Removed != change.Removed
		h.change.alsoWas(change)
		if last := len(h.traces) - 1; last < 0 || h.traces[last] != t {
			h.traces = append(h.traces, t)
		}
	}
}

// longestExample is how long, in bytes, an example of a change may be.
const longestExample = 40

// alsoWas clears Was and Now of a change if another trace has other values, and keeps both pairs as
// examples. For the number of pieces of a text, Now stays if only the recorded number differs.
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

// alsoAs adds the values of another change to the examples, unless they are there already. It adds
// leftOut in place of long values.
func (c *Change) alsoAs(other Change) {
	as := other.Was + " → " + other.Now
	if len(as) > longestExample {
		as = leftOut
	}
	if other.Was != "" {
		c.also(as)
	}
}

// also adds an example unless it is there already or there are enough.
func (c *Change) also(as string) {
	var all []string
	if c.As != "" {
		all = strings.Split(c.As, betweenExamples)
	}
	if !slices.Contains(all, as) && len(all) <= mostChanges {
		c.As = strings.Join(append(all, as), betweenExamples)
	}
}

// betweenExamples separates the examples in Change.As, and leftOut represents long examples.
const (
	betweenExamples = "; "
	leftOut         = "…"
)

// examples splits Change.As into examples, with leftOut last. It returns nil if there is nothing
// but leftOut.
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

// causes makes one cause of the changes that affect the same traces.
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

// absorbed removes the causes that another cause covers. If today's code says one thing whatever
// was recorded, what that replaced in some traces belongs to the same change. So do the differing
// times of one crossing, some of which may be as they were.
func absorbed(all []*CauseReport) []*CauseReport {
	return slices.DeleteFunc(slices.Clone(all), func(c *CauseReport) bool {
		return slices.ContainsFunc(all, func(whole *CauseReport) bool { return whole != c && whole.covers(c) })
	})
}

// isOfTimes reports whether only times differ in the changes of a cause.
func (c *CauseReport) isOfTimes() bool {
	return len(c.Changes) > 0 && !slices.ContainsFunc(c.Changes, func(change Change) bool {
		return !slices.ContainsFunc(c.First.Divergence.Fields, func(f replay.FieldDiff) bool {
			return f.AnyElement() == change.Field && compare.DifferInTimes([]replay.FieldDiff{f})
		})
	})
}

// covers reports whether a cause affects all traces of another one and explains its changes: either
// only times differ in both, or for each field of the other, this cause has one text that replaced
// whatever was recorded.
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

// firstMember returns the first member of a path.
func firstMember(path string) string {
	first, _, _ := strings.Cut(path, ".")
	return strings.TrimSuffix(first, "[]")
}

// cause returns the cause that consists of the given changes and affects the traces of h.
func (h *changeHits) cause(changes ...Change) *CauseReport {
	c := &CauseReport{Cause: *h.traces[0].Cause, First: h.traces[0]}
	c.Changes, c.NewError = changes, nil
	for _, t := range h.traces {
		c.Traces = append(c.Traces, t.Trace)
	}
	return c
}

// fewestVarious is how many traces with different words in the same frame prove that the frame is
// filled with data. Two are not enough.
const fewestVarious = 3

// merge merges changes that differ only in data: with the same signs between different words; with
// the words now in capitals or in small letters; with the trace's own words in one template;
// computed by one line of code; or, if they affect one trace each, with different words in the same
// frame.
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

// computed returns a key of the field, the kind of data and the line of code, for a result in which
// data replaced data. Code that computes a value gives as many results as there are arguments, so
// what is next to the value does not matter. It returns "" for other changes.
func (h *changeHits) computed() string {
	d := h.traces[0].Divergence
	if c := h.change; d.Class == replay.ChangedResult && d.Place != "" && c.Removed == c.Added && c.Added != "" && !hasWord(c.Added) {
		return fmt.Sprintf("%q", []string{c.Field, c.Added, d.Place})
	}
	return ""
}

// blurred returns a piece with a mask where the other piece differs from it.
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

// mergeBy merges changes with the same key if there are enough of them. Changes with an empty key
// stay as they are.
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
		if first[key].meets(h) { // two changes in one trace stay two
			return false
		}
		first[key].take(h)
		blur(&first[key].change, h.change)
		return true
	})
}

// meets reports whether a trace is affected by both changes.
func (h *changeHits) meets(other *changeHits) bool {
	return slices.ContainsFunc(h.traces, func(t *TraceReport) bool { return slices.Contains(other.traces, t) })
}

// take adds the traces of another change.
func (h *changeHits) take(other *changeHits) {
	h.change.Various = h.change.Various || other.change.Various
	h.change.alsoWas(other.change)
	h.traces = append(h.traces, other.traces...)
	slices.SortStableFunc(h.traces, func(a, b *TraceReport) int { return cmp.Compare(a.Number, b.Number) })
	h.traces = slices.Compact(h.traces)
}

// place identifies where a cause is, without what changed there.
func (c *Cause) place() string {
	return fmt.Sprintf("%q", []string{string(c.Class), c.Seam, c.Kind, c.At})
}

// frame returns the field and the words next to the piece. They are the same if a template is
// filled with different data in each trace.
func (c Change) frame() string { return fmt.Sprintf("%q", []string{c.Field, c.Left, c.Right}) }

// signs returns the field and the pieces if the pieces are only signs, which are next to the
// trace's own words. It returns "" if they contain a word or a number.
func (c Change) signs() string {
	if pieces := c.Removed + c.Added; pieces == "" || hasWord(pieces) || strings.ContainsAny(pieces, "‹›") {
		return ""
	}
	return fmt.Sprintf("%q", []string{c.Field, c.Removed, c.Added})
}

// letters returns a key if the whole text is the recorded one in capitals or in small letters, and
// otherwise "".
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

// templateKey returns the field and the template, with the frame if the template has no word of its
// own. It returns "" if there is no template.
func (c Change) templateKey() string {
	switch {
	case c.Template == "":
		return ""
	case hasWord(c.Template):
		return fmt.Sprintf("%q", []string{c.Field, c.Template})
	}
	return fmt.Sprintf("%q", []string{c.Field, c.Template, c.Left, c.Right})
}

// identity returns a key of the field and what is there now, so that different recorded texts that
// today's code replaces with one text have one cause. If there is nothing now, the key has what is
// gone. If neither contains a word, it also has the words next to the piece.
func (c Change) identity() string {
	switch {
	case hasWord(c.Added):
		return fmt.Sprintf("%q", []string{c.Field, "+", c.Added})
	case hasWord(c.Removed):
		return fmt.Sprintf("%q", []string{c.Field, "-", c.Removed, c.Added})
	}
	return c.key()
}
