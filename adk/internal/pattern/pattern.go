// Package pattern compiles regular expressions of RE2 that a model or a document wrote. A
// program of package regexp goes through a text in linear time, but for each character it
// may look at every one of its instructions, and a short expression can have millions.
package pattern

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// The bounds of an expression.
const (
	maxLength       = 10_000 // bytes
	maxInstructions = 10_000
)

// MaxSteps is how much an expression may cost in one text: its Size for each byte. That is
// some seconds.
const MaxSteps = 1_000_000_000

// Compile is regexp.Compile for expressions of a bounded length and size; size is about how
// many instructions the program has.
func Compile(expr string) (re *regexp.Regexp, size int, err error) {
	if len(expr) > maxLength {
		return nil, 0, fmt.Errorf("the expression has %d bytes, want at most %d", len(expr), maxLength)
	}
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, 0, err
	}
	if size = sizeOf(parsed); size > maxInstructions {
		return nil, 0, fmt.Errorf("the expression makes a program of more than %d instructions: repeat less", maxInstructions)
	}
	re, err = regexp.Compile(expr)
	return re, size, err
}

// Size is the size of an expression that was compiled elsewhere.
func Size(re *regexp.Regexp) int {
	parsed, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil { // only POSIX has what is repeated twice
		parsed, err = syntax.Parse(re.String(), syntax.POSIX)
	}
	if err != nil {
		return maxInstructions
	}
	return sizeOf(parsed)
}

// sizeOf counts without writing repetitions out, which is what takes the memory.
func sizeOf(re *syntax.Regexp) int {
	const ranges = 32 // of a class, for the price of an instruction
	size := 1 + len(re.Rune)
	if re.Op == syntax.OpCharClass {
		size = 1 + len(re.Rune)/ranges
	}
	for _, sub := range re.Sub {
		size += sizeOf(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, maxInstructions+1)
}
