package replay

import (
	"reflect"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// hearLoudly gives the new run one more listener that panics where a recorded
// one did: a contained panic is a crossing like any other, and has to be made
// again. Listeners cost something at every event, so the run gets them when it
// first comes to such a panic, and as many as panicked at one event.
func hearLoudly(p *player, r *adk.Runner) {
	r.On(adk.Functional{
		Message:  panicky[adk.MessageEvent](p),
		Thought:  panicky[adk.ThoughtEvent](p),
		ToolCall: panicky[adk.ToolCallEvent](p),
	})
	r.Observe(adk.Observability{
		TurnStart:          panicky[adk.TurnStart](p),
		TurnEnd:            panicky[adk.TurnEnd](p),
		DispatchStart:      panicky[adk.DispatchStart](p),
		DispatchEnd:        panicky[adk.DispatchEnd](p),
		IterationStart:     panicky[adk.IterationStart](p),
		IterationEnd:       panicky[adk.IterationEnd](p),
		TurnGateOpen:       panicky[adk.TurnGateOpen](p),
		TurnGateClosed:     panicky[adk.TurnGateClosed](p),
		ToolExecutionStart: panicky[adk.ToolExecutionStart](p),
		ToolExecutionEnd:   panicky[adk.ToolExecutionEnd](p),
		Log:                panicky[adk.LogEvent](p),
		Error:              panicky[adk.ErrorEvent](p),
	})
}

// panicReach is how far ahead the containment of a listener's panic is looked
// for: other strands may have moved meanwhile.
const panicReach = 256

// loudEvent is an event of the new run at which listeners shall panic.
type loudEvent struct {
	payload any
	texts   []string // of the panics, in order
}

// expectPanics notes which listeners of an event panicked in the recording: the
// containments that come next in its strand. mu is held.
func (p *player) expectPanics(event *adk.Crossing) {
	name := "listener of " + event.Kind.String()
	var texts []string
	for i := 1; i <= panicReach; i++ {
		x := p.peek(i)
		if x == nil || x.Strand == event.Strand && (x.Kind != adk.KindContained || x.Name != name) {
			break
		}
		if x.Strand == event.Strand {
			texts = append(texts, x.Text)
		}
	}
	if len(texts) > 0 {
		p.loud = append(p.loud, &loudEvent{event.Payload, texts})
	}
	for ; p.runner != nil && p.listeners < len(texts); p.listeners++ {
		hearLoudly(p, p.runner)
	}
}

// panicAt takes the next panic that is to be made at an event. mu is held.
func (p *player) panicAt(event any) (text string, ok bool) {
	for i, l := range p.loud {
		if !reflect.DeepEqual(l.payload, event) {
			continue
		}
		text, l.texts = l.texts[0], l.texts[1:]
		if len(l.texts) == 0 {
			p.loud = slices.Delete(p.loud, i, i+1)
		}
		return text, true
	}
	return "", false
}

// panicky is a listener that panics where one panicked in the recording. Nothing
// tells a listener in which strand it is called; the event does.
func panicky[E any](p *player) func(E) {
	return func(e E) {
		p.mu.Lock()
		var text string
		loud := len(p.loud) > 0
		if loud {
			text, loud = p.panicAt(e)
		}
		p.mu.Unlock()
		if loud {
			panic(text)
		}
	}
}
