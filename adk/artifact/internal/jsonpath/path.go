// Package jsonpath selects values of a JSON text by paths of RFC 9535, all of it:
// every selector, filters, and the five functions. What it gives comes in the order
// of the document, and a question costs at most the nodes that its caller allows:
// no path is slower than that, however its filters are nested.
//
// A path is read once, by [Parse], and asked any number of times, through a document at a
// time, by [Path.On].
package jsonpath

import (
	"fmt"

	"github.com/adkreplay/adkreplay/adk/artifact/internal/jsonindex"
)

// The bounds of a path.
const (
	maxSegments = 100 // of one query
	maxNesting  = 100 // of filters, functions, parentheses and negations
)

// Path is a query that was read. It is immutable and safe for concurrent use.
type Path struct{ segments []segment }

// SyntaxError says where a text is no path.
type SyntaxError struct {
	// Column counts characters from 1.
	Column int
	// What was found there, or what was wanted.
	What string
}

// Error is the place and what is wrong there.
func (e *SyntaxError) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.What) }

// segment selects from each node, or from each node and all below it.
type segment struct {
	descendant bool
	selectors  []selector
}

// selector gives some of a node's children.
type selector interface {
	apply(e *evaluation, node jsonindex.Node, out []jsonindex.Node) []jsonindex.Node
}

type (
	nameSelector     string
	wildcardSelector struct{}
	indexSelector    int
	sliceSelector    struct {
		start, end *int
		step       int
	}
	filterSelector struct{ condition logical }
)

// query is a path inside a filter: relative to the current node, or to the root.
type query struct {
	relative bool
	segments []segment
}

// singular reports whether a query can give one node at most: names and indexes
// alone.
func (q *query) singular() bool {
	for _, s := range q.segments {
		if s.descendant || len(s.selectors) != 1 {
			return false
		}
		switch s.selectors[0].(type) {
		case nameSelector, indexSelector:
		default:
			return false
		}
	}
	return true
}

// logical is a condition on the current node.
type logical interface {
	holds(e *evaluation, node jsonindex.Node) bool
}

// operand gives a value to compare, or none.
type operand interface {
	operand(e *evaluation, node jsonindex.Node) value
}

type (
	disjunction []logical
	conjunction []logical
	negation    struct{ of logical }
	existence   struct{ of *query }
	comparison  struct {
		left, right operand
		operator    string
	}
	literal struct{ value any }
	only    struct{ of *query } // the value of a singular query
)

// The functions of RFC 9535.
type (
	lengthOf struct{ of operand }
	countOf  struct{ of *query }
	valueOf  struct{ of *query }
	matching struct {
		text, pattern operand
		whole         bool // match, as against search
	}
)
