package jsonpath

import (
	"iter"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk/artifact/internal/jsonindex"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/adk/internal/pattern"
)

// Selection is a path that is applied to a document. It is not safe for concurrent use.
type Selection struct {
	path *Path
	evaluation
}

// On begins to select on a walk.
func (p *Path) On(w *jsonindex.Walk) *Selection { return &Selection{p, evaluation{Walk: w}} }

// From returns the nodes that the path selects from a root of the document, in document order. Each
// node that it looks at costs the walk one; long texts and patterns cost more. If the cost is too
// high, it returns an error.
func (s *Selection) From(root jsonindex.Node) (nodes []jsonindex.Node, err error) {
	defer jsonindex.Recover(&err)
	s.root = root
	return s.walk(s.path.segments, root), nil
}

// evaluation is the context in which conditions are evaluated.
type evaluation struct {
	*jsonindex.Walk
	root     jsonindex.Node
	patterns map[matched]compiled // the patterns met so far
}

func (e *evaluation) walk(segments []segment, from jsonindex.Node) []jsonindex.Node {
	nodes := []jsonindex.Node{from}
	e.Visit(1)
	for _, s := range segments {
		var selected []jsonindex.Node
		for _, node := range nodes {
			selected = e.segment(s, node, selected)
		}
		nodes = selected
	}
	return nodes
}

func (e *evaluation) segment(s segment, node jsonindex.Node, out []jsonindex.Node) []jsonindex.Node {
	e.Visit(1)
	for _, one := range s.selectors {
		e.Visit(1)
		out = one.apply(e, node, out)
	}
	if s.descendant {
		for child := range e.children(node) {
			out = e.segment(s, child, out)
		}
	}
	return out
}

// children iterates over the values in a list or an object, in order.
func (e *evaluation) children(node jsonindex.Node) iter.Seq[jsonindex.Node] {
	e.Pass(node)
	return e.Children(node)
}

func (s nameSelector) apply(e *evaluation, node jsonindex.Node, out []jsonindex.Node) []jsonindex.Node {
	if e.IsObject(node) {
		if value, found := e.Member(node, string(s)); found {
			return append(out, value)
		}
	}
	return out
}

func (wildcardSelector) apply(e *evaluation, node jsonindex.Node, out []jsonindex.Node) []jsonindex.Node {
	for child := range e.children(node) {
		e.Visit(1)
		out = append(out, child)
	}
	return out
}

func (s indexSelector) apply(e *evaluation, node jsonindex.Node, out []jsonindex.Node) []jsonindex.Node {
	if !e.IsList(node) {
		return out
	}
	at := int(s)
	if at < 0 {
		at += e.Len(node)
	}
	if at < 0 {
		return out
	}
	if item, found := e.Item(node, at); found {
		return append(out, item)
	}
	return out
}

func (s sliceSelector) apply(e *evaluation, node jsonindex.Node, out []jsonindex.Node) []jsonindex.Node {
	if !e.IsList(node) || s.step == 0 {
		return out
	}
	from, to := s.bounds(e.Len(node))
	if from >= to {
		return out
	}
	step, before := s.step, len(out)
	if step < 0 { // items are found fastest in ascending order
		step = -step
		from, to = to-(to-from-1)/step*step, to+1
	}
	for i := from; i < to; i += step {
		e.Visit(1)
		item, _ := e.Item(node, i)
		out = append(out, item)
	}
	if s.step < 0 {
		slices.Reverse(out[before:])
	}
	return out
}

// bounds returns the bounds of RFC 9535, section 2.3.4.2.2. With a negative step, the lower bound
// is exclusive and the upper one inclusive.
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

func (s filterSelector) apply(e *evaluation, node jsonindex.Node, out []jsonindex.Node) []jsonindex.Node {
	for child := range e.children(node) {
		e.Visit(1)
		if s.condition.holds(e, child) {
			out = append(out, child)
		}
	}
	return out
}

func (q *query) nodes(e *evaluation, node jsonindex.Node) []jsonindex.Node {
	if !q.relative {
		node = e.root
	}
	return e.walk(q.segments, node)
}

func (d disjunction) holds(e *evaluation, node jsonindex.Node) bool {
	for _, one := range d {
		if one.holds(e, node) {
			return true
		}
	}
	return false
}

func (c conjunction) holds(e *evaluation, node jsonindex.Node) bool {
	for _, one := range c {
		if !one.holds(e, node) {
			return false
		}
	}
	return true
}

func (n negation) holds(e *evaluation, node jsonindex.Node) bool { return !n.of.holds(e, node) }
func (x existence) holds(e *evaluation, node jsonindex.Node) bool {
	return len(x.of.nodes(e, node)) > 0
}

func (c comparison) holds(e *evaluation, node jsonindex.Node) bool {
	left, right := c.left.operand(e, node), c.right.operand(e, node)
	switch c.operator {
	case "==":
		return e.equal(left, right)
	case "!=":
		return !e.equal(left, right)
	case "<":
		return e.less(left, right)
	case ">":
		return e.less(right, left)
	case "<=":
		return e.equal(left, right) || e.less(left, right)
	default:
		return e.equal(left, right) || e.less(right, left)
	}
}

// value is one side of a comparison: nothing, a node, or a plain value.
type value struct {
	found, inText bool
	node          jsonindex.Node
	scalar        any
}

func of(scalar any) value { return value{found: true, scalar: scalar} }

// nested reports whether a value is a list or an object.
func (e *evaluation) nested(v value) bool {
	return v.inText && (e.IsList(v.node) || e.IsObject(v.node))
}

// plain returns the value of a side that exists and is not nested.
func (e *evaluation) plain(v value) any {
	if v.inText {
		return e.Value(v.node)
	}
	return v.scalar
}

func (e *evaluation) equal(a, b value) bool {
	switch {
	case !a.found || !b.found:
		return a.found == b.found
	case e.nested(a) || e.nested(b):
		return a.inText && b.inText && e.Equal(a.node, b.node)
	}
	return jsontree.Equal(e.plain(a), e.plain(b))
}

// less orders numbers, and texts by code point. Other values have no order.
func (e *evaluation) less(a, b value) bool {
	if !a.found || !b.found || e.nested(a) || e.nested(b) {
		return false
	}
	x, y := e.plain(a), e.plain(b)
	if text, ok := x.(string); ok {
		other, ok := y.(string)
		return ok && text < other
	}
	_, number := jsontree.Number(x)
	_, other := jsontree.Number(y)
	return number && other && jsontree.CompareNumbers(x, y) < 0
}

func (l literal) operand(*evaluation, jsonindex.Node) value { return of(l.value) }

func (o only) operand(e *evaluation, node jsonindex.Node) value { return first(o.of.nodes(e, node)) }

func first(nodes []jsonindex.Node) value {
	if len(nodes) == 0 {
		return value{}
	}
	return value{found: true, inText: true, node: nodes[0]}
}

func (l lengthOf) operand(e *evaluation, node jsonindex.Node) value {
	v := l.of.operand(e, node)
	switch {
	case !v.found:
	case e.nested(v):
		return of(float64(e.Len(v.node)))
	default:
		if text, ok := e.plain(v).(string); ok {
			return of(float64(utf8.RuneCountInString(text)))
		}
	}
	return value{}
}

func (c countOf) operand(e *evaluation, node jsonindex.Node) value {
	return of(float64(len(c.of.nodes(e, node))))
}

func (v valueOf) operand(e *evaluation, node jsonindex.Node) value {
	if nodes := v.of.nodes(e, node); len(nodes) == 1 {
		return first(nodes)
	}
	return value{}
}

func (m matching) holds(e *evaluation, node jsonindex.Node) bool {
	text, isText := e.text(m.text.operand(e, node))
	source, isPattern := e.text(m.pattern.operand(e, node))
	if !isText || !isPattern {
		return false
	}
	compiled := e.pattern(source, m.whole)
	e.Visit(int(min(int64(len(text))*int64(compiled.size)/stepsOfNode, math.MaxInt32)))
	return compiled.Regexp != nil && compiled.MatchString(text)
}

// stepsOfNode is how many steps a pattern may take at the cost of one node.
const stepsOfNode = 1024

// text returns the text of a value, and whether it is a text.
func (e *evaluation) text(v value) (text string, ok bool) {
	if v.found && !e.nested(v) {
		text, ok = e.plain(v).(string)
	}
	return text, ok
}

// maxPatterns is how many compiled patterns a question keeps; patterns can come from the document,
// so there may be many.
const maxPatterns = 64

// matched is a pattern, and whether it has to match the whole text.
type matched struct {
	source string
	whole  bool
}

// compiled is a compiled pattern with its size; nil if the pattern is invalid.
type compiled struct {
	*regexp.Regexp
	size int
}

func (e *evaluation) pattern(source string, whole bool) (made compiled) {
	key := matched{source, whole}
	if made, met := e.patterns[key]; met {
		return made
	}
	e.Visit(1 + len(source))
	source = plainDots(source)
	if whole {
		source = `\A(?:` + source + `)\z`
	}
	var err error
	if made.Regexp, made.size, err = pattern.Compile(source); err != nil {
		made = compiled{}
	}
	e.Visit(made.size)
	if e.patterns == nil || len(e.patterns) >= maxPatterns {
		e.patterns = map[matched]compiled{}
	}
	e.patterns[key] = made
	return made
}

// plainDots replaces each dot outside of a class by what it means in RFC 9485: any character except
// a line feed and a carriage return.
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
