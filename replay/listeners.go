package replay

import "github.com/adkreplay/adkreplay/adk"

// loudListeners is how many listeners of one event can be seen to panic.
const loudListeners = 4

// hearLoudly gives the new run listeners that panic where recorded ones did: a
// contained panic is a crossing like any other, and has to be made again.
func (p *player) hearLoudly(r *adk.Runner) {
	for range loudListeners {
		r.On(adk.Functional{
			Message:  panicky[adk.MessageEvent](p, adk.KindMessageEvent),
			Thought:  panicky[adk.ThoughtEvent](p, adk.KindThoughtEvent),
			ToolCall: panicky[adk.ToolCallEvent](p, adk.KindToolCallEvent),
		})
		r.Observe(adk.Observability{
			TurnStart:          panicky[adk.TurnStart](p, adk.KindTurnStart),
			TurnEnd:            panicky[adk.TurnEnd](p, adk.KindTurnEnd),
			DispatchStart:      panicky[adk.DispatchStart](p, adk.KindDispatchStart),
			DispatchEnd:        panicky[adk.DispatchEnd](p, adk.KindDispatchEnd),
			IterationStart:     panicky[adk.IterationStart](p, adk.KindIterationStart),
			IterationEnd:       panicky[adk.IterationEnd](p, adk.KindIterationEnd),
			TurnGateOpen:       panicky[adk.TurnGateOpen](p, adk.KindTurnGateOpen),
			TurnGateClosed:     panicky[adk.TurnGateClosed](p, adk.KindTurnGateClosed),
			ToolExecutionStart: panicky[adk.ToolExecutionStart](p, adk.KindToolExecutionStart),
			ToolExecutionEnd:   panicky[adk.ToolExecutionEnd](p, adk.KindToolExecutionEnd),
			Log:                panicky[adk.LogEvent](p, adk.KindLogEvent),
			Error:              panicky[adk.ErrorEvent](p, adk.KindErrorEvent),
		})
	}
}

// panicReach is how far ahead the containment of a listener's panic is looked
// for: other strands may have moved meanwhile.
const panicReach = 256

// expectPanics notes which listeners of an event panicked in the recording: the
// containments that come next in its strand. Until they have been made, no
// other strand moves: nothing tells a listener which strand it is called in.
// mu is held.
func (p *player) expectPanics(event *adk.Crossing) {
	name := "listener of " + event.Kind.String()
	for i := 1; i <= panicReach; i++ {
		x := p.peek(i)
		if x == nil {
			return
		}
		if x.Strand != event.Strand {
			continue
		}
		if x.Kind != adk.KindContained || x.Name != name {
			return
		}
		p.panics[event.Kind] = append(p.panics[event.Kind], x.Text)
		p.held = &event.Strand
	}
}

// release lets the other strands move again. mu is held.
func (p *player) release() {
	p.held = nil
	p.moved.Broadcast()
}

// panicky is a listener that panics where one panicked in the recording.
func panicky[E any](p *player, kind adk.Kind) func(E) {
	return func(E) {
		p.mu.Lock()
		texts := p.panics[kind]
		if len(texts) > 0 {
			p.panics[kind] = texts[1:]
		}
		if len(texts) == 1 {
			p.release()
		}
		p.mu.Unlock()
		if len(texts) > 0 {
			panic(texts[0])
		}
	}
}
