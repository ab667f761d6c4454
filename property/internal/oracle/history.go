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

// This file checks the conversations that a model is asked with against what providers accept, and
// what a run writes against what the undisturbed turn writes.

// refusedRequests returns the requests with a call without its result, or a result without its
// call.
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

// refusedHistory finds a conversation that providers refuse, if the undisturbed turn asks with none
// such: a call without its result or a result without its call, in the form of any provider; or two
// answers in a row of which the turn has made one. In the turn that followed, any two answers in a
// row count. It is silent about two messages of the user in a row, which users may write.
func refusedHistory(r, undisturbed *Run) []exhibit {
	if len(undisturbed.usual.refused) > 0 {
		return nil
	}
	return r.refused()
}

// usual holds results about the undisturbed run that are needed often.
type usual struct {
	refused []exhibit
	written map[string][]*adk.Crossing
	told    map[string]int
	heard   []heardOf
}

// refused returns the conversations that providers refuse: of the run, and of the run that
// followed.
func (r *Run) refused() []exhibit {
	return append(r.refusedIn(false), r.refusedNext()...)
}

// refusedNext returns those of the run that followed. They are shown at the end of this run.
func (r *Run) refusedNext() []exhibit {
	if r.Next == nil {
		return nil
	}
	return safetext.Each(r.Next.refusedIn(true), func(x exhibit) exhibit {
		return exhibit{max(1, len(r.Crossings)), x.seam, "in the turn that followed: " + x.text}
	})
}

// refusedIn returns those of this run alone. If the run begins with what another has left
// (follows), the records that it was given count as made by the turn.
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

// RefusedAfterwards returns what is wrong with the conversation of a run that was broken off: only
// the turn that followed asks with it.
func (r *Run) RefusedAfterwards(undisturbed *Run) []property.Violation {
	if len(undisturbed.usual.refused) > 0 {
		return nil
	}
	return safetext.Each(r.refusedNext(), historyOracle.violation)
}

// conversation is what the model is shown of messages and calls, in the order in which they were
// made.
type conversation struct{ records []shownRecord }

type shownRecord struct {
	key    string
	answer bool // it is a message of the assistant
	made   bool // it was made by this turn
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

// twoAnswers returns the first two adjacent answers of which the turn has made one; empty strings
// if there are none.
func (c *conversation) twoAnswers() (first, second string) {
	for i := 1; i < len(c.records); i++ {
		if a, b := c.records[i-1], c.records[i]; a.answer && b.answer && (a.made || b.made) {
			return a.key, b.key
		}
	}
	return "", ""
}

// crashing finds user code that panics with an error of the runtime, such as an index out of range
// or a nil pointer. It is silent about panics on purpose. It applies to the undisturbed turn too:
// the engine goes on there, and nothing else would say that only a part of the turn is explored.
func crashing(r, _ *Run) (found []exhibit) {
	for i := range r.Crossings {
		x := &r.Crossings[i]
		if text := crashOf(x); text != "" {
			return []exhibit{{x.Seq, r.calls[x.ID].seam.String(), text}}
		}
	}
	return nil
}

// crashOf says how and where user code crashed; empty if it did not.
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

// twoKeys finds two records that say the same under different keys, none of which was deleted
// again, where the undisturbed turn writes one. It is silent if the world said it twice.
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

// orderDecides finds a record that only another order of strands leaves behind, without any fault.
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

// written returns the records that the run leaves behind, by what they say: the crossings at which
// the operations began that wrote them.
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

// saidBy returns what a record says, without its key and its times; empty for records that are
// compared by their keys.
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
