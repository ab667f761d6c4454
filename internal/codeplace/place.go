package codeplace

import (
	"fmt"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
)

// Place is a line of code. The zero Place is none.
type Place struct {
	// File is the path from the root of the program's module or, for a package of another module, a
	// path that begins with the package's. It reveals nothing of the machine.
	File string
	Line int
	// Func is the function, with the last element of its package's path. A function that the
	// compiler generated has no line, and then File and Line are zero.
	Func string
}

// String returns the place as file:line (function), or "" for none.
func (p Place) String() string {
	switch {
	case p.Line > 0:
		return fmt.Sprintf("%s:%d (%s)", p.File, p.Line, p.Func)
	default:
		return p.Func
	}
}

// The words that may precede a place.
const (
	after    = "after "
	before   = "before "
	askedAt  = "asked at "
	handedIn = "handed in by "
	madeIn   = "made in "
	deadline = "deadline set at "
	cancel   = "cancelled at "
)

// After says that something is missing after the place. Like the methods below, it returns "" for
// no place.
func (p Place) After() string { return p.with(after) }

// Before says that something is missing before the place.
func (p Place) Before() string { return p.with(before) }

// AskedAt says that something which was made earlier was asked at the place.
func (p Place) AskedAt() string { return p.with(askedAt) }

// HandedIn says that something was given to a run at the place, whoever made it.
func (p Place) HandedIn() string { return p.with(handedIn) }

// MadeIn says that something whose code is a library's was put together at the place.
func (p Place) MadeIn() string { return p.with(madeIn) }

// Deadline says that a deadline that expired elsewhere was set at the place.
func (p Place) Deadline() string { return p.with(deadline) }

// Cancelled says that a context which ended elsewhere was cancelled at the place.
func (p Place) Cancelled() string { return p.with(cancel) }

// Cut splits the result of one of these methods into the words and the place.
func Cut(text string) (words, place string) {
	for _, words := range []string{after, before, askedAt, handedIn, madeIn, deadline, cancel} {
		if place, ok := strings.CutPrefix(text, words); ok {
			return words, place
		}
	}
	return "", text
}

// said matches the result of Place.String.
var said = regexp.MustCompile(`^(.+\.go):([0-9]+) \(`)

// Parse returns the file and the line of a place, whatever words precede it. known is false if
// there are none.
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

// OfFunc returns where a function begins, or no place if it is nil or not a function.
func OfFunc(function any) Place {
	v := reflect.ValueOf(function)
	if v.Kind() != reflect.Func || v.IsNil() {
		return Place{}
	}
	return OfEntry(v.Pointer())
}

// OfEntry returns where the function with an entry address begins. It returns no place if there is
// none, or if the function is this project's: what matters then is where the agent is put together.
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

// OfCaller returns the line of a program counter from runtime.Callers, or no place for 0 and for
// this project's code.
func OfCaller(pc uintptr) Place {
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	name := Named(f.Function, f.File)
	if pc == 0 || name == "" || isEngine(packageOf(name)) {
		return Place{}
	}
	return placeOf(name, f.File, f.Line)
}

// OfCall returns the place of a call in a stack trace: the function with the path of its package,
// and the file with the line number after a colon. Without a line number, the place has no line.
func OfCall(function, at string) Place {
	colon := strings.LastIndexByte(at, ':')
	if colon < 0 {
		return placeOf(function, at, 0)
	}
	line, _ := strconv.Atoi(at[colon+1:])
	return placeOf(function, at[:colon], line)
}

// placeOf returns the place of a line, from the runtime's names.
func placeOf(function, file string, line int) Place {
	function = strings.TrimSuffix(function, "-fm") // the value of a method
	p := Place{Func: path.Base(function)}
	if line > 1 { // otherwise the compiler generated it
		p.File, p.Line = path.Join(folderOf(packageOf(function)), filepath.Base(file)), line
	}
	return p
}

// folderOf returns the folder of a package from the root of the program's module, or the path of
// the package if it belongs to another module.
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

// program returns the paths of this program's module and of its main package. Both are empty if the
// program does not know them.
var program = sync.OnceValues(func() (module, main string) {
	if info, known := debug.ReadBuildInfo(); known {
		return info.Main.Path, info.Path
	}
	return "", ""
})

// packageOf returns the path of a function's package: everything before the first dot after the
// last slash. Slashes in type arguments do not count.
func packageOf(function string) string {
	whole, _, _ := strings.Cut(function, "[")
	slash := strings.LastIndexByte(whole, '/') + 1
	name, _, _ := strings.Cut(whole[slash:], ".")
	return strings.ReplaceAll(whole[:slash]+name, "%2e", ".") // the linker writes a dot in the last element so
}

// deepest is how many calls a Stack records. That is enough for an HTTP client between user code
// and the engine, down to the beginning of its goroutine.
const deepest = 64

// Stack is the stack of an operation of user code. It is comparable, so the operations of a loop
// share one.
type Stack [deepest]uintptr

// Here returns the stack of the caller, without the innermost skip calls.
func Here(skip int) (s Stack) {
	runtime.Callers(skip+2, s[:])
	return s
}

// User returns the line of user code that called the engine: the innermost one of the program's own
// module or, if there is none, of another module that is not this project's. It returns no place if
// a seam call of the engine, or scripted user code, is nearer.
func (s Stack) User() (nearest Place) {
	if users := s.Users(); len(users) > 0 {
		return users[0]
	}
	return Place{}
}

// Users returns the line of User, followed by the lines of the program's own module that called it,
// up to the seam call. If many operations go through one helper, only its callers tell them apart.
func (s Stack) Users() []Place { return users(runtime.CallersFrames(s[:]).Next) }

// OfPanic is like Users, for a panic: the first line is the one that panicked, or that called the
// library which panicked. It returns none for other errors, and for an error that was read from a
// trace.
func OfPanic(err error) []Place {
	frames := PanicFrames(err)
	return users(func() (f runtime.Frame, more bool) {
		if len(frames) > 0 {
			f, frames = frames[0], frames[1:]
		}
		return f, len(frames) > 0
	})
}

// PanicFrames returns the calls in which a panic happened, the innermost first, without those of
// the runtime that make a panic. It returns none for other errors, and for an error that was read
// from a trace.
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

// users returns the lines of user code among the calls of a stack, the innermost first.
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

// IsApart reports whether the engine was called on a goroutine that user code started: the stack
// has no seam call. It is false if the stack is deeper than a Stack can record.
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

// StartedBy returns the path of the package whose function the goroutine runs: that of the
// outermost call. It returns "" if the stack is deeper than a Stack can record.
func (s Stack) StartedBy() string {
	depth := slices.Index(s[:], 0)
	if depth <= 0 {
		return ""
	}
	path := ""
	frames := runtime.CallersFrames(s[:depth])
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); f.Function != "" && f.Function != "runtime.goexit" {
			path = packageOf(f.Function)
		}
	}
	return path
}

// Package returns the path of the package that a function is written in, or "" if it is not a
// function.
func Package(function any) string {
	if v := reflect.ValueOf(function); v.Kind() == reflect.Func && !v.IsNil() {
		f := runtime.FuncForPC(v.Pointer())
		file, _ := f.FileLine(f.Entry())
		return packageOf(Named(f.Name(), file))
	}
	return ""
}

// engine is the path of package adk, ours the path of its module, and seamCall the function that
// calls user code.
var (
	engine   = reflect.TypeFor[adk.Crossing]().PkgPath()
	ours     = path.Dir(engine)
	seamCall = engine + ".(*call).invoke"
)

// isEngine reports whether a package is one of this project's that may be on the stack between user
// code and the observer of a run.
func isEngine(pkg string) bool {
	for _, room := range []string{"/adk", "/replay", "/fakes", "/property", "/internal/perform", "/internal/codeplace"} {
		if within(pkg, ours+room) {
			return !strings.HasSuffix(pkg, "_test")
		}
	}
	return false
}

// within reports whether a package has the path root, or is below it.
func within(pkg, root string) bool {
	return pkg == root || strings.HasPrefix(pkg, root+"/") || pkg == root+"_test"
}

// firstElement returns the first element of a path. In paths of the standard library it contains no
// dot.
func firstElement(pkg string) string {
	first, _, _ := strings.Cut(pkg, "/")
	return first
}
