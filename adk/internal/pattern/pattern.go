// Package pattern compiles regular expressions (RE2) that a model or a document wrote, and bounds
// their cost. Package regexp matches a text in linear time, but for each character it may visit
// every instruction of the compiled program, and a short expression can have millions of
// instructions.
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

// MaxSteps is how much matching one text may cost: the expression's Size times the text's bytes. It
// corresponds to some seconds.
const MaxSteps = 1_000_000_000

// Compile is regexp.Compile for expressions of a bounded length and size. size is roughly the
// number of instructions of the program.
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

// Size returns the size of an expression that was compiled elsewhere.
func Size(re *regexp.Regexp) int {
	parsed, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil { // only POSIX syntax allows a repetition of a repetition
		parsed, err = syntax.Parse(re.String(), syntax.POSIX)
	}
	if err != nil {
		return maxInstructions
	}
	return sizeOf(parsed)
}

// sizeOf computes the size without expanding repetitions, because that is what takes memory.
func sizeOf(re *syntax.Regexp) int {
	const ranges = 32 // this many entries of a character class count as one instruction
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
