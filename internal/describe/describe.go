package describe

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// Namer describes crossings in words: the one rendering that transcripts print and divergences
// quote. Ids that people or machines made differ between runs, so a Namer names things in the order
// in which they appear: m1, call1, turn1.
//
// It looks up what happened before in a fold. It must therefore be asked about the next crossing
// before Pass applies that crossing.
type Namer struct {
	Fold   *state.Fold
	names  map[state.Ref]string
	counts map[string]int
	// Shown is the digest of each record as it was last shown, so that a record is shown in full
	// when it first appears and when it has changed. If Shown is nil, all records are always shown
	// in full.
	Shown map[state.Ref]adk.Digest
	// lastError is the text of the last error event; it is used where lines follow each other.
	lastError string
}

// Renamed returns a namer for another trace of a similar run, in which things that have a name in n
// have the same name. other returns the id in that trace for an id in n's, or false if nothing
// there may have its name.
func (n *Namer) Renamed(other func(id string) (string, bool)) *Namer {
	there := New(state.New())
	for key, name := range n.names {
		id, named := other(key.ID)
		if named {
			there.names[state.Ref{Space: key.Space, ID: id}] = name
		}
	}
	maps.Copy(there.counts, n.counts)
	return there
}

// shortSpaces are the prefixes of the names of records, where they are shorter than the kind.
var shortSpaces = map[adk.RecordKind]string{
	adk.RecordMessage:     state.SpaceMessage,
	adk.RecordMemory:      "mem",
	adk.RecordThought:     state.SpaceThought,
	adk.RecordToolCall:    state.SpaceToolCall,
	adk.RecordRetrievable: "r",
	adk.RecordInstruction: "i",
}

// recordSpace returns the prefix of the names of a kind of records. It is empty for tools, which
// people have named.
func recordSpace(kind adk.RecordKind) string {
	if short, has := shortSpaces[kind]; has {
		return short
	}
	if kind == adk.RecordTool {
		return ""
	}
	return string(kind)
}

// New returns a namer for the crossings that f folds. It shows every record in full.
func New(f *state.Fold) *Namer {
	return &Namer{Fold: f, names: map[state.Ref]string{}, counts: map[string]int{}}
}

// Pass takes in the next crossing: it names new things and applies the crossing to the fold.
func (n *Namer) Pass(x *adk.Crossing) error {
	n.Note(x)
	return n.Fold.Apply(x)
}

// Line describes the next crossing in a line that can be read alone.
func (n *Namer) Line(x *adk.Crossing) string {
	n.Note(x)
	head := n.Head(x)
	if IsClosing(x) {
		head = n.Closing(x)
	}
	if answer := n.Answer(x); answer != "" {
		return head + " → " + answer
	}
	return head
}

// IsClosing reports whether a crossing ends what an earlier one began.
func IsClosing(x *adk.Crossing) bool { return x.Kind == adk.KindReturn || x.Phase == adk.Done }

// IsOpening reports whether a crossing begins what a later one ends.
func IsOpening(x *adk.Crossing) bool { return x.Kind == adk.KindCall || x.Phase == adk.Begin }

// Closing describes what a crossing ends.
func (n *Namer) Closing(x *adk.Crossing) string {
	if x.Kind != adk.KindReturn {
		return x.Kind.String() + " done"
	}
	if c := n.Fold.Calls[x.ID]; c != nil {
		return SeamWords(c.Seam) + " returns"
	}
	return "return"
}

// Name returns the name of an id. It makes a new name if the id has none yet.
func (n *Namer) Name(space, id string) string {
	key := state.Ref{Space: space, ID: id}
	name, known := n.names[key]
	if !known {
		n.counts[space]++
		name = space + strconv.Itoa(n.counts[space])
		n.names[key] = name
	}
	return name
}

// Note names the things that a crossing mentions, in the order of its fields.
func (n *Namer) Note(x *adk.Crossing) {
	if NamesID(x) {
		n.Name(nameSpaces[x.Kind], x.Name)
	}
	if x.Kind == adk.KindCall {
		for _, text := range x.Texts {
			n.Name(recordSpace(adk.RecordInstruction), text)
		}
	}
	n.noteRecord(x.Record)
	for _, record := range x.Records {
		n.noteRecord(record)
	}
}

func (n *Namer) noteRecord(record adk.Record) {
	if record == nil {
		return
	}
	if space := recordSpace(record.RecordKind()); space != "" {
		n.Name(space, record.Key())
	}
}

// Head describes what a crossing is, and its inputs.
func (n *Namer) Head(x *adk.Crossing) string {
	switch x.Kind.Class() {
	case adk.ClassCall:
		return n.call(x)
	case adk.ClassEvent:
		return "* " + n.event(x)
	case adk.ClassFact:
		return n.fact(x)
	}
	return n.Operation(x)
}

// Answer describes the outcome of a crossing. It is empty if there is nothing to say except that it
// succeeded.
func (n *Namer) Answer(x *adk.Crossing) string {
	switch {
	case x.Kind == adk.KindReturn:
		return n.returned(x)
	case x.Kind.Class() != adk.ClassOperation:
		return ""
	case x.Err != nil:
		return safetext.ErrorWith(x.Err)
	}
	switch x.Kind {
	case adk.KindRemove, adk.KindUnregister, adk.KindOffAck:
		if !x.Flag {
			return "there is none"
		}
	case adk.KindAdd:
		if x.Flag {
			return "in the place of the one with its key"
		}
	case adk.KindPrune:
		if len(x.Texts) == 0 {
			return "none"
		}
		return safetext.List(x.Texts, safetext.PlainName)
	case adk.KindNow:
		return safetext.Into(x.At.Sub(n.Fold.StartedAt))
	case adk.KindNewID:
		return n.Name(state.SpaceMade, x.Name)
	case adk.KindAsk:
		return askedWords(x, adk.Done)
	case adk.KindOpenMedia:
		if data, ok := x.Value.([]byte); ok {
			return fmt.Sprintf("%d bytes", len(data))
		}
	}
	return ""
}

// returned describes how a seam call ended, and its result.
func (n *Namer) returned(x *adk.Crossing) string {
	switch {
	case x.Outcome == adk.OutcomeGoexit:
		return "goexit: it ended its goroutine"
	case x.Err != nil:
		return safetext.ErrorWith(x.Err)
	case x.Outcome != adk.OutcomeOK && x.Outcome != "":
		return safetext.PlainName(string(x.Outcome))
	case x.Result != nil:
		return n.result(x.Result)
	case len(x.Records) > 0:
		return safetext.List(x.Records, n.record)
	}
	if c := n.Fold.Calls[x.ID]; c != nil && c.Seam.Effect() == adk.EffectReads {
		return "nothing"
	}
	return ""
}

// call describes the beginning of a seam call.
func (n *Namer) call(x *adk.Crossing) string {
	words := SeamWords(x.Seam)
	if x.Call == 0 {
		words += n.handedIn(x)
	}
	if x.Args != nil {
		words += " " + safetext.Arguments(x.Args)
	}
	if x.Cause != nil {
		words += ", its context ended with " + safetext.ErrorWith(x.Cause)
	}
	if x.Record != nil {
		words += " " + n.record(x.Record)
	}
	if x.Key != "" {
		words += " " + n.key(wire.CollectionOf(x.Seam), x.Key)
	}
	return words
}

// handedIn describes what a run begins with.
func (n *Namer) handedIn(x *adk.Crossing) string {
	words := " " + safetext.Quoted(x.Text)
	if len(x.Texts) > 0 {
		words += "  instructions: " + safetext.List(x.Texts, func(text string) string { return n.record(adk.NewTokenizable(text)) })
	}
	if x.Value != nil {
		words += "  stash: " + safetext.PlainData(x.Value)
	}
	if len(x.Records) > 0 {
		words += "  tools: " + safetext.List(x.Records, n.record)
	}
	return words
}

// SeamWords returns the path of a seam.
func SeamWords(seam adk.Seam) string {
	if seam.Name == "" {
		return safetext.PlainName(seam.Label)
	}
	named := seam.Label + "/" + seam.Name
	return safetext.PlainName(seam.Label) + "/" + safetext.PlainName(seam.Name) + strings.TrimPrefix(seam.String(), named)
}

// Operation describes an operation of user code.
func (n *Namer) Operation(x *adk.Crossing) string {
	verb := x.Kind.String()
	switch x.Kind {
	case adk.KindFetch, adk.KindRefresh:
		return verb + " " + safetext.PlainName(string(x.Collection))
	case adk.KindAdd:
		return n.onRecord(x, " to ")
	case adk.KindStore, adk.KindMutate:
		return n.onRecord(x, " in ")
	case adk.KindRemove, adk.KindDelete:
		return verb + " " + n.key(x.Collection, x.Key) + " from " + safetext.PlainName(string(x.Collection))
	case adk.KindStash:
		if x.Value == nil {
			return verb + " " + safetext.PlainName(x.Name) + " deleted"
		}
		return verb + " " + safetext.PlainName(x.Name) + " = " + safetext.PlainData(x.Value)
	case adk.KindExecute:
		return verb + " " + safetext.ToolName(x.Record) + " " + safetext.Arguments(x.Args)
	case adk.KindRegister:
		return verb + " " + flagged(n.record(x.Record), x.Flag, ", over one of its name")
	case adk.KindUnregister, adk.KindOnAck:
		return verb + " " + safetext.PlainName(x.Name)
	case adk.KindOffAck:
		return verb + " handler " + strconv.Itoa(x.ID)
	case adk.KindPrune:
		return verb + " the ephemeral tools"
	case adk.KindNack, adk.KindAbort:
		if x.Cause == nil {
			return verb
		}
		return verb + " with " + safetext.ErrorWith(x.Cause)
	case adk.KindSleep:
		return verb + " " + x.Duration.String()
	case adk.KindWait:
		return fmt.Sprintf("%s for %s, %s", verb, safetext.PlainName(x.Name), StrandName(x.ID))
	case adk.KindFork:
		if x.Err != nil {
			return verb + " " + safetext.PlainName(x.Name)
		}
		return fmt.Sprintf("%s %s as %s", verb, safetext.PlainName(x.Name), StrandName(x.ID))
	case adk.KindOpenMedia:
		return verb + " " + n.record(x.Record)
	case adk.KindAsk:
		if x.Phase == adk.Begin {
			return flagged(strings.TrimRight(verb+" "+safetext.PlainName(x.Name)+" "+askedWords(x, adk.Begin), " "), x.Flag, " after the abort")
		}
	case adk.KindWaitFor:
		return verb + " " + n.gate(x)
	}
	words := n.saying(x)
	if words == "" && !x.Kind.Names(adk.MadeID) {
		words = n.ownFields(x, true)
	}
	return strings.TrimRight(verb+" "+words, " ")
}

// StrandName returns the name of a strand in transcripts.
func StrandName(number int) string { return "s" + strconv.Itoa(number) }

// askedWords returns the request or the answer of an ask as it is written, if x is the line with
// that phase. A request over HTTP begins with its method and path.
func askedWords(x *adk.Crossing, phase adk.Phase) string {
	if x.Phase != phase {
		return ""
	}
	method, path, rest := httpform.Cut(x.JSON)
	if method == "" {
		return safetext.BareJSON(string(x.JSON))
	}
	return safetext.Bare(method+" "+path) + " " + safetext.BareJSON(rest)
}

func flagged(words string, ok bool, flag string) string {
	if ok {
		return words + flag
	}
	return words
}

// onRecord describes an operation that puts a record somewhere.
func (n *Namer) onRecord(x *adk.Crossing, where string) string {
	return x.Kind.String() + " " + n.record(x.Record) + where + safetext.PlainName(string(x.Collection))
}

// saying describes what is reported or emitted, without the verb.
func (n *Namer) saying(x *adk.Crossing) string {
	switch x.Kind {
	case adk.KindReportMessage:
		return n.delta(state.SpaceMessage, x.Name, x.Text, x.Flag)
	case adk.KindReportThought:
		return n.delta(state.SpaceThought, x.Name, x.Text, x.Flag)
	case adk.KindReportToolCall:
		return n.toolCall(adk.ToolCallEvent{ID: x.Name, Tool: x.Key, Results: x.Result, IsError: x.IsError, Complete: x.Flag}, x.Args)
	case adk.KindReportLog:
		return n.logged(adk.LogEvent{Level: adk.Level(x.Key), Kind: x.Name, Message: x.Text, Payload: x.Value})
	}
	switch e := x.Payload.(type) {
	case adk.MessageEvent:
		return n.delta(state.SpaceMessage, e.ID, e.Delta, e.Complete)
	case adk.ThoughtEvent:
		return n.delta(state.SpaceThought, e.ID, e.Delta, e.Complete)
	case adk.ToolCallEvent:
		if e.Args == nil {
			return n.toolCall(e, nil)
		}
		return n.toolCall(e, e.Args)
	}
	return ""
}

func (n *Namer) delta(space, id, delta string, complete bool) string {
	return flagged(n.Name(space, id)+" "+safetext.Quoted(delta), complete, " complete")
}

func (n *Namer) toolCall(e adk.ToolCallEvent, args any) string {
	words := n.Name(state.SpaceToolCall, e.ID)
	if e.Tool != "" {
		words += " " + safetext.PlainName(e.Tool)
	}
	if args != nil {
		words += " " + safetext.Arguments(args)
	}
	if e.Results != nil {
		words += " gave " + n.result(e.Results)
	}
	return flagged(flagged(words, e.IsError, " failed"), e.Complete, " complete")
}

func (n *Namer) logged(e adk.LogEvent) string {
	words := safetext.PlainName(string(e.Level)) + " "
	if e.Kind != "" {
		words += safetext.PlainName(e.Kind) + ": "
	}
	words += safetext.Quoted(e.Message)
	if e.Payload != nil {
		words += " " + safetext.PlainData(e.Payload)
	}
	return words
}

func (n *Namer) gate(x *adk.Crossing) string {
	words := n.Name(state.SpaceGate, x.Name) + " " + safetext.Quoted(x.Text)
	if x.Value != nil {
		words += " about " + safetext.PlainData(x.Value)
	}
	if len(x.Schema) > 0 {
		words += " schema " + safetext.SchemaWords(x.Schema)
	}
	if x.Duration > 0 {
		words += " for at most " + x.Duration.String()
	}
	return words
}

// Alias returns the name of a record, without its content.
func (n *Namer) Alias(record adk.Record) string {
	if space := recordSpace(record.RecordKind()); space != "" {
		return n.Name(space, record.Key())
	}
	return safetext.PlainName(record.Key())
}

// Indent is the indentation of a line within the line that it belongs to. Deepest is the largest
// number of such indentations.
const (
	Indent  = "  "
	Deepest = 60
)

// Continuation describes a crossing in the place after the operation that caused it.
func (n *Namer) Continuation(x *adk.Crossing) string {
	if x.Kind == adk.KindCall {
		return " → " + SeamWords(x.Seam)
	}
	words := "  * " + x.Kind.String()
	switch e := n.Fold.Payload(x).(type) {
	case adk.MessageEvent:
		words += whole(adk.StreamUpdate(e))
	case adk.ThoughtEvent:
		words += whole(adk.StreamUpdate(e))
	case adk.ToolCallEvent:
		words += checksum(x.Key)
	}
	return words
}

// whole returns the text of a stream that has become complete, unless it was just shown as the
// delta.
func whole(u adk.StreamUpdate) string {
	if !u.Complete || u.Full == u.Delta {
		return ""
	}
	return " " + safetext.Quoted(u.Full)
}
