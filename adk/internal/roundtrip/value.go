package roundtrip

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Answer is do, but for an answer with a value in an interface that JSON gives back as
// another one: the error is then what refuse makes of the fault, and the answer is none.
// What failed has its own error, with whatever is beside it. Of types that hold no
// interface it is do itself.
func Answer[Req, Res any](do func(context.Context, Req) (Res, error), refuse func(fault string) error) func(context.Context, Req) (Res, error) {
	if !holdsAny(reflect.TypeFor[Res]()) {
		return do
	}
	return func(ctx context.Context, request Req) (Res, error) {
		res, err := do(ctx, request)
		if err != nil {
			return res, err
		}
		if fault := FaultOfValue(&res); fault != "" {
			return *new(Res), refuse(fault)
		}
		return res, nil
	}
}

// Pieces is Answer for an answer in pieces. The first that is refused ends the context of
// do, and is what it ends with; neither it nor what comes behind it is handed out.
func Pieces[Req, P any](do func(context.Context, Req, func(P) error) error, refuse func(fault string) error) func(context.Context, Req, func(P) error) error {
	if !holdsAny(reflect.TypeFor[P]()) {
		return do
	}
	return func(ctx context.Context, request Req, hand func(P) error) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		var refused error
		err := do(ctx, request, func(piece P) error {
			if refused == nil {
				if fault := FaultOfValue(&piece); fault != "" {
					refused = refuse(fault)
					cancel(refused)
				}
			}
			if refused != nil {
				return refused
			}
			return hand(piece)
		})
		if refused != nil {
			return refused
		}
		return err
	}
}

// FaultOfValue says which value in an interface, of all that an answer holds, JSON gives
// back as one of another type, and as which; it is empty where there is none. The type is
// held to Fault before.
func FaultOfValue[Res any](res *Res) string {
	path, what := (&valueWalk{}).fault(reflect.ValueOf(res).Elem(), 0)
	if what == "" {
		return ""
	}
	return "answer" + path + " is an any with " + what + ": want a struct with fields of such types"
}

// As is a value as a T: itself, or what of its JSON is a T.
func As[T any](given any) (value T, err error) {
	if same, ok := given.(T); ok {
		return same, nil
	}
	data, err := json.Marshal(given)
	if err == nil {
		err = json.Unmarshal(data, &value)
	}
	return value, err
}

// holding are the types of which it is known whether they hold an interface.
var holding sync.Map

// holdsAny reports whether values of a type can hold one in an interface that
// encoding/json itself reads: what reads itself knows what it wrote.
func holdsAny(t reflect.Type) bool {
	if known, ok := holding.Load(t); ok {
		return known.(bool)
	}
	holds := leadsToAny(t, map[reflect.Type]bool{})
	holding.Store(t, holds)
	return holds
}

func leadsToAny(t reflect.Type, seen map[reflect.Type]bool) bool {
	if _, reads := hasForm(t); reads || seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return leadsToAny(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if leadsToAny(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// deepestValue is how deep JSON is read. What lies deeper, or leads back to itself, is no
// matter of types.
const deepestValue = 10_000

// valueWalk goes through a value.
type valueWalk struct {
	tooDeep bool
}

// fault is what is wrong in a value, and the path to it; the path is made on the way back,
// as nearly all values have none. Of several in a map the first one by its path counts.
func (w *valueWalk) fault(v reflect.Value, depth int) (path, what string) {
	if w.tooDeep = w.tooDeep || depth > deepestValue; w.tooDeep || !holdsAny(v.Type()) {
		return "", ""
	}
	switch v.Kind() {
	case reflect.Interface:
		return w.inAny(v.Elem(), depth)
	case reflect.Pointer:
		if !v.IsNil() {
			return w.fault(v.Elem(), depth+1)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if path, what = w.fault(v.Index(i), depth+1); what != "" {
				return fmt.Sprintf("[%d]%s", i, path), what
			}
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			if below, wrong := w.fault(value, depth+1); wrong != "" {
				if at := keyPath(key) + below; what == "" || at < path {
					path, what = at, wrong
				}
			}
		}
	case reflect.Struct:
		return w.memberFault(v, depth)
	}
	return path, what
}

func (w *valueWalk) memberFault(v reflect.Value, depth int) (path, what string) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if path, what = w.fault(v.Field(i), depth+1); what == "" || field.Name == "_" {
			continue
		}
		if field.Anonymous && isStruct(field.Type) {
			return path, what // its members are promoted
		}
		return "." + field.Name + path, what
	}
	return "", ""
}

// keyPath is the step of a path to a value of a map. Keys are the world's: they may be long.
func keyPath(key reflect.Value) string {
	if key.Kind() == reflect.String {
		return fmt.Sprintf("[%.40q]", key.String())
	}
	return fmt.Sprintf("[%v]", key)
}

var (
	anyList = reflect.TypeFor[[]any]()
	anyMap  = reflect.TypeFor[map[string]any]()
)

// inAny is what is wrong with what an interface holds: encoding/json makes float64, string,
// bool, []any and map[string]any of whatever it reads there, and nil.
func (w *valueWalk) inAny(v reflect.Value, depth int) (path, what string) {
	if !v.IsValid() {
		return "", ""
	}
	switch t := v.Type(); t {
	case reflect.TypeFor[float64](), reflect.TypeFor[string](), reflect.TypeFor[bool]():
		return "", ""
	case anyList, anyMap:
		if !v.IsNil() {
			return w.fault(v, depth+1)
		}
		return "", "a nil " + typeName(t) + " in it, which JSON gives back as nil"
	default:
		return "", typeName(t) + " in it, " + comesBackAs(v)
	}
}

func typeName(t reflect.Type) string { return strings.ReplaceAll(t.String(), "interface {}", "any") }

// comesBackAs says what JSON makes of a value.
func comesBackAs(v reflect.Value) (says string) {
	says = "which JSON does not have"
	defer func() { _ = recover() }() // its own code writes it
	text, err := json.Marshal(v.Interface())
	var back any
	if err != nil || json.Unmarshal(text, &back) != nil {
		return says
	}
	if back == nil {
		return "which JSON gives back as nil"
	}
	return "which JSON gives back as " + typeName(reflect.TypeOf(back))
}
