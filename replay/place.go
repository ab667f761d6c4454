package replay

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
)

// codeAt is where the code of a live seam stands, as file:line (function); empty
// where none of the calls is of a chosen seam whose code can be told.
func (l Live) codeAt(made []*calls.Call) string {
	for _, c := range made {
		if c != nil && l.chooses(c) {
			if code := l.code(c.Begin.Seam); code != nil {
				return codeOf(code)
			}
		}
	}
	return ""
}

// code is the function of a live seam, nil where it is out of reach.
func (l Live) code(seam adk.Seam) any {
	switch seam.Label {
	case adk.LabelExecutor:
		return l.Config.Executor.Run
	case adk.LabelTurnInput:
		return turnCode(l.Config.TurnInput, seam.Name)
	case adk.LabelTurnOutput:
		return turnCode(l.Config.TurnOutput, seam.Name)
	case adk.LabelDispatchInput:
		return dispatchCode(l.Config.DispatchInput, seam.Name)
	case adk.LabelDispatchOutput:
		return dispatchCode(l.Config.DispatchOutput, seam.Name)
	}
	return nil
}

func turnCode(list []adk.TurnMiddleware, name string) any {
	for _, m := range list {
		if m.Name == name {
			return m.Run
		}
	}
	return nil
}

func dispatchCode(list []adk.DispatchMiddleware, name string) any {
	for _, m := range list {
		if m.Name == name {
			return m.Run
		}
	}
	return nil
}

// codeOf is where a function begins, and its name. The file is said with its
// folder only: the whole path is the machine's.
func codeOf(function any) string {
	f := runtime.FuncForPC(reflect.ValueOf(function).Pointer())
	if f == nil {
		return ""
	}
	name := strings.TrimSuffix(filepath.Base(f.Name()), "-fm") // the value of a method
	file, line := f.FileLine(f.Entry())
	if line <= 1 { // written by the compiler
		return name
	}
	return fmt.Sprintf("%s/%s:%d (%s)", filepath.Base(filepath.Dir(file)), filepath.Base(file), line, name)
}
