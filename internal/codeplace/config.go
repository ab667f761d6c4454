package codeplace

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// This file locates the code of an agent.

// OfSeam returns where the function of a seam of an agent begins. For an executor whose function is
// a library's, it returns where the executor was put together. It returns "" if that is not known.
func OfSeam(config adk.Config, seam adk.Seam) string {
	if begins := begins(config, seam); begins != (Place{}) || seam.Label != adk.LabelExecutor {
		return begins.String()
	}
	return OfCaller(config.Executor.Made).MadeIn()
}

// begins returns where the function of a seam begins, or no place if that is not known.
func begins(config adk.Config, seam adk.Seam) Place {
	switch seam.Label {
	case adk.LabelExecutor:
		return OfFunc(config.Executor.Run)
	case adk.LabelTurnInput:
		return codeIn(config.TurnInput, seam.Name, turnName, func(m adk.TurnMiddleware) any { return m.Run })
	case adk.LabelTurnOutput:
		return codeIn(config.TurnOutput, seam.Name, turnName, func(m adk.TurnMiddleware) any { return m.Run })
	case adk.LabelDispatchInput:
		return codeIn(config.DispatchInput, seam.Name, dispatchName, func(m adk.DispatchMiddleware) any { return m.Run })
	case adk.LabelDispatchOutput:
		return codeIn(config.DispatchOutput, seam.Name, dispatchName, func(m adk.DispatchMiddleware) any { return m.Run })
	case adk.LabelTool:
		return toolCode(config, seam.Name)
	case adk.LabelStorage:
		return storageCode(config, seam.Name)
	}
	return Place{}
}

// codeIn returns where the function of the element with the wanted name begins.
func codeIn[M any](list []M, wanted string, name func(M) string, code func(M) any) Place {
	for _, m := range list {
		if name(m) == wanted {
			return OfFunc(code(m))
		}
	}
	return Place{}
}

// toolCode returns where the handler of a tool begins.
func toolCode(config adk.Config, name string) Place {
	for _, t := range config.Tools {
		if t.Name() == name {
			return OfEntry(t.Code())
		}
	}
	return Place{}
}

// OfTool returns where a tool of an agent was made or, if a library made it, where its handler
// begins. It returns "" if that is not known.
func OfTool(config adk.Config, name string) string {
	for _, t := range config.Tools {
		if t.Name() == name {
			return cmp.Or(OfCaller(t.Made()).MadeIn(), OfEntry(t.Code()).String())
		}
	}
	return ""
}

// storageCode returns where the method of an obligation begins. It looks up each method by a
// constant name: for a computed name, the linker would keep all methods of all types.
func storageCode(config adk.Config, obligation string) Place {
	of, verb, _ := strings.Cut(obligation, ".")
	fields := reflect.ValueOf(config.Storage)
	field := fields.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, of) })
	if !field.IsValid() || field.Kind() != reflect.Interface || field.IsNil() {
		return Place{}
	}
	var method reflect.Method
	found, t := false, field.Elem().Type()
	switch verb {
	case "fetch":
		method, found = t.MethodByName("Fetch")
	case "refresh":
		method, found = t.MethodByName("Refresh")
	case "store":
		method, found = t.MethodByName("Store")
	case "mutate":
		method, found = t.MethodByName("Mutate")
	case "delete":
		method, found = t.MethodByName("Delete")
	}
	if !found {
		return Place{}
	}
	return OfFunc(method.Func.Interface())
}

func turnName(m adk.TurnMiddleware) string         { return m.Name }
func dispatchName(m adk.DispatchMiddleware) string { return m.Name }
