package numbers

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// scanner is the position of a parser in the text of an expression or a formula.
type scanner struct {
	text  string
	at    int
	depth int
}

// expressionFault ends a parser, by a panic.
type expressionFault struct {
	column int
	what   string
	named  bool // not a syntax error
}

func (f *expressionFault) Error() string {
	if f.named {
		return fmt.Sprintf("%s at column %d", f.what, f.column)
	}
	return fmt.Sprintf("Syntax error at column %d: %s", f.column, f.what)
}

func (s *scanner) fail(format string, args ...any) {
	panic(&expressionFault{utf8.RuneCountInString(s.text[:s.at]) + 1, fmt.Sprintf(format, args...), false})
}

// catch is deferred by a parser, and turns the panic of a fault into an error.
func catch(err *error) {
	switch fault := recover().(type) {
	case nil:
	case *expressionFault:
		*err = fault
	default:
		panic(fault)
	}
}

// maxDepth is the greatest nesting of an expression.
const maxDepth = 100

// nest counts a level of nesting: a bracket, or the operand of a sign, a power or a factorial.
func (s *scanner) nest() (leave func()) {
	if s.depth++; s.depth > maxDepth {
		s.fail("nested more than %d deep", maxDepth)
	}
	return func() { s.depth-- }
}

func (s *scanner) rest() string { return s.text[s.at:] }

func (s *scanner) space() {
	s.at = len(s.text) - len(strings.TrimLeftFunc(s.rest(), unicode.IsSpace))
}
