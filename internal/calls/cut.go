package calls

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// Within returns the part of a new run that can be compared with a recording that was cut short:
// its crossings before the first one that lies beyond the recording. A crossing lies beyond if its
// call was still open when the recording was cut, and the call has already done the last thing that
// was recorded of it; what the call did next in the recorded run is not known. counterparts holds,
// for each recorded crossing, the number of its counterpart in the new run, or 0 if there is none.
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

// openWithin calls behind with the crossings of an operation that lie beyond the recording, if the
// operation was open when the recording was cut.
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

// IsWithin reports whether the new run certainly did not do what missing records. missing is a
// crossing of the call in, in a recording that was cut short. The answer is certain if the new
// run's call, or the operation that missing belongs to, has ended, or if the call has already done
// something that the recording has after missing.
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
		case seq > 0 && (s.Done == missing || slices.Contains(s.below(), missing)): // meanwhile other goroutines may do something else
			now := t.StepOf(t.Lines[seq-1])
			return now != nil && now.Done != nil
		}
	}
	return false
}

// below returns the events and facts of an operation, and the beginnings of the calls that it led
// to.
func (s *Step) below() []*adk.Crossing {
	all := slices.Clone(s.Notes)
	for _, c := range s.Calls {
		all = append(all, c.Begin)
	}
	return all
}
