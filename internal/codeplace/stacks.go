package codeplace

import (
	"runtime"
	"slices"
)

// Stacks keeps the stacks of operations, each once, from the innermost call up to the
// nearest seam call. The zero value has none. It is not safe for concurrent use.
type Stacks struct {
	all     []Stack
	aparts  []bool // IsApart of all
	numbers map[Stack]int32
	seams   []uintptr // where seam calls call user code, as far as stacks have led there
	last    int32     // the number of the stack that was taken last
	depth   int       // how many calls that has, if it ends at a seam call; else 0
}

// Here is the number of the stack of the caller, without the innermost skip calls; the
// first has 1. Walking the stack is what it costs, and an agent may stand deep in others:
// as many calls are looked at as the last stack has, since most operations come the way
// of the one before, and more only where these do not end at a seam call too.
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

// Of is the stack with a number; 0 is none.
func (s *Stacks) Of(number int32) Stack {
	if number == 0 {
		return Stack{}
	}
	return s.all[number-1]
}

// IsApart is that of the stack with a number.
func (s *Stacks) IsApart(number int32) bool { return number > 0 && s.aparts[number-1] }

// cut leaves out what lies above the nearest seam call, and gives how many calls are left;
// 0 where none lies above, as far as a Stack goes.
func (s *Stacks) cut(stack *Stack) (depth int) {
	at := slices.IndexFunc(stack[:], func(pc uintptr) bool { return slices.Contains(s.seams, pc) })
	if at < 0 && s.numbers[*stack] > 0 {
		return 0 // it was looked through before
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

// isSeamCall reports whether a call is that of a seam, by what Callers has of it.
func isSeamCall(pc uintptr) bool {
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return f.Function == seamCall
}

// number is the number of a stack, a new one if that is not there.
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
