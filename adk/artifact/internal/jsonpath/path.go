// Package jsonpath selects values of a JSON text by paths of RFC 9535, with every selector,
// filters, and the five functions. Results are in document order. A question costs at most the
// number of nodes that its caller allows: no path is slower than that, however its filters are
// nested.
//
// [Parse] reads a path once; [Path.On] applies it to a document, any number of times.
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

// Path is a parsed query. It is immutable and safe for concurrent use.
type Path struct{ segments []segment }

// SyntaxError says where a text is no path.
type SyntaxError struct {
	// Column counts characters from 1.
	Column int
	// What was found there, or what was wanted.
	What string
}

// Error returns the place and what is wrong there.
func (e *SyntaxError) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.What) }

// segment selects children of each node, or of each node and all its descendants.
type segment struct {
	descendant bool
	selectors  []selector
}

// selector selects some of a node's children.
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

// query is a path within a filter, relative to the current node or to the root.
type query struct {
	relative bool
	segments []segment
}

// singular reports whether a query selects at most one node, that is, has only names and indexes.
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

// operand returns a value to compare, or none.
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
		whole         bool // for match; search accepts a part of the text
	}
)
