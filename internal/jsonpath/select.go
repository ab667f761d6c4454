package jsonpath

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/internal/jsontree"
)

// ErrTooManyNodes says that a question would visit more nodes than it may.
var ErrTooManyNodes = errors.New("the question visits too many nodes: ask for less of the document")

// Budget is how many nodes questions may still visit together.
type Budget struct{ Nodes int }

// Select gives the values that the path selects in a tree, in the order of the
// document, and an empty list where there are none. Each node that it looks at costs
// the budget one; where that is used up, the error is ErrTooManyNodes.
func (p *Path) Select(root any, budget *Budget) (nodes []any, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			if fault != any(ErrTooManyNodes) {
				panic(fault)
			}
			nodes, err = nil, ErrTooManyNodes
		}
	}()
	e := &evaluation{root: root, budget: budget}
	return e.walk(p.segments, root), nil
}

// evaluation is one question. It stops by panicking with ErrTooManyNodes.
type evaluation struct {
	root     any
	budget   *Budget
	patterns map[string]*regexp.Regexp // those met, nil where one is none
}

func (e *evaluation) visit() {
	if e.budget.Nodes--; e.budget.Nodes < 0 {
		panic(ErrTooManyNodes)
	}
}

func (e *evaluation) walk(segments []segment, from any) []any {
	nodes := []any{from}
	e.visit()
	for _, s := range segments {
		var selected []any
		for _, node := range nodes {
			selected = e.segment(s, node, selected)
		}
		nodes = selected
	}
	if nodes == nil {
		nodes = []any{}
	}
	return nodes
}

func (e *evaluation) segment(s segment, node any, out []any) []any {
	e.visit()
	for _, one := range s.selectors {
		e.visit()
		out = one.apply(e, node, out)
	}
	if s.descendant {
		for child := range children(node) {
			out = e.segment(s, child, out)
		}
	}
	return out
}

// children are the values in a list or an object, in order.
func children(node any) func(yield func(any) bool) {
	return func(yield func(any) bool) {
		switch n := node.(type) {
		case []any:
			for _, item := range n {
				if !yield(item) {
					return
				}
			}
		case *jsontree.Object:
			for _, value := range n.All() {
				if !yield(value) {
					return
				}
			}
		}
	}
}

func (s nameSelector) apply(_ *evaluation, node any, out []any) []any {
	if o, is := node.(*jsontree.Object); is {
		if value, found := o.Get(string(s)); found {
			return append(out, value)
		}
	}
	return out
}

func (wildcardSelector) apply(e *evaluation, node any, out []any) []any {
	for child := range children(node) {
		e.visit()
		out = append(out, child)
	}
	return out
}

func (s indexSelector) apply(_ *evaluation, node any, out []any) []any {
	list, is := node.([]any)
	at := int(s)
	if at < 0 {
		at += len(list)
	}
	if !is || at < 0 || at >= len(list) {
		return out
	}
	return append(out, list[at])
}

func (s sliceSelector) apply(e *evaluation, node any, out []any) []any {
	list, is := node.([]any)
	if !is || s.step == 0 {
		return out
	}
	lower, upper := s.bounds(len(list))
	if s.step > 0 {
		for i := lower; i < upper; i += s.step {
			e.visit()
			out = append(out, list[i])
		}
		return out
	}
	for i := upper; i > lower; i += s.step {
		e.visit()
		out = append(out, list[i])
	}
	return out
}

// bounds are those of RFC 9535, section 2.3.4.2.2.
func (s sliceSelector) bounds(n int) (lower, upper int) {
	start, end := 0, n
	if s.step < 0 {
		start, end = n-1, -n-1
	}
	if s.start != nil {
		start = *s.start
	}
	if s.end != nil {
		end = *s.end
	}
	fromEnd := func(i int) int {
		if i < 0 {
			return n + i
		}
		return i
	}
	start, end = fromEnd(start), fromEnd(end)
	if s.step > 0 {
		return min(max(start, 0), n), min(max(end, 0), n)
	}
	return min(max(end, -1), n-1), min(max(start, -1), n-1)
}

func (s filterSelector) apply(e *evaluation, node any, out []any) []any {
	for child := range children(node) {
		e.visit()
		if s.condition.holds(e, child) {
			out = append(out, child)
		}
	}
	return out
}

func (q *query) nodes(e *evaluation, node any) []any {
	if !q.relative {
		node = e.root
	}
	return e.walk(q.segments, node)
}

func (d disjunction) holds(e *evaluation, node any) bool {
	for _, one := range d {
		if one.holds(e, node) {
			return true
		}
	}
	return false
}

func (c conjunction) holds(e *evaluation, node any) bool {
	for _, one := range c {
		if !one.holds(e, node) {
			return false
		}
	}
	return true
}

func (n negation) holds(e *evaluation, node any) bool  { return !n.of.holds(e, node) }
func (x existence) holds(e *evaluation, node any) bool { return len(x.of.nodes(e, node)) > 0 }

func (c comparison) holds(e *evaluation, node any) bool {
	left, leftFound := c.left.operand(e, node)
	right, rightFound := c.right.operand(e, node)
	equal := leftFound == rightFound && (!leftFound || jsontree.Equal(left, right))
	both := leftFound && rightFound
	switch c.operator {
	case "==":
		return equal
	case "!=":
		return !equal
	case "<":
		return both && less(left, right)
	case ">":
		return both && less(right, left)
	case "<=":
		return equal || both && less(left, right)
	default:
		return equal || both && less(right, left)
	}
}

// less orders numbers, and texts by code point; nothing else has an order.
func less(a, b any) bool {
	if text, is := a.(string); is {
		other, is := b.(string)
		return is && text < other
	}
	_, number := jsontree.Number(a)
	_, other := jsontree.Number(b)
	return number && other && jsontree.CompareNumbers(a, b) < 0
}

func (l literal) operand(*evaluation, any) (any, bool) { return l.value, true }

func (o only) operand(e *evaluation, node any) (any, bool) {
	nodes := o.of.nodes(e, node)
	if len(nodes) == 0 {
		return nil, false
	}
	return nodes[0], true
}

func (l lengthOf) operand(e *evaluation, node any) (any, bool) {
	value, _ := l.of.operand(e, node)
	switch v := value.(type) {
	case string:
		return float64(utf8.RuneCountInString(v)), true
	case []any:
		return float64(len(v)), true
	case *jsontree.Object:
		return float64(v.Len()), true
	}
	return nil, false
}

func (c countOf) operand(e *evaluation, node any) (any, bool) {
	return float64(len(c.of.nodes(e, node))), true
}

func (v valueOf) operand(e *evaluation, node any) (any, bool) {
	if nodes := v.of.nodes(e, node); len(nodes) == 1 {
		return nodes[0], true
	}
	return nil, false
}

func (m matching) holds(e *evaluation, node any) bool {
	given, _ := m.text.operand(e, node)
	pattern, _ := m.pattern.operand(e, node)
	text, isText := given.(string)
	source, isPattern := pattern.(string)
	if !isText || !isPattern {
		return false
	}
	compiled := e.pattern(source, m.whole)
	return compiled != nil && compiled.MatchString(text)
}

// maxPatterns is how many patterns of a question are kept compiled: a pattern can
// come from the document.
const maxPatterns = 64

func (e *evaluation) pattern(source string, whole bool) *regexp.Regexp {
	source = plainDots(source)
	if whole {
		source = `\A(?:` + source + `)\z`
	}
	if compiled, met := e.patterns[source]; met {
		return compiled
	}
	compiled, err := regexp.Compile(source)
	if err != nil {
		compiled = nil
	}
	if e.patterns == nil || len(e.patterns) >= maxPatterns {
		e.patterns = map[string]*regexp.Regexp{}
	}
	e.patterns[source] = compiled
	return compiled
}

// plainDots makes each dot outside of a class match what it does in RFC 9485: all
// but a line feed and a carriage return.
func plainDots(pattern string) string {
	if !strings.Contains(pattern, ".") {
		return pattern
	}
	var out strings.Builder
	class := false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			out.WriteString(pattern[i : i+2])
			i++
			continue
		case c == '.' && !class:
			out.WriteString(`[^\n\r]`)
			continue
		case c == '[':
			class = true
		case c == ']':
			class = false
		}
		out.WriteByte(pattern[i])
	}
	return out.String()
}
