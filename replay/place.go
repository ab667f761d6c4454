package replay

import (
	"reflect"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/codeplace"
)

// code is where the function of a live seam begins; none where it is out of reach.
func (l Live) code(seam adk.Seam) codeplace.Place {
	switch seam.Label {
	case adk.LabelExecutor:
		return codeplace.OfFunc(l.Config.Executor.Run)
	case adk.LabelTurnInput:
		return codeIn(l.Config.TurnInput, seam.Name, turnName, func(m adk.TurnMiddleware) any { return m.Run })
	case adk.LabelTurnOutput:
		return codeIn(l.Config.TurnOutput, seam.Name, turnName, func(m adk.TurnMiddleware) any { return m.Run })
	case adk.LabelDispatchInput:
		return codeIn(l.Config.DispatchInput, seam.Name, dispatchName, func(m adk.DispatchMiddleware) any { return m.Run })
	case adk.LabelDispatchOutput:
		return codeIn(l.Config.DispatchOutput, seam.Name, dispatchName, func(m adk.DispatchMiddleware) any { return m.Run })
	case adk.LabelTool:
		return l.toolCode(seam.Name)
	case adk.LabelStorage:
		return l.storageCode(seam.Name)
	}
	return codeplace.Place{}
}

// codeIn is where the function begins of the one of that name.
func codeIn[M any](list []M, wanted string, name func(M) string, code func(M) any) codeplace.Place {
	for _, m := range list {
		if name(m) == wanted {
			return codeplace.OfFunc(code(m))
		}
	}
	return codeplace.Place{}
}

// toolCode is where the work of a tool begins.
func (l Live) toolCode(name string) codeplace.Place {
	for _, t := range l.Config.Tools {
		if t.Name() == name {
			return codeplace.OfEntry(t.Code())
		}
	}
	return codeplace.Place{}
}

// storageCode is where the method of an obligation begins. The methods are asked for one
// by one: by a name that is made, the linker would keep the methods of all types.
func (l Live) storageCode(obligation string) codeplace.Place {
	of, verb, _ := strings.Cut(obligation, ".")
	fields := reflect.ValueOf(l.Config.Storage)
	field := fields.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, of) })
	if !field.IsValid() || field.Kind() != reflect.Interface || field.IsNil() {
		return codeplace.Place{}
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
		return codeplace.Place{}
	}
	return codeplace.OfFunc(method.Func.Interface())
}

// callers is the observer of a new run that notes from where its operations were called.
type callers struct {
	stacks []codeplace.Stack       // each that there is once
	known  map[codeplace.Stack]int // their places in stacks
	bySeq  []int32                 // by the number of the crossing, the place in stacks and 1; 0 is none
}

// Observe makes callers the observer of the new run.
func (c *callers) Observe(adk.RunInfo) adk.Observer { return c }

// Begin, Park and Resume are of no interest to it.
func (*callers) Begin(adk.Step)        {}
func (*callers) Park(int, func() bool) {}
func (*callers) Resume(int)            {}

// tellDepth is how many calls lie between the engine's operation and Tell, at least.
const tellDepth = 4

// Tell notes the stack of what user code asks of the engine. It is called on the
// goroutine of the user code, in the step that makes the effect.
func (c *callers) Tell(x *adk.Crossing) {
	for len(c.bySeq) <= x.Seq {
		c.bySeq = append(c.bySeq, 0)
	}
	if x.Kind.Class() != adk.ClassOperation || x.Phase == adk.Done {
		return
	}
	stack := codeplace.Here(tellDepth)
	at, known := c.known[stack]
	if !known {
		at = len(c.stacks) + 1
		if c.known == nil {
			c.known = map[codeplace.Stack]int{}
		}
		c.known[stack], c.stacks = at, append(c.stacks, stack)
	}
	c.bySeq[x.Seq] = int32(at)
}

// of is the line of user code that made an operation of the new run; none where no user
// code did.
func (c *callers) of(x *adk.Crossing) codeplace.Place {
	if x == nil || x.Seq >= len(c.bySeq) || c.bySeq[x.Seq] == 0 {
		return codeplace.Place{}
	}
	return c.stacks[c.bySeq[x.Seq]-1].User()
}

// isApart reports whether an operation of the new run was made on a goroutine that user
// code has begun itself.
func (c *callers) isApart(x *adk.Crossing) bool {
	if c == nil || x.Seq >= len(c.bySeq) || c.bySeq[x.Seq] == 0 {
		return false
	}
	return c.stacks[c.bySeq[x.Seq]-1].IsApart()
}
