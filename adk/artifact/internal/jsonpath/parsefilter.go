package jsonpath

import "strings"

// condition parses a logical expression: alternatives joined by ||.
func (p *parser) condition() logical {
	any := disjunction{p.all()}
	for {
		back := p.at
		if p.space(); !p.take("||") {
			p.at = back
			if len(any) == 1 {
				return any[0]
			}
			return any
		}
		p.space()
		any = append(any, p.all())
	}
}

// all parses expressions that are joined by &&.
func (p *parser) all() logical {
	all := conjunction{p.basic()}
	for {
		back := p.at
		if p.space(); !p.take("&&") {
			p.at = back
			if len(all) == 1 {
				return all[0]
			}
			return all
		}
		p.space()
		all = append(all, p.basic())
	}
}

// basic parses an expression in parentheses, a test or a comparison.
func (p *parser) basic() logical {
	defer p.nest()()
	if p.take("!") {
		p.space()
		return negation{p.negated()}
	}
	if p.peek() == '(' {
		return p.parenthesis()
	}
	start := p.at
	left := p.term()
	operator := p.operator()
	if operator == "" {
		return p.test(left, start)
	}
	p.space()
	at := p.at
	return comparison{p.comparable(left, start), p.comparable(p.term(), at), operator}
}

// negated parses what may follow !, which is no comparison.
func (p *parser) negated() logical {
	if p.peek() == '(' {
		return p.parenthesis()
	}
	start := p.at
	return p.test(p.term(), start)
}

func (p *parser) parenthesis() logical {
	defer p.nest()()
	p.want("(")
	p.space()
	inner := p.condition()
	p.space()
	p.want(")")
	return inner
}

func (p *parser) operator() string {
	back := p.at
	p.space()
	for _, operator := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if p.take(operator) {
			return operator
		}
	}
	p.at = back
	return ""
}

// term parses a literal, a query or a function. It returns a *query, an operand or a logical.
func (p *parser) term() any {
	switch c := p.peek(); {
	case c == '@' || c == '$':
		p.at++
		return &query{relative: c == '@', segments: p.segments()}
	case c == '\'' || c == '"':
		return literal{p.quoted()}
	case c == '-' || isDigit(c):
		return literal{p.number()}
	case c >= 'a' && c <= 'z':
		return p.wordOrFunction()
	}
	p.unexpected("a query, a literal or a function")
	return nil
}

func (p *parser) wordOrFunction() any {
	start := p.at
	for c := p.peek(); c >= 'a' && c <= 'z' || c == '_' || isDigit(c); c = p.peek() {
		p.at++
	}
	name := p.text[start:p.at]
	if p.peek() == '(' {
		return p.function(name, start)
	}
	switch name {
	case "true", "false":
		return literal{name == "true"}
	case "null":
		return literal{nil}
	}
	p.at = start
	p.unexpected("a query, a literal or a function")
	return nil
}

// test makes a condition from a term that stands alone.
func (p *parser) test(term any, start int) logical {
	switch t := term.(type) {
	case *query:
		return existence{t}
	case logical:
		return t
	}
	p.at = start
	p.fail("a value where a test is wanted: compare it")
	return nil
}

// comparable makes an operand from a term next to a comparison operator.
func (p *parser) comparable(term any, start int) operand {
	switch t := term.(type) {
	case operand:
		return t
	case *query:
		if t.singular() {
			return only{t}
		}
	}
	p.at = start
	p.fail("want what gives one value: a literal, a query of names and indexes, or a function that gives a value")
	return nil
}

// function parses the arguments of a function and checks their number and types.
func (p *parser) function(name string, start int) any {
	defer p.nest()()
	wants := map[string]int{"length": 1, "count": 1, "value": 1, "match": 2, "search": 2}[name]
	if wants == 0 {
		p.at = start
		p.fail("the functions are length, count, value, match and search")
	}
	terms, at := p.arguments()
	if len(terms) != wants {
		p.at = start
		p.fail("%s takes %s", name, strings.Repeat("a value, ", wants-1)+"a value")
	}
	switch name {
	case "length":
		return lengthOf{p.comparable(terms[0], at[0])}
	case "count":
		return countOf{p.nodes(terms[0], at[0])}
	case "value":
		return valueOf{p.nodes(terms[0], at[0])}
	}
	return matching{p.comparable(terms[0], at[0]), p.comparable(terms[1], at[1]), name == "match"}
}

func (p *parser) arguments() (terms []any, at []int) {
	p.want("(")
	if p.space(); p.take(")") {
		return nil, nil
	}
	for {
		p.space()
		at = append(at, p.at)
		terms = append(terms, p.term())
		if p.space(); p.take(")") {
			return terms, at
		}
		if !p.take(",") {
			p.unexpected("',' or ')'")
		}
	}
}

func (p *parser) nodes(term any, start int) *query {
	if q, ok := term.(*query); ok {
		return q
	}
	p.at = start
	p.fail("want a query")
	return nil
}
