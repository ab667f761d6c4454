package adk

import "slices"

// This file has everything that exists once per collection.

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

// collectionRow is the row of one collection in the table.
type collectionRow struct {
	name CollectionName
	// holds is the kind of its records.
	holds RecordKind
	// reads is the operation that fetches all of it from the storage.
	reads Kind
	// mark is zero, except for a collection that did not exist in the first traces (later).
	mark Digest
}

// row makes a row.
func row(name CollectionName, holds RecordKind, reads Kind) collectionRow {
	return collectionRow{name: name, holds: holds, reads: reads}
}

// later marks a collection that was added after traces were released. The states in old traces do
// not have it, so a digest leaves it out if it is empty.
func (r collectionRow) later() collectionRow { r.mark = DigestOf([]byte(r.name)); return r }

// The indexes of the collections in the table. Those before atTools are also the indexes of a
// context's sets; tools are in a registry instead.
const (
	atInstructions = iota
	atMessages
	atMemories
	atRetrievables
	atThoughts
	atToolCalls
	atTools
)

// collectionTable is the one table of collections, in the order in which a state has them.
var collectionTable = [...]collectionRow{
	atInstructions: row(Instructions, RecordInstruction, KindRefresh),
	atMessages:     row(Messages, RecordMessage, KindFetch),
	atMemories:     row(Memories, RecordMemory, KindFetch),
	atRetrievables: row(Retrievables, RecordRetrievable, KindFetch),
	atThoughts:     row(Thoughts, RecordThought, KindFetch),
	atToolCalls:    row(ToolCalls, RecordToolCall, KindFetch),
	atTools:        row(Tools, RecordTool, KindFetch),
}

// recordSpec is a collection together with the Go type of its records: its index in the table, and
// the storage obligations in the config.
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
	toolSpecs       = recordSpec[*Tool]{at: atTools} // its obligation is a ToolSource, which only reads
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

// RawDispatch is everything that a standalone dispatch has.
type RawDispatch struct {
	// SystemPrompt is required, and every field of Storage is.
	SystemPrompt string
	Storage      Storage
	// Instructions are the standing instructions, in order, each text once.
	Instructions []string
	// Stash is the nested tree with which the stash begins, as in RawTurn.
	Stash map[string]any
	// The records with which the sets and the registry begin, in order; no two of a list have the
	// same id or, for tools, the same name.
	Messages     []*Message
	Memories     []*Memory
	Retrievables []*Retrievable
	Thoughts     []*Thought
	ToolCalls    []*ToolCall
	Tools        []*Tool
	// Functional and Observability are the only listeners of this dispatch (DSP-8).
	Functional    Functional
	Observability Observability
	// Gates says that somebody can settle gates. Without it, waiting for a gate fails with
	// E_LLM_EXECUTION_GATE_NOT_SUPPORTED (DSP-10).
	Gates bool
	// Clock, IDs, Probe, WriteBehind and Outside are as in Config.
	Clock       Clock
	IDs         IDSource
	Probe       Probe
	WriteBehind bool
	Outside     Outside
}

// records returns the records with which the sets begin, the tools before the others.
func (raw *RawDispatch) records() []Record {
	records := appendRecords(nil, raw.Tools)
	records = appendRecords(records, raw.Messages)
	records = appendRecords(records, raw.Memories)
	records = appendRecords(records, raw.Retrievables)
	records = appendRecords(records, raw.Thoughts)
	return appendRecords(records, raw.ToolCalls)
}

// lists checks the records with which the sets begin.
func (f *fieldCheck) lists(raw *RawDispatch) {
	checkRecords(f, "Messages", sameID, raw.Messages)
	checkRecords(f, "Memories", sameID, raw.Memories)
	checkRecords(f, "Retrievables", sameID, raw.Retrievables)
	checkRecords(f, "Thoughts", sameID, raw.Thoughts)
	checkRecords(f, "ToolCalls", sameID, raw.ToolCalls)
	checkRecords(f, "Tools", sameName, raw.Tools)
}

// Instructions are the standing instructions, keyed by their text. Their Fetch is the operation
// called refresh.
func (h Handle) Instructions() Records[*Tokenizable] {
	return Records[*Tokenizable]{h.call, &instructionSpec}
}

// Messages are the messages of the conversation.
func (h Handle) Messages() Records[*Message] { return Records[*Message]{h.call, &messageSpec} }

// Memories are the memories that the turn uses.
func (h Handle) Memories() Records[*Memory] { return Records[*Memory]{h.call, &memorySpec} }

// Retrievables are the retrieved pieces of text that the turn uses.
func (h Handle) Retrievables() Records[*Retrievable] {
	return Records[*Retrievable]{h.call, &retrievableSpec}
}

// Thoughts are the model's thoughts.
func (h Handle) Thoughts() Records[*Thought] { return Records[*Thought]{h.call, &thoughtSpec} }

// ToolCalls are the tool calls and their results.
func (h Handle) ToolCalls() Records[*ToolCall] { return Records[*ToolCall]{h.call, &toolCallSpec} }

// Collections lists the collections, in the order in which a state has them (DET-8).
func Collections() []CollectionName {
	return each(collectionTable[:], func(row collectionRow) CollectionName { return row.name })
}

// CollectionOf returns the collection that holds records of a kind. found reports whether there is
// one; there is for all kinds except RecordMedia.
func CollectionOf(kind RecordKind) (of CollectionName, found bool) {
	if at := collectionAt(kind); at >= 0 {
		return collectionTable[at].name, true
	}
	return "", false
}

// Holds returns the kind of the collection's records, or "" for an unknown name.
func (c CollectionName) Holds() RecordKind { return c.row().holds }

// Reads returns the kind of the operation that fetches all of the collection from the storage, or 0
// for an unknown name.
func (c CollectionName) Reads() Kind { return c.row().reads }

// Mark is put before the list of the collection in the digest of a state (DET-8); an empty list
// with a mark is left out of the digest. Mark is zero for the collections of the first release.
func (c CollectionName) Mark() Digest { return c.row().mark }

func (c CollectionName) row() (row collectionRow) {
	if at := c.at(); at >= 0 {
		row = collectionTable[at]
	}
	return row
}

// at returns the index of the collection in the table, or a negative number for an unknown name.
func (c CollectionName) at() int {
	return slices.IndexFunc(collectionTable[:], func(row collectionRow) bool { return row.name == c })
}

// collectionAt returns the index in the table of the collection that holds records of a kind, or a
// negative number if there is none.
func collectionAt(kind RecordKind) int {
	return slices.IndexFunc(collectionTable[:], func(row collectionRow) bool { return row.holds == kind })
}
