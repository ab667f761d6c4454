package numbers

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// scanner is where a parser of an expression or a formula is in its text.
type scanner struct {
	text  string
	at    int
	depth int
}

// expressionFault stops a parser.
type expressionFault struct {
	column int
	what   string
	named  bool // what is wrong is no matter of syntax
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

// catch is deferred by who parses, and gives the fault that has stopped the parser.
func catch(err *error) {
	switch fault := recover().(type) {
	case nil:
	case *expressionFault:
		*err = fault
	default:
		panic(fault)
	}
}

// maxDepth is how deep an expression is nested at most.
const maxDepth = 100

// nest enters a bracket, or what a sign, a power or a factorial is of.
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
