package adk

import (
	"context"
	"fmt"
	"reflect"
	"strings"
)

// Next runs everything downstream of a middleware, which is the later ones of its
// own pipeline, and returns when that has finished, however it ended (PIP-2). The
// executor and the dispatch are not among them: they follow when the whole
// pipeline has ended (RUN-9, DSP-2), and a ctx that is handed on here does not
// reach them. The first call counts; later ones do nothing (PIP-3). A nil ctx
// means the middleware's own.
type Next func(ctx context.Context)

// TurnMiddleware is one entry of a turn pipeline (PIP-1).
type TurnMiddleware struct {
	// Name is required and unique in its pipeline: traces, errors and replays
	// speak of it.
	Name string
	// Run is required. What it does before next is the pre-step, what it does
	// afterwards the post-step.
	Run func(ctx context.Context, tc *TurnContext, next Next) error
}

// DispatchMiddleware is one entry of a dispatch pipeline (PIP-1).
type DispatchMiddleware struct {
	// Name is required and unique in its pipeline.
	Name string
	// Run is required.
	Run func(ctx context.Context, dc *DispatchContext, next Next) error
}

// Executor is the decision maker: it is called once an iteration, asks the
// model, runs the tools the model wants, and signals when it is done.
type Executor struct {
	// Name is required.
	Name string
	// Run is required. Returning nil without a signal starts another iteration.
	Run func(ctx context.Context, dc *DispatchContext, h *Helpers) error
}

// Config is all that a runner is made of. It is copied by NewRunner.
type Config struct {
	// Executor and every field of Storage are required; nothing is defaulted
	// for them (RUN-1).
	Executor Executor
	Storage  Storage

	// The four pipelines, empty by default (RUN-3).
	TurnInput      []TurnMiddleware
	TurnOutput     []TurnMiddleware
	DispatchInput  []DispatchMiddleware
	DispatchOutput []DispatchMiddleware
	// Tools are the baseline tools, with which every turn's registry begins.
	Tools []*Tool

	// Clock is SystemClock if nil, IDs is UUIDs if nil (DET-1).
	Clock Clock
	IDs   IDSource
	// Probe observes every run; nil observes none (DET-4).
	Probe Probe
	// Outside answers Ask, AskStream and transports in the world's place; nil, which
	// is for production, leaves every answer to the world (WLD-6).
	Outside Outside
	// WriteBehind puts the calls of the storage obligations off until the
	// flush (DEL-6). The default is to call them at once (DEL-1).
	WriteBehind bool
}

// withDefaults is the config with its optional fields filled and its slices
// copied.
func (c Config) withDefaults() Config {
	if c.Clock == nil {
		c.Clock = SystemClock()
	}
	if c.IDs == nil {
		c.IDs = UUIDs()
	}
	c.TurnInput = append([]TurnMiddleware(nil), c.TurnInput...)
	c.TurnOutput = append([]TurnMiddleware(nil), c.TurnOutput...)
	c.DispatchInput = append([]DispatchMiddleware(nil), c.DispatchInput...)
	c.DispatchOutput = append([]DispatchMiddleware(nil), c.DispatchOutput...)
	c.Tools = append([]*Tool(nil), c.Tools...)
	return c
}

// faults lists everything that is wrong with a config, in the order of its
// fields (RUN-1).
func (c Config) faults() faultList {
	var f faultList
	f.executor("Executor", c.Executor)
	f.storage(c.Storage)
	checkPipeline(&f, "TurnInput", c.TurnInput, func(m TurnMiddleware) (string, bool) { return m.Name, m.Run == nil })
	checkPipeline(&f, "TurnOutput", c.TurnOutput, func(m TurnMiddleware) (string, bool) { return m.Name, m.Run == nil })
	checkPipeline(&f, "DispatchInput", c.DispatchInput, func(m DispatchMiddleware) (string, bool) { return m.Name, m.Run == nil })
	checkPipeline(&f, "DispatchOutput", c.DispatchOutput, func(m DispatchMiddleware) (string, bool) { return m.Name, m.Run == nil })
	f.tools("Tools", c.Tools)
	f.typedNil("Clock", c.Clock)
	f.typedNil("IDs", c.IDs)
	f.typedNil("Probe", c.Probe)
	return f
}

// faultList collects what is wrong, so that it can all be said at once.
type faultList []Fault

// add notes what is wrong with a field; an empty field is none. The message goes on
// where the field's name ends.
func (f *faultList) add(field, format string, args ...any) {
	*f = append(*f, Fault{Path: field, Message: fmt.Sprintf(format, args...)})
}

// addAt is add for an entry of a list; it spells the entry only for a fault.
func (f *faultList) addAt(field string, i int, format string, args ...any) {
	f.add(fmt.Sprintf("%s[%d]", field, i), format, args...)
}

// err is the faults as one error of the given code, or nil.
func (f faultList) err(code Code) error {
	if len(f) == 0 {
		return nil
	}
	texts := make([]string, len(f))
	for i, fault := range f {
		texts[i] = strings.TrimPrefix(fault.Path+" "+fault.Message, " ")
	}
	return &Error{Code: code, Message: strings.Join(texts, "; "), Faults: f}
}

func (f *faultList) executor(field string, e Executor) {
	if e.Name == "" {
		f.add(field+".Name", "is empty: give the executor a name")
	}
	if e.Run == nil {
		f.add(field+".Run", "is missing")
	}
}

func (f *faultList) storage(s Storage) {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		if isNil(v.Field(i)) {
			f.add("Storage."+v.Type().Field(i).Name, "is missing: a no-op is legal, an omission is not")
		}
	}
}

// typedNil refuses a non-nil interface that holds a nil pointer; a nil
// interface means the default.
func (f *faultList) typedNil(field string, value any) {
	if value != nil && isNil(reflect.ValueOf(value)) {
		f.add(field, "is a nil %T", value)
	}
}

func (f *faultList) tools(field string, tools []*Tool) {
	seen := map[string]int{}
	for i, t := range tools {
		if fault := recordFault(t); fault != "" {
			f.addAt(field, i, "%s", fault)
			continue
		}
		if first, dup := seen[t.Name()]; dup {
			f.addAt(field, i, "has the name %q of %s[%d]", t.Name(), field, first)
			continue
		}
		seen[t.Name()] = i
	}
}

func checkPipeline[M any](f *faultList, field string, list []M, look func(M) (name string, missing bool)) {
	seen := map[string]int{}
	for i, m := range list {
		name, missing := look(m)
		if missing {
			f.add(fmt.Sprintf("%s[%d].Run", field, i), "is missing")
		}
		if name == "" {
			f.add(fmt.Sprintf("%s[%d].Name", field, i), "is empty: every middleware has a name")
			continue
		}
		if first, dup := seen[name]; dup {
			f.add(fmt.Sprintf("%s[%d].Name", field, i), "%q is the name of %s[%d] too: names are unique in a pipeline", name, field, first)
			continue
		}
		seen[name] = i
	}
}

// isNil reports whether a value is a nil interface, or holds a nil pointer, func,
// map, slice or channel.
func isNil(v reflect.Value) bool {
	for v.Kind() == reflect.Interface {
		if v.IsNil() {
			return true
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		return v.IsNil()
	}
	return false
}

// names gives the names of a pipeline's entries.
func names[M any](list []M, name func(M) string) []string {
	all := make([]string, len(list))
	for i, m := range list {
		all[i] = name(m)
	}
	return all
}
