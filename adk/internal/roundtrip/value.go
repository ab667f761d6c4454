package roundtrip

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Answer wraps do so that it refuses an answer that has a value in an interface that JSON would
// give back as a value of another type. The result is then zero, and the error is what refuse makes
// of the fault. If do fails, its results are returned unchanged. If the type holds no interface,
// Answer returns do itself.
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

// Pieces is Answer for an answer in pieces. The first piece that is refused ends the context of do,
// and its error becomes the result. Neither that piece nor a later one is handed out.
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

// FaultOfValue says which value in an interface, anywhere in an answer, JSON gives back as a value
// of another type, and as which. It returns "" if there is none. The type must have passed Fault
// before.
func FaultOfValue[Res any](res *Res) string {
	path, what := (&valueWalk{}).fault(reflect.ValueOf(res).Elem(), 0)
	if what == "" {
		return ""
	}
	return "answer" + path + " is an any with " + what + ": want a struct with fields of such types"
}

// As converts a value to a T: the value itself if it is a T, or else its JSON decoded into a T.
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

// holding caches the results of holdsAny.
var holding sync.Map

// holdsAny reports whether values of a type can contain an interface that encoding/json itself
// decodes. A type that unmarshals itself is not searched: it knows what it wrote.
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

// deepestValue is the depth up to which encoding/json reads JSON. A value that is deeper, or
// contains itself, fails for that reason and not because of its types.
const deepestValue = 10_000

// valueWalk visits the parts of a value.
type valueWalk struct {
	tooDeep bool
}

// fault returns what is wrong in a value, and the path to it. The path is built on the way back,
// because nearly all values have no fault. Of several faults in a map it returns the first one by
// path.
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

// keyPath is the step of a path to a value of a map. Keys come from the world, so they may be long.
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

// inAny returns what is wrong with what an interface holds. encoding/json decodes into an interface
// only nil and the types float64, string, bool, []any and map[string]any.
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
	defer func() { _ = recover() }() // the value's own code marshals it and may panic
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
