package numbers

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// node is a part of an expression; it can be evaluated and written as LaTeX.
type node interface {
	eval() (value, error)
	tex() string
}

type (
	constant struct {
		name  string
		worth scalar
	}
	number struct {
		text  string
		worth scalar
	}
	unary  struct{ of node } // a minus; a plus has no node
	binary struct {
		operator    string
		left, right node
	}
	factorial struct{ of node }
	bracket   struct{ of node }
	function  struct {
		name string
		args []node
	}
	grid struct{ rows [][]node } // a matrix, or a vector if it is one row in a list
)

// parseExpression parses an expression. Operators bind in this order, the loosest first:
// comparison, + -, * / %, implicit product, signs, ^ (right-associative), and !.
func parseExpression(text string) (tree node, err error) {
	p := &expressionParser{scanner{text: text}}
	defer catch(&err)
	if p.space(); p.at == len(text) {
		return nil, fmt.Errorf("the expression is empty")
	}
	tree = p.comparison()
	if p.space(); p.at < len(text) {
		p.unexpected("an operator or the end")
	}
	return tree, nil
}

type expressionParser struct{ scanner }

func (p *expressionParser) unexpected(want string) {
	if p.at >= len(p.text) {
		p.fail("the expression ends, want %s", want)
	}
	c, _ := utf8.DecodeRuneInString(p.rest())
	p.fail("found %q, want %s", c, want)
}

func (p *expressionParser) take(words ...string) string {
	p.space()
	for _, word := range words {
		if strings.HasPrefix(p.rest(), word) {
			p.at += len(word)
			return word
		}
	}
	return ""
}

func (p *expressionParser) peek() rune {
	p.space()
	c, _ := utf8.DecodeRuneInString(p.rest())
	return c
}

func (p *expressionParser) comparison() node {
	left := p.sum()
	for {
		operator := p.take("==", "!=", "<=", ">=", "<", ">")
		if operator == "" {
			return left
		}
		left = binary{operator, left, p.sum()}
	}
}

func (p *expressionParser) sum() node {
	left := p.product()
	for {
		operator := p.take("+", "-")
		if operator == "" {
			return left
		}
		left = binary{operator, left, p.product()}
	}
}

func (p *expressionParser) product() node {
	left := p.implicit()
	for {
		operator := p.take("*", "/", "%")
		if operator == "" {
			return left
		}
		left = p.divided(operator, left)
	}
}

// divided parses the right side of a product. A fraction of two numbers binds tighter than an
// implicit product: 1/2 pi is half of pi, not 1/(2 pi).
func (p *expressionParser) divided(operator string, left node) node {
	if _, plain := left.(number); !plain || operator != "/" || !isDigit(p.peek()) {
		return binary{operator, left, p.implicit()}
	}
	right := p.signed()
	if _, plain := right.(number); !plain {
		return binary{operator, left, p.multiplied(right)}
	}
	return p.multiplied(binary{operator, left, right})
}

func (p *expressionParser) implicit() node { return p.multiplied(p.signed()) }

// multiplied parses the factors of an implicit product.
func (p *expressionParser) multiplied(left node) node {
	for {
		c := p.peek()
		if _, afterNumber := left.(number); !isLetter(c) && c != '(' && c != '[' && (!isDigit(c) || afterNumber) {
			return left
		}
		if isDigit(c) && !endsInBracket(left) {
			return left
		}
		left = binary{" ", left, p.power()}
	}
}

// endsInBracket reports whether a number may follow a factor: (2)3 is a product, pi 3 is not.
func endsInBracket(n node) bool {
	switch n := n.(type) {
	case bracket, factorial:
		return true
	case binary:
		return n.operator == " " && endsInBracket(n.right)
	}
	return false
}

func (p *expressionParser) signed() node {
	sign := p.take("+", "-")
	if sign == "" {
		return p.power()
	}
	defer p.nest()()
	if sign == "-" {
		return unary{p.signed()}
	}
	return p.signed()
}

func (p *expressionParser) power() node {
	base := p.postfix()
	if p.take("^") == "" {
		return base
	}
	defer p.nest()()
	return binary{"^", base, p.signed()}
}

func (p *expressionParser) postfix() node {
	n := p.primary()
	for p.peek() == '!' && !strings.HasPrefix(p.rest(), "!=") {
		defer p.nest()()
		p.at++
		n = factorial{n}
	}
	return n
}

func (p *expressionParser) primary() node {
	switch c := p.peek(); {
	case isDigit(c) || c == '.':
		return p.number()
	case isLetter(c):
		return p.name()
	case p.take("(") != "":
		defer p.nest()()
		inner := p.comparison()
		if p.take(")") == "" {
			p.unexpected("')'")
		}
		return bracket{inner}
	case p.take("[") != "":
		defer p.nest()()
		return p.grid()
	}
	p.unexpected("a number, a name or a bracket")
	return nil
}

func isDigit(c rune) bool { return c >= '0' && c <= '9' }
func isLetter(c rune) bool {
	return c != utf8.RuneError && (unicode.IsLetter(c) || c == '_')
}

func (p *expressionParser) number() node {
	start := p.at
	digits := func() (n int) {
		for p.at < len(p.text) && isDigit(rune(p.text[p.at])) {
			p.at++
			n++
		}
		return n
	}
	n := digits()
	if p.at < len(p.text) && p.text[p.at] == '.' {
		p.at++
		n += digits()
	}
	if n == 0 {
		p.at = start
		p.unexpected("a digit")
	}
	if end := p.at; end < len(p.text) && (p.text[end] == 'e' || p.text[end] == 'E') {
		p.at++
		if p.at < len(p.text) && (p.text[p.at] == '+' || p.text[p.at] == '-') {
			p.at++
		}
		if digits() == 0 {
			p.at = end // a product with e
		}
	}
	text := p.text[start:p.at]
	worth, _ := strconv.ParseFloat(text, 64) // above the range of float64 it is infinity
	return number{text, scalar(worth)}
}

func (p *expressionParser) name() node {
	start := p.at
	for p.at < len(p.text) {
		c, size := utf8.DecodeRuneInString(p.rest())
		if !isLetter(c) && !isDigit(c) {
			break
		}
		p.at += size
	}
	name := p.text[start:p.at]
	if worth, known := constants[name]; known {
		return constant{name, worth}
	}
	f, known := functions[name]
	if !known {
		panic(&expressionFault{utf8.RuneCountInString(p.text[:start]) + 1, fmt.Sprintf("Unknown name %.40q", name), true})
	}
	if p.take("(") == "" {
		p.unexpected("'(' behind " + name)
	}
	args := p.list(")")
	if len(args) < f.least || len(args) > f.most {
		panic(&expressionFault{utf8.RuneCountInString(p.text[:start]) + 1, fmt.Sprintf("%s takes %s, and was given %d", name, f.counts(), len(args)), true})
	}
	return function{name, args}
}

// list parses expressions separated by commas, and the closing bracket.
func (p *expressionParser) list(end string) (items []node) {
	defer p.nest()()
	if p.take(end) != "" {
		return nil
	}
	for {
		items = append(items, p.comparison())
		switch p.take(",", end) {
		case end:
			return items
		case "":
			p.unexpected("',' or '" + end + "'")
		}
	}
}

// grid parses a matrix, whose rows are separated by semicolons.
func (p *expressionParser) grid() node {
	var g grid
	row := []node{}
	for {
		row = append(row, p.comparison())
		switch p.take(",", ";", "]") {
		case ";":
			g.rows = append(g.rows, row)
			row = []node{}
		case "]":
			g.rows = append(g.rows, row)
			return g
		case "":
			p.unexpected("',', ';' or ']'")
		}
	}
}
