package adk

import "slices"

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
}

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
	atInstructions: {Instructions, RecordInstruction, KindRefresh},
	atMessages:     {Messages, RecordMessage, KindFetch},
	atMemories:     {Memories, RecordMemory, KindFetch},
	atRetrievables: {Retrievables, RecordRetrievable, KindFetch},
	atThoughts:     {Thoughts, RecordThought, KindFetch},
	atToolCalls:    {ToolCalls, RecordToolCall, KindFetch},
	atTools:        {Tools, RecordTool, KindFetch},
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

// Collections lists the seven collections, in the order of a state (DET-8).
func Collections() []CollectionName {
	all := make([]CollectionName, len(collectionTable))
	for i, row := range collectionTable {
		all[i] = row.name
	}
	return all
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

func (c CollectionName) row() (row collectionRow) {
	if at := slices.IndexFunc(collectionTable[:], func(row collectionRow) bool { return row.name == c }); at >= 0 {
		row = collectionTable[at]
	}
	return row
}

// collectionAt is the place in the table of the collection that holds records of a
// kind, negative where there is none.
func collectionAt(kind RecordKind) int {
	return slices.IndexFunc(collectionTable[:], func(row collectionRow) bool { return row.holds == kind })
}
