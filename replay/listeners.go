package replay

import (
	"reflect"
	"slices"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
)

// loudness is where listeners of the new run have to panic, because recorded
// ones did: a contained panic is a crossing like any other, and has to be made
// again. The zero value is quiet.
//
// Listeners cost something at every event, so the run is given the first when it
// comes to such a panic, and as many in all as panicked at one event.
type loudness struct {
	runner *adk.Runner // of the new run; nil for a dispatch alone

	mu        sync.Mutex
	listeners int // that the run has been given
	events    []*loudEvent
}

// loudEvent is an event of the new run at which listeners shall panic.
type loudEvent struct {
	payload any
	texts   []string // of the panics, in order
}

// expect asks for panics at an event; none are asked for with no texts.
func (l *loudness) expect(payload any, texts []string) {
	if len(texts) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, &loudEvent{payload, texts})
	for ; l.runner != nil && l.listeners < len(texts); l.listeners++ {
		l.listen()
	}
}

// take takes the next panic that is to be made at an event.
func (l *loudness) take(payload any) (text string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, e := range l.events {
		if !reflect.DeepEqual(e.payload, payload) {
			continue
		}
		text, e.texts = e.texts[0], e.texts[1:]
		if len(e.texts) == 0 {
			l.events = slices.Delete(l.events, i, i+1)
		}
		return text, true
	}
	return "", false
}

// listen registers one more listener that panics.
func (l *loudness) listen() {
	l.runner.On(adk.Functional{
		Message:  panicky[adk.MessageEvent](l),
		Thought:  panicky[adk.ThoughtEvent](l),
		ToolCall: panicky[adk.ToolCallEvent](l),
	})
	l.runner.Observe(adk.Observability{
		TurnStart:          panicky[adk.TurnStart](l),
		TurnEnd:            panicky[adk.TurnEnd](l),
		DispatchStart:      panicky[adk.DispatchStart](l),
		DispatchEnd:        panicky[adk.DispatchEnd](l),
		IterationStart:     panicky[adk.IterationStart](l),
		IterationEnd:       panicky[adk.IterationEnd](l),
		TurnGateOpen:       panicky[adk.TurnGateOpen](l),
		TurnGateClosed:     panicky[adk.TurnGateClosed](l),
		ToolExecutionStart: panicky[adk.ToolExecutionStart](l),
		ToolExecutionEnd:   panicky[adk.ToolExecutionEnd](l),
		Log:                panicky[adk.LogEvent](l),
		Error:              panicky[adk.ErrorEvent](l),
	})
}

// panicky is a listener that panics where one panicked in the recording. Nothing
// tells a listener in which strand it is called; the event does.
func panicky[E any](l *loudness) func(E) {
	return func(e E) {
		if text, loud := l.take(e); loud {
			panic(text)
		}
	}
}

// panicsAt tells whether a crossing is the contained panic of a listener of an
// event.
func panicsAt(event, x *adk.Crossing) bool {
	return x.Strand == event.Strand && x.Kind == adk.KindContained && x.Name == "listener of "+event.Kind.String()
}

// panicReach is how far ahead the containment of a listener's panic is looked
// for: other strands may have moved meanwhile.
const panicReach = 256

// expectPanics notes which listeners of an event panicked in the recording: the
// containments that come next in its strand. mu is held.
func (p *player) expectPanics(event *adk.Crossing) {
	var texts []string
	for i := 1; i <= panicReach; i++ {
		x := p.peek(i)
		if x == nil || x.Strand == event.Strand && !panicsAt(event, x) {
			break
		}
		if x.Strand == event.Strand {
			texts = append(texts, x.Text)
		}
	}
	p.loud.expect(event.Payload, texts)
}
