package shrink

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file writes values as Go: times, errors, plain data, results and records.

func (g *goWriter) duration(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	if d == fakes.Forever {
		return "fakes.Forever"
	}
	g.use("time")
	for _, unit := range []struct {
		d    time.Duration
		name string
	}{{time.Hour, "time.Hour"}, {time.Minute, "time.Minute"}, {time.Second, "time.Second"}, {time.Millisecond, "time.Millisecond"}} {
		if d == unit.d {
			return unit.name
		}
		if d%unit.d == 0 {
			return fmt.Sprintf("%d * %s", d/unit.d, unit.name)
		}
	}
	return fmt.Sprintf("time.Duration(%d)", d)
}

func (g *goWriter) time(t time.Time) string {
	if t.Equal(fakes.Epoch) {
		return "fakes.Epoch"
	}
	return fmt.Sprintf("fakes.Epoch.Add(%s)", g.duration(t.Sub(fakes.Epoch)))
}

// failure writes an error.
func (g *goWriter) failure(f *turn.Failure) string {
	switch {
	case f == nil:
		return "nil"
	case f.Known != "":
		if pkg, _, _ := strings.Cut(f.Known, "."); pkg != "adk" { // which every file imports
			g.use(pkg)
		}
		return f.Known
	case f.Code == adk.E_TURN_ABORTED && f.Text == "the turn was aborted" && f.Stage == "" && f.Name == "" && len(f.Faults) == 0:
		if len(f.Causes) == 0 {
			return "adk.Aborted(nil)"
		}
		if len(f.Causes) == 1 {
			return "adk.Aborted(" + g.failure(&f.Causes[0]) + ")"
		}
	case f.Code != "" && len(f.Causes) == 0 && len(f.Faults) == 0 && f.Stage == "" && f.Name == "":
		return fmt.Sprintf("&adk.Error{Code: %q, Message: %q}", f.Code, f.Text)
	case f.Code == "" && !f.Panic && len(f.Causes) == 0:
		return fmt.Sprintf("%s.New(%q)", g.use("errors"), f.Text)
	}
	return "(" + failureLiteral("&turn.Failure", f) + ").Err()"
}

func failureLiteral(kind string, f *turn.Failure) string {
	var fields []string
	add := func(name string, value any, ok bool) {
		if ok {
			fields = append(fields, fmt.Sprintf("%s: %#v", name, value))
		}
	}
	add("Text", f.Text, f.Text != "")
	if f.Code != "" {
		fields = append(fields, fmt.Sprintf("Code: %q", f.Code))
	}
	add("Stage", f.Stage, f.Stage != "")
	add("Name", f.Name, f.Name != "")
	add("Faults", f.Faults, len(f.Faults) > 0)
	add("Known", f.Known, f.Known != "")
	add("Panic", true, f.Panic)
	if len(f.Causes) > 0 {
		var causes []string
		for i := range f.Causes {
			causes = append(causes, failureLiteral("", &f.Causes[i]))
		}
		fields = append(fields, "Causes: []turn.Failure{"+strings.Join(causes, ", ")+"}")
	}
	return kind + "{" + strings.Join(fields, ", ") + "}"
}

func (g *goWriter) panicValue(f *turn.Failure) string {
	if text, ok := f.PanicValue().(string); ok {
		return strconv.Quote(text)
	}
	if f.Panic && len(f.Causes) == 1 {
		return g.failure(&f.Causes[0])
	}
	return g.failure(f)
}

// value writes plain data.
func (g *goWriter) value(v any) string {
	switch x := v.(type) {
	case nil:
		return "nil"
	case string:
		return strconv.Quote(x)
	case bool, int:
		return fmt.Sprint(x)
	case float64:
		return "float64(" + g.number(x, x) + ")"
	case float32:
		return "float32(" + g.number(float64(x), x) + ")"
	case time.Time:
		return g.time(x)
	case time.Duration:
		return g.use("time") + ".Duration(" + g.duration(x) + ")"
	case int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, uintptr:
		return fmt.Sprintf("%T(%v)", x, x)
	case []byte:
		return fmt.Sprintf("%#v", x)
	case json.RawMessage:
		g.use("encoding/json")
		return fmt.Sprintf("json.RawMessage(%q)", string(x))
	case adk.Record:
		return g.record(x)
	}
	return g.container(reflect.ValueOf(v))
}

// number writes a float. shown is the same number with the type as which it is printed.
func (g *goWriter) number(f float64, shown any) string {
	switch {
	case math.IsNaN(f):
		return g.use("math") + ".NaN()"
	case math.IsInf(f, 0):
		return fmt.Sprintf("%s.Inf(%+d)", g.use("math"), map[bool]int{true: 1, false: -1}[f > 0])
	case f == 0 && math.Signbit(f):
		return g.use("math") + ".Copysign(0, -1)"
	}
	return fmt.Sprint(shown)
}

// container writes a map or a slice of any type.
func (g *goWriter) container(v reflect.Value) string {
	isMap := v.Kind() == reflect.Map
	if !isMap && v.Kind() != reflect.Slice {
		return fmt.Sprintf("%#v", v.Interface())
	}
	name := goTypeName(v.Type())
	if strings.Contains(name, "time.") {
		g.use("time")
	}
	if strings.Contains(name, "json.") {
		g.use("encoding/json")
	}
	if v.IsNil() {
		return name + "(nil)"
	}
	var items []string
	if isMap {
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			items = append(items, strconv.Quote(key.String())+": "+g.value(v.MapIndex(key).Interface()))
		}
	} else {
		for i := range v.Len() {
			items = append(items, g.value(v.Index(i).Interface()))
		}
	}
	return name + "{" + strings.Join(items, ", ") + "}"
}

func goTypeName(t reflect.Type) string {
	return strings.ReplaceAll(t.String(), "interface {}", "any")
}

func (g *goWriter) result(v *turn.Value) string {
	switch r := v.V.(type) {
	case nil:
		return "nil"
	case *adk.Tokenizable:
		return fmt.Sprintf("adk.Text(%q)", r.String())
	case adk.Bytes:
		return fmt.Sprintf("adk.Bytes(%q)", string(r))
	case adk.MediaList:
		var items []string
		for _, m := range r {
			items = append(items, g.record(m))
		}
		return "adk.MediaList{" + strings.Join(items, ", ") + "}"
	}
	return g.value(v.V)
}

// record writes a record: with its constructor if a few fields suffice, otherwise as JSON.
func (g *goWriter) record(r adk.Record) string {
	switch x := r.(type) {
	case nil:
		return "nil"
	case *adk.Tokenizable:
		return fmt.Sprintf("adk.NewTokenizable(%q)", x.String())
	case *adk.Tool:
		return g.tool(x)
	}
	name := reflect.TypeOf(r).Elem().Name()
	if fields, ok := g.fields(r); ok {
		return g.must(fmt.Sprintf("adk.New%s(adk.%[1]sInit{%s})", name, fields))
	}
	data, err := r.MarshalJSON()
	if err != nil {
		return "nil"
	}
	return g.must(fmt.Sprintf("adk.ParseRecord(%q, []byte(%s))", r.RecordKind(), quotedRaw(string(data)))) + ".(*adk." + name + ")"
}

// fields returns the arguments with which a constructor makes the record. ok is false if they would
// not make all of it.
func (g *goWriter) fields(r adk.Record) (fields string, ok bool) {
	var plain adk.Record
	var err error
	var created, updated time.Time
	switch x := r.(type) {
	case *adk.Message:
		init := x.Init()
		created, updated = init.CreatedAt, init.UpdatedAt
		plain, err = adk.NewMessage(adk.MessageInit{ID: init.ID, Role: init.Role, Content: init.Content, CreatedAt: created, UpdatedAt: updated})
		fields = fmt.Sprintf("ID: %q, Role: %q, Content: %q", init.ID, init.Role, init.Content)
	case *adk.Memory:
		init := x.Init()
		created, updated = init.CreatedAt, init.UpdatedAt
		plain = x
		fields = fmt.Sprintf("ID: %q, Content: %q, Confidence: new(%#v), Importance: new(%#v)", init.ID, init.Content, *init.Confidence, *init.Importance)
	case *adk.Thought:
		init := x.Init()
		created, updated = init.CreatedAt, init.UpdatedAt
		plain, err = adk.NewThought(adk.ThoughtInit{ID: init.ID, Content: init.Content, CreatedAt: created, UpdatedAt: updated})
		fields = fmt.Sprintf("ID: %q, Content: %q", init.ID, init.Content)
	case *adk.Retrievable:
		init := x.Init()
		created, updated = init.CreatedAt, init.UpdatedAt
		plain, err = adk.NewRetrievable(adk.RetrievableInit{ID: init.ID, Content: init.Content, TrustTier: init.TrustTier, CreatedAt: created, UpdatedAt: updated})
		fields = fmt.Sprintf("ID: %q, Content: %q, TrustTier: %q", init.ID, init.Content, init.TrustTier)
	default:
		return "", false
	}
	if err != nil || plain.Digest() != r.Digest() {
		return "", false
	}
	return fields + fmt.Sprintf(", CreatedAt: %s, UpdatedAt: %s", g.time(created), g.time(updated)), true
}

// quotedRaw returns the text as a raw string literal if that is possible.
func quotedRaw(text string) string {
	if strconv.CanBackquote(text) {
		return "`" + text + "`"
	}
	return strconv.Quote(text)
}
