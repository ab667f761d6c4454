package distil

import (
	"fmt"
	"maps"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// seams collects the user code in all traces, and what happened to it.
type seams struct {
	known map[string]string // the seams that can be entered, with the word for it: "entered" or "called"
	calls map[string]*fate  // by seam path, or by who is asked
	ends  map[string]bool   // how dispatches ended
	asked map[int]string    // who is asked, by operation of the current trace
}

// fate is what happened to something that was entered: whether it failed, and whether it can fail.
type fate struct{ failed, canFail bool }

func newSeams() *seams {
	return &seams{known: map[string]string{}, calls: map[string]*fate{}, ends: map[string]bool{}}
}

// configure adds the seams of a run.
func (s *seams) configure(info *adk.RunInfo) {
	s.asked = map[int]string{}
	for _, n := range wire.Named(info) {
		for _, name := range n.All() {
			s.known[describe.SeamName(adk.Seam{Label: n.Label, Name: name})] = "entered"
		}
	}
}

// failing holds the labels of the seams whose failures a turn has to handle.
var failing = map[string]bool{adk.LabelExecutor: true, adk.LabelTool: true, adk.LabelStorage: true}

// take adds what a crossing says about seams. A fold must have filled the crossing.
func (s *seams) take(x *adk.Crossing) {
	if x.Seams != nil {
		asked := s.asked
		s.configure(x.Seams)
		s.asked = asked
	}
	for _, record := range append([]adk.Record{x.Record}, x.Records...) {
		if tool, ok := record.(*adk.Tool); ok {
			s.known[describe.SeamName(adk.Seam{Label: adk.LabelTool, Name: tool.Name()})] = "called"
		}
	}
	switch {
	case x.Kind.Class() == adk.ClassCall:
		s.enter(describe.SeamName(x.Seam), failing[x.Seam.Label], x.Outcome != "" && x.Outcome != adk.OutcomeOK)
	case x.Phase == adk.Begin && len(x.JSON) > 0:
		s.asked[x.Op] = "ask " + safetext.PlainName(x.Name)
		s.enter(s.asked[x.Op], true, false)
	case x.Phase == adk.Done && s.asked[x.Op] != "":
		s.enter(s.asked[x.Op], true, x.Err != nil)
	case x.Kind.Class() == adk.ClassEvent && x.Status != "":
		s.ends[x.Status] = true
	}
}

func (s *seams) enter(name string, canFail, failed bool) {
	f := s.calls[name]
	if f == nil {
		f = &fate{}
		s.calls[name] = f
	}
	f.canFail, f.failed = f.canFail || canFail, f.failed || failed
}

// missing describes what no trace shows.
func (s *seams) missing() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(s.known)) {
		if s.calls[name] == nil {
			all = append(all, fmt.Sprintf("%s is never %s", name, s.known[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.calls)) {
		if f := s.calls[name]; f.canFail && !f.failed {
			all = append(all, name+" never fails")
		}
	}
	for _, status := range []string{adk.StatusAck, adk.StatusNack, adk.StatusAborted} {
		if !s.ends[status] {
			all = append(all, "no dispatch ends with "+status)
		}
	}
	return all
}
