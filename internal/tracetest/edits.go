package tracetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// This file makes every edit of every field of a crossing, for tests that check whether the edit is
// noticed.

// edit is one change of one crossing.
type edit struct {
	field  string // the label, as the trace writes it
	what   string
	input  bool // user code or the outside decided the value, not the engine
	edited adk.Crossing
}

// fieldEdits returns all edits of the fields of a crossing.
func fieldEdits(x adk.Crossing) []edit {
	edits := frameEdits(x)
	for _, use := range x.Kind.Fields(x.Phase) {
		e := editor{label: use.Label, input: use.Input, from: x}
		if use.Field == adk.FieldSeam && x.Seams != nil {
			e.input = true // user code named the dispatch that it called
		}
		e.field(use.Field)
		edits = append(edits, e.edits...)
	}
	return edits
}

// frameEdits returns the edits of the fields that every crossing has.
func frameEdits(x adk.Crossing) []edit {
	e := editor{from: x}
	e.label, e.input = "at", true
	for _, by := range []time.Duration{-1, 1} {
		e.with("moved by "+by.String(), func(x *adk.Crossing) { x.At = x.At.Add(by) })
	}
	// User code decides through which handle it performs an operation.
	e.label, e.input = "in", x.Kind.Class() == adk.ClassOperation
	e.number(func(x *adk.Crossing) *int { return &x.Call })
	e.label, e.input = "strand", false
	e.number(func(x *adk.Crossing) *int { return &x.Strand })
	e.label = "op"
	e.number(func(x *adk.Crossing) *int { return &x.Op })
	e.label = "kind"
	next := nextKind(x.Kind)
	e.input = fromOutside(&x) && fromOutside(&adk.Crossing{Kind: next, Phase: x.Phase})
	e.with("another kind", func(x *adk.Crossing) { x.Kind = next })
	if x.Phase != adk.Whole {
		e.with("another phase", func(x *adk.Crossing) { x.Phase = adk.Begin + adk.Done - x.Phase })
	}
	return e.edits
}

// nextKind returns another kind with the same phases.
func nextKind(k adk.Kind) adk.Kind {
	all := adk.Kinds()
	for i := slices.Index(all, k) + 1; ; i++ {
		if next := all[i%len(all)]; next.Spanning() == k.Spanning() {
			return next
		}
	}
}

// editor collects the edits of one field.
type editor struct {
	label string
	input bool
	from  adk.Crossing
	edits []edit
}

func (e *editor) with(what string, change func(*adk.Crossing)) {
	x := e.from
	change(&x)
	e.edits = append(e.edits, edit{e.label, what, e.input, x})
}

func (e *editor) field(f adk.Field) {
	switch f {
	case adk.FieldID:
		e.number(func(x *adk.Crossing) *int { return &x.ID })
	case adk.FieldN:
		e.number(func(x *adk.Crossing) *int { return &x.N })
	case adk.FieldSeam:
		e.seam()
	case adk.FieldName:
		editText(e, func(x *adk.Crossing) *string { return &x.Name })
	case adk.FieldKey:
		editText(e, func(x *adk.Crossing) *string { return &x.Key })
	case adk.FieldText:
		editText(e, func(x *adk.Crossing) *string { return &x.Text })
	case adk.FieldStatus:
		editText(e, func(x *adk.Crossing) *string { return &x.Status })
	case adk.FieldCollection:
		editText(e, func(x *adk.Crossing) *adk.CollectionName { return &x.Collection })
		e.with("another collection", func(x *adk.Crossing) {
			x.Collection = adk.Memories
			if e.from.Collection == adk.Memories {
				x.Collection = adk.Thoughts
			}
		})
	case adk.FieldTexts:
		editList(e, e.from.Texts, "extra", func(s string) []string { return []string{s + "x"} }, func(x *adk.Crossing, l []string) { x.Texts = l })
	case adk.FieldRecord:
		for _, r := range recordEdits(e.from.Record) {
			e.with(r.what, func(x *adk.Crossing) { x.Record = r.value })
		}
	case adk.FieldRecords:
		editList(e, e.from.Records, adk.Record(anotherMessage), recordsLike, func(x *adk.Crossing, l []adk.Record) { x.Records = l })
	case adk.FieldValue:
		for _, v := range valueEdits(e.from.Value) {
			e.with(v.what, func(x *adk.Crossing) { x.Value = v.value })
		}
	case adk.FieldArgs:
		e.args()
	case adk.FieldResult:
		for _, r := range resultEdits(e.from.Result) {
			e.with(r.what, func(x *adk.Crossing) { x.Result = r.value })
		}
	case adk.FieldOutcome:
		for _, o := range []adk.Outcome{adk.OutcomeOK, adk.OutcomeError, adk.OutcomePanic, adk.OutcomeGoexit} {
			if o != e.from.Outcome {
				e.with("now "+string(o), func(x *adk.Crossing) { x.Outcome = o })
			}
		}
	case adk.FieldErr:
		for _, v := range errorEdits(e.from.Err) {
			e.with(v.what, func(x *adk.Crossing) { x.Err = v.value })
		}
	case adk.FieldCause:
		for _, v := range errorEdits(e.from.Cause) {
			e.with(v.what, func(x *adk.Crossing) { x.Cause = v.value })
		}
	case adk.FieldFlag:
		e.with("flipped", func(x *adk.Crossing) { x.Flag = !x.Flag })
	case adk.FieldIsError:
		e.with("flipped", func(x *adk.Crossing) { x.IsError = !x.IsError })
	case adk.FieldDuration:
		for _, by := range []time.Duration{-1, 1, time.Hour} {
			e.with("changed by "+by.String(), func(x *adk.Crossing) { x.Duration += by })
		}
	case adk.FieldSchema:
		e.schema()
	case adk.FieldJSON:
		e.with("exchanged", func(x *adk.Crossing) { x.JSON = json.RawMessage(`"exchanged"`) })
		if len(e.from.JSON) > 0 {
			e.with("dropped", func(x *adk.Crossing) { x.JSON = nil })
		}
	case adk.FieldDigest:
		for _, at := range []int{0, len(e.from.Digest) - 1} {
			e.with(fmt.Sprintf("bit of byte %d flipped", at), func(x *adk.Crossing) { x.Digest[at] ^= 1 })
		}
	case adk.FieldSeams:
		e.seams()
	case adk.FieldPayload:
		e.payload()
	default:
		panic(fmt.Sprintf("nobody edits field %d", f))
	}
}

// seams edits the names of the seams of a dispatch that user code called.
func (e *editor) seams() {
	if e.from.Seams == nil {
		return // a call of another seam, whose line may not have names
	}
	e.with("another executor", func(x *adk.Crossing) {
		other := *e.from.Seams
		other.Executor += "x"
		x.Seams = &other
	})
	e.with("another middleware", func(x *adk.Crossing) {
		other := *e.from.Seams
		other.DispatchInput = append([]string{"first"}, other.DispatchInput...)
		x.Seams = &other
	})
}

func (e *editor) number(of func(*adk.Crossing) *int) {
	for _, by := range []int{-1, 1} {
		e.with(fmt.Sprintf("%+d", by), func(x *adk.Crossing) { *of(x) += by })
	}
}

// editText changes a text, empties it and makes it longer. It sets an empty text.
func editText[T ~string](e *editor, of func(*adk.Crossing) *T) {
	text := *of(&e.from)
	if text == "" {
		e.with("set", func(x *adk.Crossing) { *of(x) = "x" })
		return
	}
	e.with("emptied", func(x *adk.Crossing) { *of(x) = "" })
	e.with("lengthened", func(x *adk.Crossing) { *of(x) += "x" })
	e.with("changed", func(x *adk.Crossing) { *of(x) = changedText(text) })
}

// changedText returns a text of the same length with another last byte.
func changedText[T ~string](text T) T {
	last := byte('y')
	if text[len(text)-1] == last {
		last = 'z'
	}
	return text[:len(text)-1] + T(last)
}

func (e *editor) seam() {
	s := e.from.Seam
	e.with("renamed", func(x *adk.Crossing) { x.Seam.Name += "x" })
	e.with("another label", func(x *adk.Crossing) {
		x.Seam = adk.Seam{Label: adk.LabelTool, Name: "x"}
	})
	if s.Label == adk.LabelExecutor || s.Label == adk.LabelDispatchInput || s.Label == adk.LabelDispatchOutput {
		e.with("another iteration", func(x *adk.Crossing) { x.Seam.Iteration++ })
	}
}

// changedTo is a value that a field is changed to.
type changedTo[T any] struct {
	what  string
	value T
}

// editList makes a list shorter and longer, reverses it, and changes its first and last element. It
// sets an empty list.
func editList[T any](e *editor, list []T, extra T, like func(T) []T, set func(*adk.Crossing, []T)) {
	put := func(what string, to []T) { e.with(what, func(x *adk.Crossing) { set(x, to) }) }
	put("lengthened", append(slices.Clone(list), extra))
	if len(list) == 0 {
		return
	}
	put("dropped", nil)
	if len(list) > 1 {
		put("shortened", list[:len(list)-1])
		turned := slices.Clone(list)
		slices.Reverse(turned)
		put("turned around", turned)
	}
	for _, at := range slices.Compact([]int{0, len(list) - 1}) {
		for i, other := range like(list[at]) {
			edited := slices.Clone(list)
			edited[at] = other
			put(fmt.Sprintf("element %d changed, %d", at, i), edited)
		}
	}
}

var anotherMessage = Must(adk.NewMessage(adk.MessageInit{ID: "another", Role: adk.RoleUser, Content: "another",
	CreatedAt: time.Unix(0, 0), UpdatedAt: time.Unix(0, 0)}))

// Must returns value, and panics on an error.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func recordsLike(r adk.Record) (like []adk.Record) {
	for _, other := range recordEdits(r) {
		if other.value != nil {
			like = append(like, other.value)
		}
	}
	return like
}

// recordEdits returns no record, another one, and the same record with one member of its JSON
// changed or removed, if that is a valid record.
func recordEdits(r adk.Record) []changedTo[adk.Record] {
	if r == nil {
		return []changedTo[adk.Record]{{"set", anotherMessage}}
	}
	edits := []changedTo[adk.Record]{{"dropped", nil}, {"another record", anotherMessage}}
	if r.RecordKind() == adk.RecordInstruction {
		return append(edits, changedTo[adk.Record]{"changed", adk.NewTokenizable(r.Key() + "x")})
	}
	var members map[string]any
	data := Must(r.MarshalJSON())
	if err := json.Unmarshal(data, &members); err != nil {
		panic(err)
	}
	for _, other := range mapEdits(members) {
		changed, err := adk.ParseRecord(r.RecordKind(), Must(json.Marshal(other.value)))
		if err == nil && changed.Digest() != r.Digest() {
			edits = append(edits, changedTo[adk.Record]{other.what, changed})
		}
	}
	return edits
}

// valueEdits returns all values that differ from a value of plain data in one place.
func valueEdits(value any) []changedTo[any] {
	if value == nil {
		return []changedTo[any]{{"set", "x"}}
	}
	return append(innerEdits(value), changedTo[any]{"dropped", nil})
}

func innerEdits(value any) []changedTo[any] {
	one := func(v any) []changedTo[any] { return []changedTo[any]{{"changed", v}} }
	switch v := value.(type) {
	case nil:
		return one("x")
	case bool:
		return one(!v)
	case string:
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return one(at.Add(1).Format(time.RFC3339Nano))
		}
		return []changedTo[any]{{"lengthened", v + "x"}, {"emptied", ""}}
	case float64:
		return one(v + 1)
	case int:
		return one(v + 1)
	case []byte:
		return one(append(slices.Clone(v), 'x'))
	case []any:
		edits := []changedTo[any]{{"lengthened", append(slices.Clone(v), "x")}}
		for i := range v {
			for _, other := range innerEdits(v[i]) {
				list := slices.Clone(v)
				list[i] = other.value
				edits = append(edits, changedTo[any]{fmt.Sprintf("[%d] %s", i, other.what), list})
			}
		}
		return edits
	case map[string]any:
		return mapEdits(v)
	}
	return one("x") // plain data of a type that fixtures do not have
}

// mapEdits removes, adds and changes one key at any depth.
func mapEdits(object map[string]any) []changedTo[any] {
	edit := func(change func(map[string]any)) map[string]any {
		copied := maps.Clone(object)
		change(copied)
		return copied
	}
	edits := []changedTo[any]{{"extra key", edit(func(m map[string]any) { m["extra"] = "x" })}}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		edits = append(edits, changedTo[any]{key + " dropped", edit(func(m map[string]any) { delete(m, key) })})
		for _, other := range innerEdits(object[key]) {
			edits = append(edits, changedTo[any]{key + " " + other.what, edit(func(m map[string]any) { m[key] = other.value })})
		}
	}
	return edits
}

func (e *editor) args() {
	put := func(what string, args any) { e.with(what, func(x *adk.Crossing) { x.Args = args }) }
	switch args := e.from.Args.(type) {
	case nil:
		put("set", map[string]any{"x": "y"})
	case string:
		put("lengthened", args+" ")
		put("changed", `{"x":"y"}`)
	case map[string]any:
		for _, other := range mapEdits(args) {
			put(other.what, other.value)
		}
	default:
		put("changed", "{}")
	}
	if e.from.Args != nil {
		put("dropped", nil)
	}
}

func resultEdits(r adk.ToolResult) []changedTo[adk.ToolResult] {
	if r == nil {
		return []changedTo[adk.ToolResult]{{"set", adk.Text("x")}}
	}
	edits := []changedTo[adk.ToolResult]{{"dropped", nil}, {"another", adk.Bytes("x")}}
	if text, ok := r.(*adk.Tokenizable); ok {
		edits = append(edits, changedTo[adk.ToolResult]{"lengthened", adk.Text(text.String() + "x")})
	}
	return edits
}

// errorEdits changes an error's code, text and chain.
func errorEdits(err error) []changedTo[error] {
	if err == nil {
		return []changedTo[error]{{"set", errors.New("x")}, {"set with a code", &adk.Error{Code: adk.E_TURN_ABORTED}}}
	}
	edits := []changedTo[error]{{"dropped", nil}, {"text changed", errors.New(err.Error() + "x")}}
	ours, ok := err.(*adk.Error)
	if !ok {
		if errors.Unwrap(err) != nil {
			edits = append(edits, changedTo[error]{"cause dropped", errors.New(err.Error())})
		}
		return edits
	}
	put := func(what string, change func(*adk.Error)) {
		copied := *ours
		change(&copied)
		edits = append(edits, changedTo[error]{what, &copied})
	}
	put("code changed", func(e *adk.Error) { e.Code += "X" })
	put("message changed", func(e *adk.Error) { e.Message += "x" })
	put("stage changed", func(e *adk.Error) { e.Stage += "x" })
	put("name changed", func(e *adk.Error) { e.Name += "x" })
	for _, cause := range errorEdits(ours.Cause) {
		put("cause "+cause.what, func(e *adk.Error) { e.Cause = cause.value })
	}
	return edits
}

func (e *editor) schema() {
	put := func(what, schema string) {
		e.with(what, func(x *adk.Crossing) { x.Schema = json.RawMessage(schema) })
	}
	if len(e.from.Schema) == 0 {
		put("set", `{"type":"string"}`)
		return
	}
	put("dropped", "")
	put("changed", `{"enum":["never"]}`)
	put("lengthened", string(bytes.TrimSuffix(e.from.Schema, []byte("}")))+`,"title":"x"}`)
}

// payload changes one field of an event that user code emitted.
func (e *editor) payload() {
	given := reflect.ValueOf(e.from.Payload)
	for _, field := range reflect.VisibleFields(given.Type()) {
		if field.Anonymous {
			continue
		}
		changed := reflect.New(given.Type()).Elem()
		changed.Set(given)
		if at := changed.FieldByIndex(field.Index); changeField(at) {
			e.with(field.Name+" changed", func(x *adk.Crossing) { x.Payload = changed.Interface() })
		}
	}
}

func changeField(at reflect.Value) bool {
	switch v := at.Addr().Interface().(type) {
	case *string:
		*v += "x"
	case *bool:
		*v = !*v
	case *int:
		*v++
	case *time.Time:
		*v = v.Add(1)
	case *map[string]any:
		*v = map[string]any{"x": "y"}
	case *adk.ToolResult:
		*v = adk.Text("x")
	default:
		return false
	}
	return true
}
