package replay

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// This file puts into words what the engine tells on its own: events and facts.

// event is what the listeners hear.
func (n *namer) event(x *adk.Crossing) string {
	words := n.heard(x)
	if words == "" {
		return x.Kind.String()
	}
	return x.Kind.String() + " " + words
}

func (n *namer) heard(x *adk.Crossing) string {
	payload := n.fold.Payload(x)
	switch e := payload.(type) {
	case adk.MessageEvent:
		return n.streamed(spaceMessage, adk.StreamUpdate(e))
	case adk.ThoughtEvent:
		return n.streamed(spaceThought, adk.StreamUpdate(e))
	case adk.ToolCallEvent:
		return n.name(spaceToolCall, e.ID) + checksum(x.Key)
	case adk.LogEvent:
		return n.logged(e)
	case adk.ToolExecutionStart:
		return plainName(e.ToolName) + checksum(x.Key)
	case adk.ToolExecutionEnd:
		return flagged(plainName(e.ToolName), x.IsError, " failed")
	}
	switch x.Kind {
	case adk.KindTurnStart:
		return n.name(spaceTurn, x.Name)
	case adk.KindTurnEnd:
		words := n.name(spaceTurn, n.fold.turnID)
		if lasted := x.At.Sub(n.fold.startedAt); lasted > 0 {
			words += " after " + lasting(lasted)
		}
		return words
	case adk.KindDispatchStart:
		return n.name(spaceDispatch, x.Name)
	case adk.KindDispatchEnd:
		return n.dispatchEnd(x)
	case adk.KindIterationStart:
		return strconv.Itoa(x.N)
	case adk.KindIterationEnd:
		return strconv.Itoa(x.N) + n.flush(x)
	case adk.KindTurnGateOpen:
		return n.name(spaceGate, x.Name)
	case adk.KindTurnGateClosed:
		return n.name(spaceGate, x.Name) + " " + plainName(x.Status)
	case adk.KindErrorEvent:
		told := errorOf(x.Err)
		if n.shown != nil {
			n.lastError = told
		}
		return strings.TrimPrefix(told, "error ")
	case adk.KindToolCallEvent, adk.KindToolExecutionStart:
		return strings.TrimPrefix(checksum(x.Key), " ")
	}
	return ""
}

func errorOf(err error) string {
	if err == nil {
		return "without an error"
	}
	return errorWith(err)
}

func (n *namer) dispatchEnd(x *adk.Crossing) string {
	plural := "s"
	if x.N == 1 {
		plural = ""
	}
	words := "dispatch"
	if c := n.fold.calls[x.Call]; c != nil && c.dispatch != nil {
		words = n.name(spaceDispatch, c.dispatch.id)
	}
	words += fmt.Sprintf(" %s after %d iteration%s", plainName(x.Status), x.N, plural)
	if x.Err != nil {
		told := errorWith(x.Err)
		if told == n.lastError { // what nacks a dispatch has just been told at length
			told = "the same error"
		}
		words += " with " + told
	}
	return words + n.flush(x)
}

// flush is what becomes of the changes that wait when an iteration or a dispatch
// ends (DEL-2, DEL-3, DEL-5).
func (n *namer) flush(x *adk.Crossing) string {
	c := n.fold.calls[x.Call]
	if c == nil || c.dispatch == nil || len(c.dispatch.queue) == 0 {
		return ""
	}
	d, words := c.dispatch, ", 1 change"
	if len(d.queue) > 1 {
		words = fmt.Sprintf(", %d changes", len(d.queue))
	}
	switch {
	case !d.flushes(x, n.fold.cancelled):
		return words + " discarded"
	case d.source == nil:
		return words + " made"
	case d.above != nil:
		return words + " made in " + n.name(spaceDispatch, d.above.id)
	}
	return words + " made in the turn"
}

// streamed is a delta as listeners hear it, with the whole text once it is
// complete.
func (n *namer) streamed(space string, u adk.StreamUpdate) string {
	words := n.delta(space, u.ID, u.Delta, u.Complete)
	if u.Complete && u.Full != u.Delta {
		words += ": " + quoted(u.Full)
	}
	return words
}

// checksum is the beginning of a tool call's checksum.
func checksum(sum string) string {
	if len(sum) > 8 {
		sum = sum[:8]
	}
	if sum == "" {
		return ""
	}
	return " #" + plainName(sum)
}

// fact is what nobody called.
func (n *namer) fact(x *adk.Crossing) string {
	switch x.Kind {
	case adk.KindCancel:
		words := "! the run is cancelled " + cancels[x.Key]
		if _, known := cancels[x.Key]; !known {
			words += "by " + plainName(x.Key)
		}
		if x.Cause != nil {
			words += ": " + bare(errorWords(x.Cause))
		}
		return words
	case adk.KindSettle:
		return "! " + n.settled(x)
	case adk.KindTimer:
		if op := n.fold.ops[x.N]; op != nil {
			return "! the time of the " + op.kind.String() + " is over"
		}
		return "! a timer fires"
	case adk.KindSight:
		return n.sight(x)
	}
	return "!! contained: " + bare(x.Name) + ": " + bare(x.Text)
}

// cancels are what cancels runs, in words.
var cancels = map[string]string{
	outsideCancel: "from outside",
	"abort":       "by the abort",
	"stage":       "by a stage's abort error",
	"goexit":      "by the end of the goroutine",
}

// settlements are how gates settle, in words.
var settlements = map[string]string{
	adk.GateResolved: "is resolved",
	adk.GateRejected: "is rejected",
	adk.GateAborted:  "is aborted",
	adk.GateTimeout:  "times out",
	adk.GateRefused:  "refuses what was offered",
}

func (n *namer) settled(x *adk.Crossing) string {
	ending, known := settlements[x.Status]
	if !known {
		ending = plainName(x.Status)
	}
	words := n.name(spaceGate, x.Name) + " " + ending
	if x.Key != "" {
		words += " by " + plainName(x.Key)
	}
	if x.Value != nil {
		words += " with " + plainData(x.Value)
	}
	if x.Err != nil {
		words += ": " + bare(errorWords(x.Err))
	}
	return words
}

// sight is what user code sees at this point, as the fold has it, and whether
// the engine's digest is of the same.
func (n *namer) sight(x *adk.Crossing) string {
	v := n.fold.Seen(x.Call)
	if v == nil {
		return "sight " + x.Digest.String()
	}
	parts := []string{"prompt"}
	for _, set := range setOrder {
		parts = n.visible(parts, set.of, v.Records(set.of))
	}
	parts = n.visible(parts, adk.Tools, v.Records(adk.Tools))
	if keys := v.StashKeys(); len(keys) > 0 {
		parts = append(parts, "stash ("+short(keys, plainName)+")")
	}
	words := "sight" + n.sightPlace(x) + ": " + strings.Join(parts, ", ")
	if err := n.fold.Check(x); err != nil {
		words += " !! but the engine's digest is of something else: " + x.Digest.String()
	}
	return words
}

// sightPlace says where in the turn a sight is taken; that of an executor stands
// above its call.
func (n *namer) sightPlace(x *adk.Crossing) string {
	switch c := n.fold.calls[x.Call]; {
	case c == nil || c.seam.Label != adk.LabelRun:
		return ""
	case n.fold.outputDue && !n.fold.cancelled:
		return " before the output"
	}
	return " at the end"
}

// collectionWords are how many there are of a collection, of one and of more.
var collectionWords = map[adk.CollectionName][2]string{
	adk.Instructions: {"1 instruction", "instructions"},
	adk.Messages:     {"1 message", "messages"},
	adk.Memories:     {"1 memory", "memories"},
	adk.Retrievables: {"1 retrievable", "retrievables"},
	adk.Thoughts:     {"1 thought", "thoughts"},
	adk.ToolCalls:    {"1 tool call", "tool calls"},
	adk.Tools:        {"1 tool", "tools"},
}

func (n *namer) visible(parts []string, of adk.CollectionName, all []adk.Record) []string {
	if len(all) == 0 {
		return parts
	}
	words := collectionWords[of][0]
	if len(all) > 1 {
		words = strconv.Itoa(len(all)) + " " + collectionWords[of][1]
	}
	return append(parts, words+" ("+short(all, n.alias)+")")
}
