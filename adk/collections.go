package adk

import "slices"

// This file has all that there is once for each collection.

// CollectionName names a set of a context and the storage behind it.
type CollectionName string

// The collections.
const (
	Messages     CollectionName = "messages"
	Memories     CollectionName = "memories"
	Retrievables CollectionName = "retrievables"
	Thoughts     CollectionName = "thoughts"
	ToolCalls    CollectionName = "toolCalls"
	Instructions CollectionName = "instructions"
	Tools        CollectionName = "tools"
)

// collectionRow is what the table holds for a collection.
type collectionRow struct {
	name CollectionName
	// holds is what a record of it is.
	holds RecordKind
	// reads is the operation that asks the storage for all of it.
	reads Kind
	// mark is zero, but of a collection that is new since traces were written (later).
	mark Digest
}

// row begins a row.
func row(name CollectionName, holds RecordKind, reads Kind) collectionRow {
	return collectionRow{name: name, holds: holds, reads: reads}
}

// later marks a collection that came after traces were released: their digests are of
// states without it, and so are those of states in which it is empty.
func (r collectionRow) later() collectionRow { r.mark = DigestOf([]byte(r.name)); return r }

// The places of the collections in the table; those before atTools are those of the
// sets of a context, whose tools are in a registry.
const (
	atInstructions = iota
	atMessages
	atMemories
	atRetrievables
	atThoughts
	atToolCalls
	atTools
)

// collectionTable is the one table of collections, in the order of a state.
var collectionTable = [...]collectionRow{
	atInstructions: row(Instructions, RecordInstruction, KindRefresh),
	atMessages:     row(Messages, RecordMessage, KindFetch),
	atMemories:     row(Memories, RecordMemory, KindFetch),
	atRetrievables: row(Retrievables, RecordRetrievable, KindFetch),
	atThoughts:     row(Thoughts, RecordThought, KindFetch),
	atToolCalls:    row(ToolCalls, RecordToolCall, KindFetch),
	atTools:        row(Tools, RecordTool, KindFetch),
}

// recordSpec is a collection with the type of its records: its place in the table,
// and the obligations in the config.
type recordSpec[T record] struct {
	at      int
	storage func(*Storage) Collection[T]
}

var (
	instructionSpec = recordSpec[*Tokenizable]{atInstructions, func(s *Storage) Collection[*Tokenizable] { return s.Instructions }}
	messageSpec     = recordSpec[*Message]{atMessages, func(s *Storage) Collection[*Message] { return s.Messages }}
	memorySpec      = recordSpec[*Memory]{atMemories, func(s *Storage) Collection[*Memory] { return s.Memories }}
	retrievableSpec = recordSpec[*Retrievable]{atRetrievables, func(s *Storage) Collection[*Retrievable] { return s.Retrievables }}
	thoughtSpec     = recordSpec[*Thought]{atThoughts, func(s *Storage) Collection[*Thought] { return s.Thoughts }}
	toolCallSpec    = recordSpec[*ToolCall]{atToolCalls, func(s *Storage) Collection[*ToolCall] { return s.ToolCalls }}
	toolSpecs       = recordSpec[*Tool]{at: atTools} // its obligation only reads
)

func (s *recordSpec[T]) row() *collectionRow { return &collectionTable[s.at] }

// Storage has the storage obligations of a runner. Every field is required.
type Storage struct {
	Messages     Collection[*Message]
	Memories     Collection[*Memory]
	Retrievables Collection[*Retrievable]
	Thoughts     Collection[*Thought]
	ToolCalls    Collection[*ToolCall]
	Instructions Collection[*Tokenizable]
	Tools        ToolSource
}

// RawDispatch is all that a standalone dispatch has.
type RawDispatch struct {
	// SystemPrompt is required, and every field of Storage is.
	SystemPrompt string
	Storage      Storage
	// Instructions are the standing instructions, in order, each text once.
	Instructions []string
	// Stash is the nested tree with which the stash begins, as in RawTurn.
	Stash map[string]any
	// The records that the sets begin with, in order, each id once.
	Messages     []*Message
	Memories     []*Memory
	Retrievables []*Retrievable
	Thoughts     []*Thought
	ToolCalls    []*ToolCall
	Tools        []*Tool
	// Functional and Observability hear this dispatch; nobody else does
	// (DSP-8).
	Functional    Functional
	Observability Observability
	// Gates says that somebody is there to settle gates; without it waiting for
	// one is E_LLM_EXECUTION_GATE_NOT_SUPPORTED (DSP-10).
	Gates bool
	// Clock, IDs, Probe, WriteBehind and Outside are as in Config.
	Clock       Clock
	IDs         IDSource
	Probe       Probe
	WriteBehind bool
	Outside     Outside
}

// records are what the sets begin with, the tools before the others.
func (raw *RawDispatch) records() []Record {
	records := appendRecords(nil, raw.Tools)
	records = appendRecords(records, raw.Messages)
	records = appendRecords(records, raw.Memories)
	records = appendRecords(records, raw.Retrievables)
	records = appendRecords(records, raw.Thoughts)
	return appendRecords(records, raw.ToolCalls)
}

// lists checks what the sets begin with.
func (f *fieldCheck) lists(raw *RawDispatch) {
	checkRecords(f, "Messages", sameID, raw.Messages)
	checkRecords(f, "Memories", sameID, raw.Memories)
	checkRecords(f, "Retrievables", sameID, raw.Retrievables)
	checkRecords(f, "Thoughts", sameID, raw.Thoughts)
	checkRecords(f, "ToolCalls", sameID, raw.ToolCalls)
	checkRecords(f, "Tools", sameName, raw.Tools)
}

// Instructions are the standing instructions, keyed by their text. Their Fetch
// is what the field calls refresh.
func (h Handle) Instructions() Records[*Tokenizable] {
	return Records[*Tokenizable]{h.call, &instructionSpec}
}

// Messages are the messages of the conversation.
func (h Handle) Messages() Records[*Message] { return Records[*Message]{h.call, &messageSpec} }

// Memories are the memories in play.
func (h Handle) Memories() Records[*Memory] { return Records[*Memory]{h.call, &memorySpec} }

// Retrievables are the retrieved pieces of text in play.
func (h Handle) Retrievables() Records[*Retrievable] {
	return Records[*Retrievable]{h.call, &retrievableSpec}
}

// Thoughts are the model's thoughts.
func (h Handle) Thoughts() Records[*Thought] { return Records[*Thought]{h.call, &thoughtSpec} }

// ToolCalls are the tool calls and their results.
func (h Handle) ToolCalls() Records[*ToolCall] { return Records[*ToolCall]{h.call, &toolCallSpec} }

// Collections lists the collections, in the order of a state (DET-8).
func Collections() []CollectionName {
	return each(collectionTable[:], func(row collectionRow) CollectionName { return row.name })
}

// CollectionOf is the collection that holds records of a kind; found reports whether
// there is one, as for all kinds but RecordMedia.
func CollectionOf(kind RecordKind) (of CollectionName, found bool) {
	if at := collectionAt(kind); at >= 0 {
		return collectionTable[at].name, true
	}
	return "", false
}

// Holds is the kind of the records of the collection; empty where there is none of the
// name.
func (c CollectionName) Holds() RecordKind { return c.row().holds }

// Reads is the kind of the operation that asks the storage for all of the collection; 0
// where there is none of the name.
func (c CollectionName) Reads() Kind { return c.row().reads }

// Mark stands before the list of the collection in the digest of a state (DET-8), which
// leaves an empty one out; zero of those that traces of the first release have.
func (c CollectionName) Mark() Digest { return c.row().mark }

func (c CollectionName) row() (row collectionRow) {
	if at := c.at(); at >= 0 {
		row = collectionTable[at]
	}
	return row
}

// at is the place of the collection in the table, negative where there is none of the name.
func (c CollectionName) at() int {
	return slices.IndexFunc(collectionTable[:], func(row collectionRow) bool { return row.name == c })
}

// collectionAt is the place in the table of the collection that holds records of a
// kind, negative where there is none.
func collectionAt(kind RecordKind) int {
	return slices.IndexFunc(collectionTable[:], func(row collectionRow) bool { return row.holds == kind })
}
