package distil

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"regexp"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/modelapi"
	"github.com/adkreplay/adkreplay/internal/state"
)

// observation collects the behaviours of one trace.
type observation struct {
	shown   map[string]bool
	seen    *seams
	fold    *state.Fold
	courses map[int]map[int]*course // by call and strand, within which operations are ordered
	open    map[int]string          // unfinished operations by number
}

// course is what happened in one strand of a call: the last operation, and the count of each.
type course struct {
	last  string
	times map[string]int
}

func newObservation(seen *seams, info adk.RunInfo) *observation {
	seen.configure(&info)
	return &observation{shown: map[string]bool{}, seen: seen, fold: state.New(), courses: map[int]map[int]*course{}, open: map[int]string{}}
}

// take adds the behaviours that a crossing shows.
func (o *observation) take(x *adk.Crossing) {
	x = o.fold.Filled(x)
	_ = o.fold.Apply(x)
	o.seen.take(x)
	within := o.seamOf(x.Call)
	switch x.Kind.Class() {
	case adk.ClassCall:
		if describe.IsClosing(x) {
			o.left(x, within)
		} else {
			o.next(x, within)
		}
	case adk.ClassOperation:
		if describe.IsOpening(x) || x.Phase == adk.Whole {
			o.next(x, within)
		}
		o.failed(x, within)
	case adk.ClassFact:
		o.show("%s in %s", gist(x), within)
		o.answered(x)
	case adk.ClassEvent:
		if tellsEnd(x) {
			o.show("%s in %s", gist(x), within)
		}
		if x.Err != nil {
			o.show("%s in %s with %s", x.Kind, within, describe.FailureName(x.Err))
		}
	}
}

// tellsEnd reports whether an event says how something ended, which no operation does.
func tellsEnd(x *adk.Crossing) bool {
	return slices.ContainsFunc(x.Kind.Fields(x.Phase), func(use adk.FieldUse) bool { return use.Field == adk.FieldStatus })
}

func (o *observation) show(format string, args ...any) { o.shown[fmt.Sprintf(format, args...)] = true }

// seamOf returns the name of a call's seam.
func (o *observation) seamOf(call int) string {
	if c := o.fold.Calls[call]; c != nil {
		return describe.SeamName(c.Seam)
	}
	return "the open"
}

// counter matches a number that code appended to a name, as in "worker 17". It is data, and not
// behaviour.
var counter = regexp.MustCompile(`([ _.#/-])\d+`)

// gist describes a crossing without data.
func gist(x *adk.Crossing) string { return counter.ReplaceAllString(describe.Gist(x), "${1}#") }

// next adds what happens next in a call and strand.
func (o *observation) next(x *adk.Crossing, within string) {
	if o.courses[x.Call] == nil {
		o.courses[x.Call] = map[int]*course{}
	}
	c := o.courses[x.Call][x.Strand]
	if c == nil {
		c = &course{"first", map[string]int{}}
		o.courses[x.Call][x.Strand] = c
	}
	what := gist(x)
	o.show("%s in %s", what, within)
	o.show("%s, then %s in %s", c.last, what, within)
	c.last = what
	c.times[what]++
}

// left adds how a call ended, and how often each operation happened in it.
func (o *observation) left(x *adk.Crossing, within string) {
	name := describe.SeamName(x.Seam)
	if x.Outcome != adk.OutcomeOK {
		o.show("%s in %s ends with %s", name, within, x.Outcome)
	}
	if x.Err != nil {
		o.show("%s in %s fails with %s", name, within, describe.FailureName(x.Err))
	}
	for _, c := range o.courses[x.ID] {
		o.show("%s, then no more in %s", c.last, name)
		for what, n := range c.times {
			if n > 1 {
				o.show("%s in %s %d times or more", what, name, 1<<(bits.Len(uint(n))-1))
			}
		}
	}
	delete(o.courses, x.ID)
}

// failed adds the failure of an operation, if it failed. If the operation has two lines, the first
// one says what it is.
func (o *observation) failed(x *adk.Crossing, within string) {
	what := gist(x)
	switch x.Phase {
	case adk.Begin:
		o.open[x.Op] = what
	case adk.Done:
		what = o.open[x.Op]
		delete(o.open, x.Op)
	}
	if x.Err != nil {
		o.show("%s in %s fails with %s", what, within, describe.FailureName(x.Err))
	}
}

// answered adds the status of an answer, and why a model stopped.
func (o *observation) answered(x *adk.Crossing) {
	whom, ok := o.open[x.Op]
	if !ok || len(x.JSON) == 0 {
		return
	}
	var head httpform.Head
	if json.Unmarshal(x.JSON, &head) == nil && head.Status != 0 {
		o.show("%s is answered with %d", whom, head.Status)
	}
	if stop := modelapi.StopReason(x.JSON); stop != "" {
		o.show("%s stops with %s", whom, stop)
	}
}
