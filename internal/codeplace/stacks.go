package codeplace

import (
	"runtime"
	"slices"
)

// Stacks stores the stacks of operations, each once, from the innermost call up to the nearest seam
// call. The zero value has none. It is not safe for concurrent use.
type Stacks struct {
	all     []Stack
	aparts  []bool // the result of IsApart for each stack
	numbers map[Stack]int32
	seams   []uintptr // the program counters at which seam calls call user code, as far as known
	last    int32     // the number of the stack that was taken last
	depth   int       // how many calls the last stack has, if it ends at a seam call; otherwise 0
}

// Here returns the number of the caller's stack, without the innermost skip calls; the first number
// is 1. Walking the stack is the main cost, and an agent may run deep inside other code. Therefore
// Here first walks as many calls as the last stack has, since most operations take the same path as
// the one before, and more only if these do not end at a seam call.
func (s *Stacks) Here(skip int) int32 {
	var stack Stack
	if s.depth > 0 {
		runtime.Callers(skip+2, stack[:s.depth])
		if slices.Contains(s.seams, stack[s.depth-1]) {
			return s.number(&stack)
		}
	}
	runtime.Callers(skip+2, stack[:])
	s.depth = s.cut(&stack)
	return s.number(&stack)
}

// Of returns the stack with a number; 0 is none.
func (s *Stacks) Of(number int32) Stack {
	if number == 0 {
		return Stack{}
	}
	return s.all[number-1]
}

// IsApart reports whether the stack with a number is apart.
func (s *Stacks) IsApart(number int32) bool { return number > 0 && s.aparts[number-1] }

// cut removes the calls above the nearest seam call, and returns how many calls are left. It
// returns 0 if the stack contains no seam call.
func (s *Stacks) cut(stack *Stack) (depth int) {
	at := slices.IndexFunc(stack[:], func(pc uintptr) bool { return slices.Contains(s.seams, pc) })
	if at < 0 && s.numbers[*stack] > 0 {
		return 0 // it was searched before
	}
	if at < 0 {
		if at = slices.IndexFunc(stack[:], isSeamCall); at < 0 {
			return 0
		}
		s.seams = append(s.seams, stack[at])
	}
	clear(stack[at+1:])
	return at + 1
}

// isSeamCall reports whether a program counter is in the function that calls user code.
func isSeamCall(pc uintptr) bool {
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return f.Function == seamCall
}

// number returns the number of a stack, after adding it if necessary.
func (s *Stacks) number(stack *Stack) int32 {
	if s.last > 0 && s.all[s.last-1] == *stack {
		return s.last
	}
	number := s.numbers[*stack]
	if number == 0 {
		if s.numbers == nil {
			s.numbers = map[Stack]int32{}
		}
		s.all, s.aparts = append(s.all, *stack), append(s.aparts, stack.IsApart())
		number = int32(len(s.all))
		s.numbers[*stack] = number
	}
	s.last = number
	return number
}
