package describe

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file describes events and facts, which the engine records without being asked.

// event describes what listeners of an event observe.
func (n *Namer) event(x *adk.Crossing) string {
	words := n.heard(x)
	if words == "" {
		return x.Kind.String()
	}
	return x.Kind.String() + " " + words
}

func (n *Namer) heard(x *adk.Crossing) string {
	payload := n.Fold.Payload(x)
	switch e := payload.(type) {
	case adk.MessageEvent:
		return n.streamed(state.SpaceMessage, adk.StreamUpdate(e))
	case adk.ThoughtEvent:
		return n.streamed(state.SpaceThought, adk.StreamUpdate(e))
	case adk.ToolCallEvent:
		return n.Name(state.SpaceToolCall, e.ID) + checksum(x.Key)
	case adk.LogEvent:
		return n.logged(e)
	case adk.ToolExecutionStart:
		return safetext.PlainName(e.ToolName) + checksum(x.Key)
	case adk.ToolExecutionEnd:
		return flagged(safetext.PlainName(e.ToolName), x.IsError, " failed")
	}
	switch x.Kind {
	case adk.KindTurnEnd:
		words := n.Name(state.SpaceTurn, n.Fold.TurnID)
		if lasted := x.At.Sub(n.Fold.StartedAt); lasted > 0 {
			words += " after " + safetext.Lasting(lasted)
		}
		return words
	case adk.KindDispatchEnd:
		return n.dispatchEnd(x)
	case adk.KindIterationStart:
		return strconv.Itoa(x.N)
	case adk.KindIterationEnd:
		return strconv.Itoa(x.N) + n.flush(x)
	case adk.KindTurnGateClosed:
		return n.Name(state.SpaceGate, x.Name) + " " + safetext.PlainName(x.Status)
	case adk.KindErrorEvent:
		told := errorOf(x.Err)
		if n.Shown != nil {
			n.lastError = told
		}
		return strings.TrimPrefix(told, "error ")
	case adk.KindToolCallEvent, adk.KindToolExecutionStart:
		return strings.TrimPrefix(checksum(x.Key), " ")
	}
	return n.ownFields(x, false)
}

// ownFields describes a line that has no description of its own: by the name of its id, and by the
// other fields of its kind. Of an operation only those fields are described that user code gave to
// it.
func (n *Namer) ownFields(x *adk.Crossing, handedIn bool) string {
	var words []string
	for _, use := range x.Kind.Fields(x.Phase) {
		if handedIn && !use.Input {
			continue
		}
		if use.Field == adk.FieldName && NamesID(x) {
			words = append(words, n.Name(nameSpaces[x.Kind], x.Name))
		} else if said, err := (wire.Apart{Sentinels: wire.OnlyCommon}).Append(use.Field, x); err == nil && len(said) > 0 {
			words = append(words, use.Label+" "+safetext.BareJSON(string(said)))
		}
	}
	return strings.Join(words, ", ")
}

func errorOf(err error) string {
	if err == nil {
		return "without an error"
	}
	return safetext.ErrorWith(err)
}

func (n *Namer) dispatchEnd(x *adk.Crossing) string {
	words := "dispatch"
	if c := n.Fold.Calls[x.Call]; c != nil && c.Dispatch != nil {
		words = n.Name(state.SpaceDispatch, c.Dispatch.ID)
	}
	words += " " + safetext.PlainName(x.Status) + " after " + safetext.Counted(x.N, "iteration")
	if x.Err != nil {
		told := safetext.ErrorWith(x.Err)
		if told == n.lastError { // the error that nacks a dispatch was just shown in full
			told = "the same error"
		}
		words += " with " + told
	}
	return words + n.flush(x)
}

// flush describes what happens to the queued changes when an iteration or a dispatch ends (DEL-2,
// DEL-3, DEL-5).
func (n *Namer) flush(x *adk.Crossing) string {
	c := n.Fold.Calls[x.Call]
	if c == nil || c.Dispatch == nil || len(c.Dispatch.Queue) == 0 {
		return ""
	}
	d, words := c.Dispatch, ", 1 change"
	if len(d.Queue) > 1 {
		words = fmt.Sprintf(", %d changes", len(d.Queue))
	}
	switch {
	case !d.Flushes(x, n.Fold.Cancelled):
		return words + " discarded"
	case d.Source == nil:
		return words + " made"
	case d.Above != nil:
		return words + " made in " + n.Name(state.SpaceDispatch, d.Above.ID)
	}
	return words + " made in the turn"
}

// streamed describes a delta as listeners observe it, with the whole text once the stream is
// complete.
func (n *Namer) streamed(space string, u adk.StreamUpdate) string {
	words := n.delta(space, u.ID, u.Delta, u.Complete)
	if u.Complete && u.Full != u.Delta {
		words += ": " + safetext.Quoted(u.Full)
	}
	return words
}

// checksum returns the first characters of a tool call's checksum.
func checksum(sum string) string {
	if len(sum) > 8 {
		sum = sum[:8]
	}
	if sum == "" {
		return ""
	}
	return " #" + safetext.PlainName(sum)
}

// fact describes a fact: something that was not called.
func (n *Namer) fact(x *adk.Crossing) string {
	switch x.Kind {
	case adk.KindCancel:
		words := "! the run is cancelled " + cancels[x.Key]
		if _, known := cancels[x.Key]; !known {
			words += "by " + safetext.PlainName(x.Key)
		}
		if x.Cause != nil {
			words += ": " + safetext.Bare(safetext.ErrorWords(x.Cause))
		}
		return words
	case adk.KindSettle:
		return "! " + n.settled(x)
	case adk.KindTimer:
		if op := n.Fold.Ops[x.N]; op != nil {
			return "! the time of the " + op.Kind.String() + " is over"
		}
		return "! a timer fires"
	case adk.KindState:
		return n.state(x)
	case adk.KindPiece:
		return flagged("piece "+safetext.BareJSON(string(x.JSON)), x.Flag, ", cut off")
	}
	if wire.PassesBy(x) {
		return "!! " + untold + ": " + safetext.Bare(x.Text)
	}
	return "!! contained: " + safetext.Bare(x.Name) + ": " + safetext.Bare(x.Text)
}

// cancels describes what can cancel a run.
var cancels = map[string]string{
	wire.OutsideCancel: "from outside",
	wire.CancelAbort:   "by the abort",
	wire.CancelStage:   "by a stage's abort error",
	wire.CancelGoexit:  "by the end of the goroutine",
}

// settlements describes the ways in which gates settle.
var settlements = map[string]string{
	adk.GateResolved: "is resolved",
	adk.GateRejected: "is rejected",
	adk.GateAborted:  "is aborted",
	adk.GateTimeout:  "times out",
	adk.GateRefused:  "refuses what was offered",
}

func (n *Namer) settled(x *adk.Crossing) string {
	ending, known := settlements[x.Status]
	if !known {
		ending = safetext.PlainName(x.Status)
	}
	words := n.Name(state.SpaceGate, x.Name) + " " + ending
	if x.Key != "" {
		words += " by " + safetext.PlainName(x.Key)
	}
	if x.Value != nil {
		words += " with " + safetext.PlainData(x.Value)
	}
	if x.Err != nil {
		words += ": " + safetext.Bare(safetext.ErrorWords(x.Err))
	}
	return words
}

// state describes what user code sees at this point according to the fold, and says if the engine's
// digest disagrees.
func (n *Namer) state(x *adk.Crossing) string {
	v := n.Fold.Seen(x.Call)
	if v == nil {
		return "state " + x.Digest.String()
	}
	parts := []string{"prompt"}
	for _, set := range state.SetOrder {
		parts = n.visible(parts, set.Of, v)
	}
	parts = n.visible(parts, adk.Tools, v)
	if keys := v.StashKeys(); len(keys) > 0 {
		parts = append(parts, "stash ("+safetext.Short(keys, safetext.PlainName)+")")
	}
	words := "state" + n.statePlace(x) + ": " + strings.Join(parts, ", ")
	if err := n.Fold.Check(x); err != nil {
		words += " !! but the engine's digest is of something else: " + x.Digest.String()
	}
	return words
}

// statePlace says where in the turn a state is taken. The state of an executor is recorded just
// before its call.
func (n *Namer) statePlace(x *adk.Crossing) string {
	switch c := n.Fold.Calls[x.Call]; {
	case c == nil || c.Seam.Label != adk.LabelRun:
		return ""
	case n.Fold.OutputDue && !n.Fold.Cancelled:
		return " before the output"
	}
	return " at the end"
}

// CollectionWords returns the names of a collection and of one of its records, in words.
func CollectionWords(of adk.CollectionName) (many, one string) {
	return spaced(string(of)), spaced(string(of.Holds()))
}

// spaced returns a name such as toolCall as separate words.
func spaced(name string) string {
	var words []byte
	for _, c := range []byte(name) {
		if 'A' <= c && c <= 'Z' {
			words = append(words, ' ')
			c += 'a' - 'A'
		}
		words = append(words, c)
	}
	return string(words)
}

func (n *Namer) visible(parts []string, of adk.CollectionName, v *state.View) []string {
	all := v.Len(of)
	if all == 0 {
		return parts
	}
	many, words := CollectionWords(of)
	if all > 1 {
		words = many
	}
	return append(parts, strconv.Itoa(all)+" "+words+" ("+safetext.ShortAt(all, func(i int) string { return n.Alias(v.At(of, i)) })+")")
}
