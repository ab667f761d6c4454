package calls

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// Within is a new run as far as a recording of it goes that was cut short: its crossings before the
// first one that comes behind all that the recording has of a call. A call is behind that once the last
// thing that was recorded of it is done: what it does then nobody knows, and nothing of the run from
// there on is held against anything. counterparts are, of each recorded crossing, the number of the new
// one in its place, 0 where there is none.
func (t *Tree) Within(recorded *Tree, counterparts []int) *Tree {
	met := map[int]bool{}
	for _, seq := range counterparts {
		met[seq] = true
	}
	first := len(t.Lines) + 1
	behind := func(last int, all ...*adk.Crossing) {
		for _, x := range all {
			if x != nil && x.Seq > last && !met[x.Seq] {
				first = min(first, x.Seq)
			}
		}
	}
	for _, call := range recorded.Calls {
		seq := counterparts[call.Begin.Seq-1]
		if call.Return != nil || seq == 0 {
			continue
		}
		now, last, isLast := t.Calls[t.Lines[seq-1].ID], seq, seq
		for _, s := range call.Steps {
			isLast = counterparts[s.X.Seq-1]
			last = max(last, isLast)
			if isLast > 0 && s.Done == nil {
				t.openWithin(s, isLast, counterparts, behind)
			}
		}
		if now == nil || isLast == 0 {
			continue
		}
		for _, s := range now.Steps {
			behind(last, s.X)
		}
		behind(last, now.Return)
	}
	return NewOf(t.version, t.Info, t.Lines[:first-1:first-1])
}

// openWithin tells what comes behind all that was recorded of an operation that is open where its
// recording was cut.
func (t *Tree) openWithin(s *Step, began int, counterparts []int, behind func(last int, all ...*adk.Crossing)) {
	now := t.StepOf(t.Lines[began-1])
	if now == nil || now.X.Seq != began {
		return
	}
	last := began
	for _, x := range s.below() {
		last = max(last, counterparts[x.Seq-1])
	}
	behind(last, append(now.below(), now.Done)...)
}

// IsWithin reports whether it is known, of what a recording that was cut short has in a call and a new
// run of it lacks, that the new run did not do it: its call, or the operation that it is of, is over there,
// or has come to something later.
func (t *Tree) IsWithin(missing *adk.Crossing, in *Call, counterparts []int) bool {
	seq := counterparts[in.Begin.Seq-1]
	if seq == 0 || t.Calls[t.Lines[seq-1].ID].Return != nil {
		return true
	}
	for _, s := range in.Steps {
		seq := counterparts[s.X.Seq-1]
		switch {
		case seq > 0 && s.X.Seq > missing.Seq:
			return true
		case seq > 0 && (s.Done == missing || slices.Contains(s.below(), missing)): // goroutines do something else meanwhile
			now := t.StepOf(t.Lines[seq-1])
			return now != nil && now.Done != nil
		}
	}
	return false
}

// below are the events and facts of an operation, and the calls that it led to.
func (s *Step) below() []*adk.Crossing {
	all := slices.Clone(s.Notes)
	for _, c := range s.Calls {
		all = append(all, c.Begin)
	}
	return all
}
