package replay

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// namer puts crossings into words: the one rendering that transcripts print and
// divergences quote. Ids that people or machines made differ between runs, so it
// names things in the order in which they appear: m1, call1, turn1.
//
// It reads the words of what happened before from a fold, and is therefore
// asked about the next crossing, before pass takes that in.
type namer struct {
	fold   *Fold
	names  map[thing]string
	counts map[string]int
	// shown is what was last shown of a record, so that it is shown in full when
	// it first appears and when it has changed; nil shows all of them in full.
	shown map[thing]adk.Digest
	// lastError is the last error event, where lines stand below each other.
	lastError string
}

// renamed is a namer for another trace of the like: what has a name here has it
// there too. other gives the id over there of an id here, or false where none there
// may have its name.
func (n *namer) renamed(other func(id string) (string, bool)) *namer {
	there := newNamer(NewFold())
	for key, name := range n.names {
		id, named := other(key.id)
		if named {
			there.names[thing{key.space, id}] = name
		}
	}
	maps.Copy(there.counts, n.counts)
	return there
}

// thing is a thing with an id, in the space where that id is its own.
type thing struct{ space, id string }

// The spaces of ids are the beginnings of the names. Streams share them with the
// records that are made of them.
const (
	spaceTurn     = "turn"
	spaceDispatch = "dispatch"
	spaceMessage  = "m"
	spaceThought  = "t"
	spaceToolCall = "call"
	spaceGate     = "gate"
	spaceMade     = "id" // ids that the id source made for user code
)

var recordSpaces = map[adk.RecordKind]string{
	adk.RecordMessage:     spaceMessage,
	adk.RecordMemory:      "mem",
	adk.RecordThought:     spaceThought,
	adk.RecordToolCall:    spaceToolCall,
	adk.RecordRetrievable: "r",
	adk.RecordInstruction: "i",
	adk.RecordMedia:       "media",
}

// newNamer names what the crossings of a fold speak of. Its lines show every
// record in full.
func newNamer(f *Fold) *namer {
	return &namer{fold: f, names: map[thing]string{}, counts: map[string]int{}}
}

// pass takes the next crossing in: the names it brings, and what it does.
func (n *namer) pass(x *adk.Crossing) error {
	n.note(x)
	return n.fold.Apply(x)
}

// line is the next crossing in one line that stands alone.
func (n *namer) line(x *adk.Crossing) string {
	n.note(x)
	head := n.head(x)
	if isClosing(x) {
		head = n.closing(x)
	}
	if answer := n.answer(x); answer != "" {
		return head + " → " + answer
	}
	return head
}

// isClosing reports whether a crossing ends what an earlier one began.
func isClosing(x *adk.Crossing) bool { return x.Kind == adk.KindReturn || x.Phase == adk.Done }

// isOpening reports whether a crossing begins what a later one ends.
func isOpening(x *adk.Crossing) bool { return x.Kind == adk.KindCall || x.Phase == adk.Begin }

// closing is what a crossing ends.
func (n *namer) closing(x *adk.Crossing) string {
	if x.Kind != adk.KindReturn {
		return x.Kind.String() + " done"
	}
	if c := n.fold.calls[x.ID]; c != nil {
		return seamWords(c.seam) + " returns"
	}
	return "return"
}

// name is the name of an id, a new one where it is not known.
func (n *namer) name(space, id string) string {
	key := thing{space, id}
	name, known := n.names[key]
	if !known {
		n.counts[space]++
		name = space + strconv.Itoa(n.counts[space])
		n.names[key] = name
	}
	return name
}

// note gives names to what a crossing speaks of, in the order of its fields.
func (n *namer) note(x *adk.Crossing) {
	switch x.Kind {
	case adk.KindTurnStart:
		n.name(spaceTurn, x.Name)
	case adk.KindDispatchStart:
		n.name(spaceDispatch, x.Name)
	case adk.KindReportMessage:
		n.name(spaceMessage, x.Name)
	case adk.KindReportThought:
		n.name(spaceThought, x.Name)
	case adk.KindReportToolCall:
		n.name(spaceToolCall, x.Name)
	case adk.KindWaitFor:
		if x.Phase == adk.Begin {
			n.name(spaceGate, x.Name)
		}
	case adk.KindNewID:
		n.name(spaceMade, x.Name)
	case adk.KindCall:
		for _, text := range x.Texts {
			n.name(recordSpaces[adk.RecordInstruction], text)
		}
	}
	n.noteRecord(x.Record)
	for _, record := range x.Records {
		n.noteRecord(record)
	}
}

func (n *namer) noteRecord(record adk.Record) {
	if record == nil {
		return
	}
	if space, ok := recordSpaces[record.RecordKind()]; ok {
		n.name(space, record.Key())
	}
}

// head is what a crossing is, and what was handed in.
func (n *namer) head(x *adk.Crossing) string {
	switch x.Kind.Class() {
	case adk.ClassCall:
		return n.call(x)
	case adk.ClassEvent:
		return "* " + n.event(x)
	case adk.ClassFact:
		return n.fact(x)
	}
	return n.operation(x)
}

// answer is what a crossing came back with; empty where that is nothing but
// that it went well.
func (n *namer) answer(x *adk.Crossing) string {
	switch {
	case x.Kind == adk.KindReturn:
		return n.returned(x)
	case x.Kind.Class() != adk.ClassOperation:
		return ""
	case x.Err != nil:
		return errorWith(x.Err)
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
		return list(x.Texts, plainName)
	case adk.KindNow:
		return lasting(x.At.Sub(n.fold.startedAt)) + " into the turn"
	case adk.KindNewID:
		return n.name(spaceMade, x.Name)
	case adk.KindOpenMedia:
		if data, ok := x.Value.([]byte); ok {
			return fmt.Sprintf("%d bytes", len(data))
		}
	}
	return ""
}

// returned is how a seam call ended, and with what.
func (n *namer) returned(x *adk.Crossing) string {
	switch {
	case x.Outcome == adk.OutcomeGoexit:
		return "goexit: it ended its goroutine"
	case x.Err != nil:
		return errorWith(x.Err)
	case x.Outcome != adk.OutcomeOK && x.Outcome != "":
		return plainName(string(x.Outcome))
	case x.Result != nil:
		return n.result(x.Result)
	case len(x.Records) > 0:
		return list(x.Records, n.record)
	}
	if c := n.fold.calls[x.ID]; c != nil && c.seam.Label == adk.LabelStorage &&
		(strings.HasSuffix(c.seam.Name, ".fetch") || strings.HasSuffix(c.seam.Name, ".refresh")) {
		return "nothing"
	}
	return ""
}

// call is the beginning of a seam call.
func (n *namer) call(x *adk.Crossing) string {
	words := seamWords(x.Seam)
	if x.Call == 0 {
		words += n.handedIn(x)
	}
	if x.Args != nil {
		words += " " + arguments(x.Args)
	}
	if x.Cause != nil {
		words += ", its context ended with " + errorWith(x.Cause)
	}
	if x.Record != nil {
		words += " " + n.record(x.Record)
	}
	if x.Key != "" {
		words += " " + n.key(collectionOf(x.Seam), x.Key)
	}
	return words
}

// handedIn is what a run begins with.
func (n *namer) handedIn(x *adk.Crossing) string {
	words := " " + quoted(x.Text)
	if len(x.Texts) > 0 {
		words += "  instructions: " + list(x.Texts, func(text string) string { return n.record(adk.NewTokenizable(text)) })
	}
	if x.Value != nil {
		words += "  stash: " + plainData(x.Value)
	}
	if len(x.Records) > 0 {
		words += "  tools: " + list(x.Records, n.record)
	}
	return words
}

// seamWords is the path of a seam.
func seamWords(seam adk.Seam) string {
	at := ""
	if path := seam.String(); strings.Contains(path, "#") && seam.Name != "" {
		at = path[strings.LastIndexByte(path, '#'):]
	}
	switch {
	case seam.Name == "":
		return plainName(seam.Label)
	case seam.Label == adk.LabelTool || seam.Label == adk.LabelOnAck || seam.Label == adk.LabelStrand || seam.Label == adk.LabelStorage:
		at = "" // a # there is part of the name
	}
	return plainName(seam.Label) + "/" + plainName(strings.TrimSuffix(seam.Name, at)) + at
}

func collectionOf(seam adk.Seam) adk.CollectionName {
	of, _, _ := strings.Cut(seam.Name, ".")
	return adk.CollectionName(of)
}

// operation is something that user code asks of the engine.
func (n *namer) operation(x *adk.Crossing) string {
	verb := x.Kind.String()
	switch x.Kind {
	case adk.KindFetch, adk.KindRefresh:
		return verb + " " + plainName(string(x.Collection))
	case adk.KindAdd:
		return n.onRecord(x, " to ")
	case adk.KindStore, adk.KindMutate:
		return n.onRecord(x, " in ")
	case adk.KindRemove, adk.KindDelete:
		return verb + " " + n.key(x.Collection, x.Key) + " from " + plainName(string(x.Collection))
	case adk.KindStash:
		if x.Value == nil {
			return verb + " " + plainName(x.Name) + " deleted"
		}
		return verb + " " + plainName(x.Name) + " = " + plainData(x.Value)
	case adk.KindExecute:
		return verb + " " + toolName(x.Record) + " " + arguments(x.Args)
	case adk.KindRegister:
		return verb + " " + flagged(n.record(x.Record), x.Flag, ", over one of its name")
	case adk.KindUnregister, adk.KindOnAck:
		return verb + " " + plainName(x.Name)
	case adk.KindOffAck:
		return verb + " handler " + strconv.Itoa(x.ID)
	case adk.KindPrune:
		return verb + " the ephemeral tools"
	case adk.KindNack, adk.KindAbort:
		if x.Cause == nil {
			return verb
		}
		return verb + " with " + errorWith(x.Cause)
	case adk.KindSleep:
		return verb + " " + x.Duration.String()
	case adk.KindWait:
		return fmt.Sprintf("%s for %s, %s", verb, plainName(x.Name), strandName(x.ID))
	case adk.KindFork:
		if x.Err != nil {
			return verb + " " + plainName(x.Name)
		}
		return fmt.Sprintf("%s %s as %s", verb, plainName(x.Name), strandName(x.ID))
	case adk.KindOpenMedia:
		return verb + " " + n.record(x.Record)
	case adk.KindWaitFor:
		return verb + " " + n.gate(x)
	}
	if words := n.saying(x); words != "" {
		return verb + " " + words
	}
	return verb
}

// strandName is how lines name a strand.
func strandName(number int) string { return "s" + strconv.Itoa(number) }

func flagged(words string, is bool, flag string) string {
	if is {
		return words + flag
	}
	return words
}

// toolName is the name of a recorded tool; empty where there is none.
func toolName(record adk.Record) string {
	if record == nil {
		return "no tool"
	}
	return plainName(record.Key())
}

// onRecord is an operation that keeps a record somewhere.
func (n *namer) onRecord(x *adk.Crossing, where string) string {
	return x.Kind.String() + " " + n.record(x.Record) + where + plainName(string(x.Collection))
}

// saying is what is reported or emitted, without the verb.
func (n *namer) saying(x *adk.Crossing) string {
	switch x.Kind {
	case adk.KindReportMessage:
		return n.delta(spaceMessage, x.Name, x.Text, x.Flag)
	case adk.KindReportThought:
		return n.delta(spaceThought, x.Name, x.Text, x.Flag)
	case adk.KindReportToolCall:
		return n.toolCall(adk.ToolCallEvent{ID: x.Name, Tool: x.Key, Results: x.Result, IsError: x.IsError, Complete: x.Flag}, x.Args)
	case adk.KindReportLog:
		return n.logged(adk.LogEvent{Level: adk.Level(x.Key), Kind: x.Name, Message: x.Text, Payload: x.Value})
	}
	switch e := x.Payload.(type) {
	case adk.MessageEvent:
		return n.delta(spaceMessage, e.ID, e.Delta, e.Complete)
	case adk.ThoughtEvent:
		return n.delta(spaceThought, e.ID, e.Delta, e.Complete)
	case adk.ToolCallEvent:
		if e.Args == nil {
			return n.toolCall(e, nil)
		}
		return n.toolCall(e, e.Args)
	}
	return ""
}

func (n *namer) delta(space, id, delta string, complete bool) string {
	return flagged(n.name(space, id)+" "+quoted(delta), complete, " complete")
}

func (n *namer) toolCall(e adk.ToolCallEvent, args any) string {
	words := n.name(spaceToolCall, e.ID)
	if e.Tool != "" {
		words += " " + plainName(e.Tool)
	}
	if args != nil {
		words += " " + arguments(args)
	}
	if e.Results != nil {
		words += " gave " + n.result(e.Results)
	}
	return flagged(flagged(words, e.IsError, " failed"), e.Complete, " complete")
}

func (n *namer) logged(e adk.LogEvent) string {
	words := plainName(string(e.Level)) + " "
	if e.Kind != "" {
		words += plainName(e.Kind) + ": "
	}
	words += quoted(e.Message)
	if e.Payload != nil {
		words += " " + plainData(e.Payload)
	}
	return words
}

func (n *namer) gate(x *adk.Crossing) string {
	words := n.name(spaceGate, x.Name) + " " + quoted(x.Text)
	if x.Value != nil {
		words += " about " + plainData(x.Value)
	}
	if len(x.Schema) > 0 {
		words += " schema " + schemaWords(x.Schema)
	}
	if x.Duration > 0 {
		words += " for at most " + x.Duration.String()
	}
	return words
}

// alias is the name of a record alone.
func (n *namer) alias(record adk.Record) string {
	if space, ok := recordSpaces[record.RecordKind()]; ok {
		return n.name(space, record.Key())
	}
	return plainName(record.Key())
}

// list is all of a list, one after the other.
func list[T any](all []T, word func(T) string) string { return strings.Join(each(all, word), ", ") }

// short is a list of names, of which a long one keeps its head and its end.
func short[T any](all []T, word func(T) string) string {
	const most = 12
	if len(all) <= most {
		return strings.Join(each(all, word), " ")
	}
	return strings.Join(each(all[:most-2], word), " ") + " … " + word(all[len(all)-1])
}

// each is what f makes of each of a list.
func each[T, U any](all []T, f func(T) U) []U {
	made := make([]U, len(all))
	for i, one := range all {
		made[i] = f(one)
	}
	return made
}
