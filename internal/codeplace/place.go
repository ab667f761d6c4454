package codeplace

import (
	"fmt"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
)

// Place is a line of code. The zero Place is none.
type Place struct {
	// File is the path from the root of the program's module, and that of a package of
	// another module with the package's path. It says nothing of the machine.
	File string
	Line int
	// Func is the function, with the last element of its package's path; nothing
	// stands for one that has no line, since the compiler wrote it.
	Func string
}

// String is the place as file:line (function); empty for none.
func (p Place) String() string {
	switch {
	case p.Line > 0:
		return fmt.Sprintf("%s:%d (%s)", p.File, p.Line, p.Func)
	default:
		return p.Func
	}
}

// What may stand before a place.
const (
	after    = "after "
	before   = "before "
	askedAt  = "asked at "
	handedIn = "handed in by "
	madeIn   = "made in "
	deadline = "deadline set at "
	cancel   = "cancelled at "
)

// After says that something is missing after the place; empty for none.
func (p Place) After() string { return p.with(after) }

// Before says that something is missing before the place; empty for none.
func (p Place) Before() string { return p.with(before) }

// AskedAt says that something was asked at the place, and made before; empty for none.
func (p Place) AskedAt() string { return p.with(askedAt) }

// HandedIn says that something was given to a run in the place, whoever made it; empty for
// none.
func (p Place) HandedIn() string { return p.with(handedIn) }

// MadeIn says that what a library does was put together in the place; empty for none.
func (p Place) MadeIn() string { return p.with(madeIn) }

// Deadline says that the deadline was set in the place that struck elsewhere; empty for none.
func (p Place) Deadline() string { return p.with(deadline) }

// Cancelled says that a context was cancelled in the place with what came elsewhere; empty for none.
func (p Place) Cancelled() string { return p.with(cancel) }

// Cut is a place as one of these says it, in two: what stands before it, and the place.
func Cut(text string) (words, place string) {
	for _, words := range []string{after, before, askedAt, handedIn, madeIn, deadline, cancel} {
		if place, ok := strings.CutPrefix(text, words); ok {
			return words, place
		}
	}
	return "", text
}

// said is a place as String says it.
var said = regexp.MustCompile(`^(.+\.go):([0-9]+) \(`)

// Parse is the file and the line of a place, whatever stands before it; known is false where it
// has none.
func Parse(text string) (file string, line int, known bool) {
	_, place := Cut(text)
	found := said.FindStringSubmatch(place)
	if found == nil {
		return "", 0, false
	}
	line, err := strconv.Atoi(found[2])
	return found[1], line, err == nil
}

func (p Place) with(words string) string {
	if p == (Place{}) {
		return ""
	}
	return words + p.String()
}

// OfFunc is where a function begins; none of what is no function, or is nil.
func OfFunc(function any) Place {
	v := reflect.ValueOf(function)
	if v.Kind() != reflect.Func || v.IsNil() {
		return Place{}
	}
	return OfEntry(v.Pointer())
}

// OfEntry is where the function with that entry begins; none where there is none, and of
// one of ours: what an agent does in it is said where the agent is put together.
func OfEntry(pc uintptr) Place {
	f := runtime.FuncForPC(pc)
	if pc == 0 || f == nil {
		return Place{}
	}
	file, line := f.FileLine(f.Entry())
	name := Named(f.Name(), file)
	if isEngine(packageOf(name)) {
		return Place{}
	}
	return placeOf(name, file, line)
}

// OfCaller is the line of a program counter that runtime.Callers gave; none of 0, and of one
// of ours.
func OfCaller(pc uintptr) Place {
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	name := Named(f.Function, f.File)
	if pc == 0 || name == "" || isEngine(packageOf(name)) {
		return Place{}
	}
	return placeOf(name, f.File, f.Line)
}

// OfCall is the place of a call as stack traces have it: the function with the path of its
// package, and the file with the number of the line behind a colon. It has no line where that
// says none.
func OfCall(function, at string) Place {
	colon := strings.LastIndexByte(at, ':')
	if colon < 0 {
		return placeOf(function, at, 0)
	}
	line, _ := strconv.Atoi(at[colon+1:])
	return placeOf(function, at[:colon], line)
}

// placeOf is the place of a line of a function, by the names that the runtime has.
func placeOf(function, file string, line int) Place {
	function = strings.TrimSuffix(function, "-fm") // the value of a method
	p := Place{Func: path.Base(function)}
	if line > 1 { // else the compiler wrote it
		p.File, p.Line = path.Join(folderOf(packageOf(function)), filepath.Base(file)), line
	}
	return p
}

// folderOf is the folder of a package from the root of the program's module, and of
// another module's the package's path.
func folderOf(pkg string) string {
	main, program := program()
	if pkg == "main" {
		pkg = program
	}
	pkg = strings.TrimSuffix(pkg, "_test")
	if pkg == main {
		return ""
	}
	if below, ok := strings.CutPrefix(pkg, main+"/"); ok && main != "" {
		return below
	}
	return pkg
}

// program is the path of the module that this program was built in, and that of its
// main package; both are empty where the program does not know.
var program = sync.OnceValues(func() (module, main string) {
	if info, known := debug.ReadBuildInfo(); known {
		return info.Main.Path, info.Path
	}
	return "", ""
})

// packageOf is the path of a function's package: all before the first dot behind the
// last slash. A type argument may have slashes too.
func packageOf(function string) string {
	whole, _, _ := strings.Cut(function, "[")
	slash := strings.LastIndexByte(whole, '/') + 1
	name, _, _ := strings.Cut(whole[slash:], ".")
	return strings.ReplaceAll(whole[:slash]+name, "%2e", ".") // as the linker writes a dot in the last element
}

// deepest is how many calls above it a Stack knows: enough for the client of an HTTP
// server that stands between user code and the engine, down to where its goroutine begins.
const deepest = 64

// Stack is how an operation of user code came to the engine. It is comparable: what
// runs in a loop has one.
type Stack [deepest]uintptr

// Here is the stack of the caller, without the innermost skip calls.
func Here(skip int) (s Stack) {
	runtime.Callers(skip+2, s[:])
	return s
}

// User is the line of user code that the engine was called from: the innermost one of
// the program's own module, or if there is none of a module that is not ours. It is
// none where a seam of the engine, or what stands in for user code, lies nearer.
func (s Stack) User() (nearest Place) {
	if users := s.Users(); len(users) > 0 {
		return users[0]
	}
	return Place{}
}

// Users is User, and behind it the lines of the program's own module that called it, up to
// the seam call. What many operations come through, as a helper that all requests are made
// with, says little of one of them: who called it does.
func (s Stack) Users() []Place { return users(runtime.CallersFrames(s[:]).Next) }

// OfPanic is Users for a panic: its first line is the one that panicked, or that called the
// library which did. It has none of another error, and of one that was read.
func OfPanic(err error) []Place {
	frames := PanicFrames(err)
	return users(func() (f runtime.Frame, more bool) {
		if len(frames) > 0 {
			f, frames = frames[0], frames[1:]
		}
		return f, len(frames) > 0
	})
}

// PanicFrames are the calls in which a panic happened, the innermost first and without those
// of the runtime that make one; none of another error, and of one that was read.
func PanicFrames(err error) (calls []runtime.Frame) {
	panicked, ok := err.(*adk.PanicError)
	if !ok {
		return nil
	}
	lines := strings.Split(string(panicked.Stack()), "\n")
	for ; len(lines) > 1; lines = lines[2:] { // a function, and its place
		at := strings.TrimSpace(lines[1])
		colon := strings.LastIndexByte(at, ':')
		line, err := strconv.Atoi(at[colon+1:])
		if err == nil && !strings.HasPrefix(lines[0], "runtime.") {
			calls = append(calls, runtime.Frame{Function: Named(lines[0], at[:colon]), File: at[:colon], Line: line})
		}
	}
	return calls
}

// users are the lines of user code among the calls of a stack, the innermost first.
func users(next func() (runtime.Frame, bool)) (own []Place) {
	var nearest []Place
	for more := true; more; {
		var f runtime.Frame
		f, more = next()
		f.Function = Named(f.Function, f.File)
		pkg := packageOf(f.Function)
		switch main, _ := program(); {
		case f.Function == seamCall, within(pkg, ours+"/internal/stub"), f.Function == "":
			more = false
		case isEngine(pkg), !strings.Contains(firstElement(pkg), ".") && !within(pkg, main) && pkg != "main":
		case pkg == "main" || within(strings.TrimSuffix(pkg, "_test"), main):
			if p := placeOf(f.Function, f.File, f.Line); p.Line > 0 || len(own) == 0 {
				own = append(own, p)
			}
		case len(nearest) == 0:
			nearest = []Place{placeOf(f.Function, f.File, f.Line)}
		}
	}
	if len(own) == 0 {
		return nearest
	}
	return own
}

// IsApart reports whether the engine was called on a goroutine that user code has begun
// itself: no seam call lies above. Of what lies deeper than a Stack knows it is false.
func (s Stack) IsApart() bool {
	if s[0] == 0 || s[deepest-1] != 0 {
		return false
	}
	frames := runtime.CallersFrames(s[:])
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); f.Function == seamCall {
			return false
		}
	}
	return true
}

// Package is the path of the package that a function is written in; empty where it is none.
func Package(function any) string {
	if v := reflect.ValueOf(function); v.Kind() == reflect.Func && !v.IsNil() {
		f := runtime.FuncForPC(v.Pointer())
		file, _ := f.FileLine(f.Entry())
		return packageOf(Named(f.Name(), file))
	}
	return ""
}

// engine is the path of package adk, ours the path of its module, and seamCall what
// calls user code.
var (
	engine   = reflect.TypeFor[adk.Crossing]().PkgPath()
	ours     = path.Dir(engine)
	seamCall = engine + ".(*call).invoke"
)

// isEngine reports whether a package is one of ours that stand between user code and
// what watches a run.
func isEngine(pkg string) bool {
	for _, room := range []string{"/adk", "/replay", "/fakes", "/property", "/internal/perform", "/internal/codeplace"} {
		if within(pkg, ours+room) {
			return !strings.HasSuffix(pkg, "_test")
		}
	}
	return false
}

// within reports whether a package is that of a path, or below it.
func within(pkg, root string) bool {
	return pkg == root || strings.HasPrefix(pkg, root+"/") || pkg == root+"_test"
}

// firstElement is what a path begins with: packages of the standard library have no
// dot in it.
func firstElement(pkg string) string {
	first, _, _ := strings.Cut(pkg, "/")
	return first
}
