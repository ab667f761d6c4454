package oracle

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/internal/chatfault"
	"github.com/adkreplay/adkreplay/property/internal/wanted"
)

// This file holds the conversations that a model is asked with against what providers
// take, and what is written against what the undisturbed turn writes.

// refusedRequests are the requests with a call without its result, or a result without its call.
func (r *Run) refusedRequests() (found []exhibit) {
	for i := range r.Crossings {
		if x := &r.Crossings[i]; x.Kind == adk.KindAsk && x.Phase == adk.Begin {
			if text := chatfault.Refused(x.JSON); text != "" {
				found = append(found, r.exhibit(x, "%s is asked with %s", x.Name, text))
			}
		}
	}
	return found
}

// refusedHistory: a model is asked with a conversation that providers refuse, and in the
// undisturbed turn with none such: a call without its result or a result without its
// call, in the form of any provider; or two answers in a row, of which
// the turn has made one. Of the turn that followed, any two answers in a row count. It is
// silent about two messages of the user's in a row: those may well be written so.
func refusedHistory(r, undisturbed *Run) []exhibit {
	if len(undisturbed.usual.refused) > 0 {
		return nil
	}
	return r.refused()
}

// usual is what the undisturbed run is asked for again and again.
type usual struct {
	refused []exhibit
	written map[string][]*adk.Crossing
	told    map[string]int
	heard   []heardOf
}

// refused are the conversations that providers refuse: of the run, and of the one that
// followed it.
func (r *Run) refused() []exhibit {
	return append(r.refusedIn(false), r.refusedNext()...)
}

// refusedNext are those of the run that followed. They are shown at the end of this one.
func (r *Run) refusedNext() []exhibit {
	if r.Next == nil {
		return nil
	}
	return safetext.Each(r.Next.refusedIn(true), func(x exhibit) exhibit {
		return exhibit{max(1, len(r.Crossings)), x.seam, "in the turn that followed: " + x.text}
	})
}

// refusedIn are those of this run alone; in one that begins with what another has left,
// what it was given counts too.
func (r *Run) refusedIn(follows bool) (found []exhibit) {
	var c conversation
	for i := range r.Crossings {
		x := &r.Crossings[i]
		switch {
		case x.Kind == adk.KindAdd:
			c.add(x.Record, follows)
		case x.Kind == adk.KindStore || x.Kind == adk.KindMutate:
			c.add(x.Record, true)
		case x.Kind == adk.KindRemove || x.Kind == adk.KindDelete:
			c.drop(x.Key)
		case x.Kind == adk.KindCall && x.Seam.Label == adk.LabelExecutor && r.isOwn(x.Call):
			if first, second := c.twoAnswers(); second != "" {
				found = append(found, exhibit{x.Seq, x.Seam.String(), fmt.Sprintf("the model is asked with two answers in a row: %q and %q", first, second)})
			}
		}
	}
	return append(found, r.refusedRequests()...)
}

// RefusedAfterwards is what is wrong with the conversation of a run that was broken off: only
// the turn that followed it asks.
func (r *Run) RefusedAfterwards(undisturbed *Run) []property.Violation {
	if len(undisturbed.usual.refused) > 0 {
		return nil
	}
	return safetext.Each(r.refusedNext(), historyOracle.violation)
}

// conversation is what the model is shown of messages and calls, in the order in which it
// came to be.
type conversation struct{ records []shownRecord }

type shownRecord struct {
	key    string
	answer bool // a message of the assistant's
	made   bool // by this turn
}

func (c *conversation) add(record adk.Record, made bool) {
	p := shownRecord{made: made}
	switch record := record.(type) {
	case *adk.Message:
		p.key, p.answer = record.ID(), record.Role() == adk.RoleAssistant
	case *adk.ToolCall:
		p.key = record.ID()
	default:
		return
	}
	if at := slices.IndexFunc(c.records, func(known shownRecord) bool { return known.key == p.key }); at >= 0 {
		return
	}
	c.records = append(c.records, p)
}

func (c *conversation) drop(key string) {
	c.records = slices.DeleteFunc(c.records, func(p shownRecord) bool { return p.key == key })
}

// twoAnswers are the first two answers with nothing between them, one of which the turn
// has made; empty where there are none.
func (c *conversation) twoAnswers() (first, second string) {
	for i := 1; i < len(c.records); i++ {
		if a, b := c.records[i-1], c.records[i]; a.answer && b.answer && (a.made || b.made) {
			return a.key, b.key
		}
	}
	return "", ""
}

// crashing: user code panics of itself, with an error of the runtime: an index, a nil. It
// is silent about panics that are told on purpose. The undisturbed turn is told too: its engine goes on,
// and nothing else would say that what is explored is half of it.
func crashing(r, _ *Run) (found []exhibit) {
	for i := range r.Crossings {
		x := &r.Crossings[i]
		if text := crashOf(x); text != "" {
			return []exhibit{{x.Seq, r.calls[x.ID].seam.String(), text}}
		}
	}
	return nil
}

// crashOf says with what and where user code crashed; empty where it did not.
func crashOf(x *adk.Crossing) string {
	var panicked *adk.PanicError
	var fault runtime.Error
	if x.Outcome != adk.OutcomePanic || !errors.As(x.Err, &panicked) || !errors.As(panicked.Unwrap(), &fault) {
		return ""
	}
	var in watchdog.Goroutine
	for _, f := range codeplace.PanicFrames(panicked) {
		in.Stack = append(in.Stack, watchdog.Frame{Function: f.Function, Place: fmt.Sprintf("%s:%d", f.File, f.Line)})
	}
	if len(in.Stack) == 0 {
		return fault.Error()
	}
	return fault.Error() + ", in " + in.Innermost()
}

// twoKeys: two records that say the same were written under different keys, and none of
// both was deleted again, where the undisturbed turn writes one. It is silent where the world said
// it twice.
func twoKeys(r, undisturbed *Run) (found []exhibit) {
	if slices.ContainsFunc(r.Faults, func(f Fault) bool { return f.Repeats }) {
		return nil
	}
	usual := undisturbed.usual.written
	for what, all := range r.written() {
		if most := max(1, len(usual[what])); len(all) > most {
			first, again := all[0], all[most]
			found = append(found, r.exhibit(again, "%s %q says what %q does", again.Record.RecordKind(), again.Record.Key(), first.Record.Key()))
		}
	}
	return found
}

// orderDecides: another order of strands, and nothing else, leaves other records behind.
func orderDecides(r, undisturbed *Run) []exhibit {
	if len(r.Faults) > 0 || !r.Reordered || r.status != undisturbed.status {
		return nil
	}
	usual := undisturbed.usual.written
	for what, all := range r.written() {
		if len(all) > len(usual[what]) {
			return []exhibit{r.exhibit(all[len(all)-1], "another order of strands leaves %s %q, which says something else than in the usual one", all[0].Record.RecordKind(), all[0].Record.Key())}
		}
	}
	return nil
}

// written are the records that the run leaves behind, by what they say: the beginnings of
// the operations that wrote them.
func (r *Run) written() map[string][]*adk.Crossing {
	left, order := map[string]*adk.Crossing{}, []string{}
	for i := range r.Crossings {
		x := &r.Crossings[i]
		switch {
		case x.Phase != adk.Begin:
		case x.Kind == adk.KindStore || x.Kind == adk.KindMutate:
			key := string(x.Collection) + "/" + wanted.Key(x)
			if left[key] == nil {
				order = append(order, key)
			}
			left[key] = x
		case x.Kind == adk.KindDelete:
			delete(left, string(x.Collection)+"/"+wanted.Key(x))
		}
	}
	all := map[string][]*adk.Crossing{}
	for _, key := range order {
		if x := left[key]; x != nil {
			if what := saidBy(x.Record); what != "" && !slices.Contains(all[what], x) {
				all[what] = append(all[what], x)
			}
		}
	}
	return all
}

// saidBy is what a record says, whatever its key and its times are; empty for those that
// are compared by their keys.
func saidBy(record adk.Record) string {
	switch record := record.(type) {
	case *adk.Message:
		if record.Content() != nil {
			return "message " + string(record.Role()) + compare.WithoutPorts(record.Content().String())
		}
	case *adk.Memory:
		if record.Content() != nil {
			return "memory " + compare.WithoutPorts(record.Content().String())
		}
	}
	return ""
}
