package whatif

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file puts a value in the place of what a crossing says: the field is
// written as a trace has it, changed there, and read back.

// put changes a field of a crossing.
func (w *whatIf) put(t target, value any) error {
	given, err := w.written(t.use.Field, value)
	if err != nil {
		return err
	}
	field := given
	if t.rest != "" {
		old, err := w.tree(t.use, t.x)
		if err != nil {
			return err
		}
		inside, err := treeOf(given)
		if err != nil {
			return err
		}
		changed, err := within(old, t.rest, inside)
		if err != nil {
			return err
		}
		if field, err = json.Marshal(changed); err != nil {
			return err
		}
	} else {
		field = wholeField(t, value, given)
	}
	after := *t.x
	if err := w.read(&after, t.use.Field, field); err != nil {
		return err
	}
	if w.known.Same(t.use.Field, t.x, &after) {
		return nil
	}
	if err := consistent(&after, t.use.Field, w.recorded.SeamOf(t.x)); err != nil {
		return err
	}
	*t.x = after
	w.follow(t)
	return nil
}

// written is a value as a trace has it.
func (w *whatIf) written(f adk.Field, value any) ([]byte, error) {
	e := w.known.Encoder()
	var err error
	switch v := value.(type) {
	case json.RawMessage:
		if !json.Valid(v) {
			return nil, errors.New("the value is not JSON")
		}
		return v, nil
	case error:
		e.ErrorField("", v)
	case []adk.Record:
		err = e.RecordsField("", v)
	case adk.Record:
		if result, is := value.(adk.ToolResult); is && f == adk.FieldResult {
			err = e.ResultField("", result)
		} else {
			err = e.RecordField("", v)
		}
	case adk.ToolResult:
		err = e.ResultField("", v)
	case time.Duration:
		return []byte(compare.QuotedJSON(v.String())), nil
	default:
		return plain.AppendJSON(nil, value), nil
	}
	return e.Out, err
}

// wholeField is a value in the form in which a trace has the whole field.
func wholeField(t target, value any, given []byte) []byte {
	text, isText := textIn(given)
	switch t.use.Field {
	case adk.FieldName, adk.FieldKey, adk.FieldText, adk.FieldStatus, adk.FieldOutcome, adk.FieldDuration:
		if raw, ok := value.(json.RawMessage); ok && !isText && raw[0] != '{' && string(raw) != "null" {
			return []byte(compare.QuotedJSON(string(raw)))
		}
	case adk.FieldErr, adk.FieldCause:
		switch {
		case isText:
			return []byte(`{"text":` + string(given) + `}`)
		case given[0] != '{' && string(given) != "null":
			return []byte(`{"text":` + compare.QuotedJSON(string(given)) + `}`)
		}
	case adk.FieldResult:
		switch members, _ := wire.ScanMembers(nil, given); {
		case isText:
			return []byte(`{"text":` + string(given) + `}`)
		case string(given) != "null" && (len(members) != 1 || !isResultMember(string(members[0].Name))):
			return []byte(`{"text":` + compare.QuotedJSON(string(given)) + `}`)
		}
	case adk.FieldValue:
		if t.x.Kind == adk.KindOpenMedia && isText {
			return plain.AppendJSON(nil, []byte(text))
		}
	}
	return given
}

func isResultMember(name string) bool {
	return slices.Contains([]string{wire.ResultText, wire.ResultBytes, wire.ResultMedia, wire.ResultMediaList}, name)
}

// textIn is the text that a JSON string holds.
func textIn(given []byte) (text string, is bool) {
	return text, json.Unmarshal(given, &text) == nil && string(given) != "null"
}

// tree is a field as a tree, in which each record stands in full.
func (w *whatIf) tree(use adk.FieldUse, x *adk.Crossing) (any, error) {
	if use.Field == adk.FieldRecords { // each by itself, so that changing one changes no other
		var all []any
		for _, r := range x.Records {
			one, err := w.tree(adk.FieldUse{Field: adk.FieldRecord, Label: use.Label}, &adk.Crossing{Record: r})
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		return all, nil
	}
	e := w.known.Encoder()
	if err := wire.FieldRows[use.Field].Append(e, "", x); err != nil || len(e.Out) == 0 {
		return nil, err
	}
	tree, err := treeOf(e.Out)
	if use.Field == adk.FieldResult {
		tree = unshared(tree, map[string]any{})
	}
	return tree, err
}

// treeOf reads JSON and keeps numbers as they are written.
func treeOf(text []byte) (tree any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&tree)
	return tree, err
}

// unshared puts records in the place of their numbers.
func unshared(tree any, known map[string]any) any {
	switch t := tree.(type) {
	case []any:
		for i := range t {
			t[i] = unshared(t[i], known)
		}
	case map[string]any:
		n, isRecord := t["#"]
		if !isRecord {
			for key := range t {
				t[key] = unshared(t[key], known)
			}
			return t
		}
		key := fmt.Sprint(n)
		if len(t) == 2 {
			text, _ := json.Marshal(t)
			known[key] = json.RawMessage(text)
			return t
		}
		if text, is := known[key].(json.RawMessage); is {
			again, _ := treeOf(text)
			return again
		}
	}
	return tree
}

// within is a tree with another value at a path.
func within(tree any, path string, value any) (any, error) {
	if path == "" {
		return value, nil
	}
	switch t := tree.(type) {
	case nil:
		return within(map[string]any{}, path, value)
	case map[string]any:
		if kind, record, is := recordIn(t); is {
			changed, err := within(record, path, value)
			t[kind] = changed
			return t, err
		}
		word, rest := firstWord(path, func(word string) bool { _, has := t[word]; return has })
		if word == "" {
			return nil, fmt.Errorf("%q leads nowhere", path)
		}
		changed, err := within(t[word], rest, value)
		t[word] = changed
		return t, err
	case []any:
		return withinList(t, path, value)
	case string: // arguments that are JSON text
		inner, err := treeOf([]byte(t))
		if _, isObject := inner.(map[string]any); err != nil || !isObject {
			return nil, fmt.Errorf("a text has no %q", path)
		}
		changed, err := within(inner, path, value)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(changed)
		return string(text), err
	}
	return nil, fmt.Errorf("%v has no %q", tree, path)
}

// withinList changes the element of a number, or the record of a key; the number
// behind the last adds one.
func withinList(all []any, path string, value any) (any, error) {
	word, rest := firstWord(path, func(string) bool { return false })
	at, err := strconv.Atoi(word)
	if err != nil || !strings.HasPrefix(path, "[") {
		at = slices.IndexFunc(all, func(one any) bool { return keyIn(one) == word })
	}
	switch {
	case at >= 0 && at < len(all):
		changed, err := within(all[at], rest, value)
		all[at] = changed
		return all, err
	case at == len(all) && rest == "":
		return append(all, value), nil
	}
	return nil, fmt.Errorf("a list of %d has no %q", len(all), path)
}

// recordIn is the record in what a trace writes of one.
func recordIn(t map[string]any) (kind string, record any, is bool) {
	if _, is := t["#"]; !is || len(t) != 2 {
		return "", nil, false
	}
	for kind, record := range t {
		if kind != "#" {
			return kind, record, true
		}
	}
	return "", nil, false
}

// keyIn is the id, or the name, of a record in a tree.
func keyIn(tree any) string {
	t, _ := tree.(map[string]any)
	if _, record, is := recordIn(t); is {
		t, _ = record.(map[string]any)
	}
	for _, key := range []string{"id", "name"} {
		if text, is := t[key].(string); is {
			return text
		}
	}
	return ""
}

// read reads a field back. Null is nothing.
func (w *whatIf) read(x *adk.Crossing, f adk.Field, text []byte) error {
	d := wire.NewDecoder(w.known.Sentinels)
	d.Media = w.edited.Media
	switch f {
	case adk.FieldRecord, adk.FieldRecords, adk.FieldResult:
		var err error
		if text, err = w.numbered(x, f, text); err != nil {
			return err
		}
	}
	if string(text) == "null" {
		wire.FieldRows[f].Zero(x)
		return nil
	}
	return wire.FieldRows[f].Read(d, x, text)
}

// numbered gives the records in a field their numbers, one after the other, and
// writes those that came bare as a trace does.
func (w *whatIf) numbered(x *adk.Crossing, f adk.Field, text []byte) ([]byte, error) {
	tree, err := treeOf(text)
	if err != nil {
		return nil, err
	}
	tree = unshared(tree, map[string]any{})
	n := 0
	if f == adk.FieldResult {
		if result, is := tree.(map[string]any); is {
			for _, name := range []string{wire.ResultMedia, wire.ResultMediaList} {
				if media, has := result[name]; has {
					result[name] = numberTree(media, string(adk.RecordMedia), &n)
				}
			}
		}
		return json.Marshal(tree)
	}
	kind := recordKinds[wire.CollectionOf(w.recorded.SeamOf(x))]
	switch {
	case f == adk.FieldRecord && x.Record != nil:
		kind = x.Record.RecordKind()
	case f == adk.FieldRecords && len(x.Records) > 0:
		kind = x.Records[0].RecordKind()
	}
	return json.Marshal(numberTree(tree, string(kind), &n))
}

// recordKinds are the kinds of records that collections hold.
var recordKinds = map[adk.CollectionName]adk.RecordKind{
	adk.Messages: adk.RecordMessage, adk.Memories: adk.RecordMemory, adk.Retrievables: adk.RecordRetrievable,
	adk.Thoughts: adk.RecordThought, adk.ToolCalls: adk.RecordToolCall, adk.Instructions: adk.RecordInstruction, adk.Tools: adk.RecordTool,
}

// numberTree is numbered for a tree; n is the last number.
func numberTree(tree any, kind string, n *int) any {
	switch t := tree.(type) {
	case []any:
		for i := range t {
			t[i] = numberTree(t[i], kind, n)
		}
		return t
	case map[string]any:
		*n++
		if _, _, is := recordIn(t); is {
			t["#"] = *n
			return t
		}
		for name, record := range t {
			if isRecordKind(name) && len(t) == 1 {
				return map[string]any{"#": *n, name: record}
			}
		}
		return map[string]any{"#": *n, kind: t}
	}
	return tree
}

func isRecordKind(name string) bool {
	if name == string(adk.RecordMedia) {
		return true
	}
	for _, kind := range recordKinds {
		if name == string(kind) {
			return true
		}
	}
	return false
}

// consistent makes the other fields of a return or a settlement fit the one that
// was set: who fails gives nothing, and who gives something does not fail.
func consistent(x *adk.Crossing, set adk.Field, seam adk.Seam) error {
	switch x.Kind {
	case adk.KindReturn:
		return consistentReturn(x, set, seam)
	case adk.KindSettle:
		switch {
		case set == adk.FieldErr && x.Err != nil:
			x.Status, x.Value = adk.GateRejected, nil
		case set == adk.FieldValue || set == adk.FieldErr:
			x.Status, x.Err = adk.GateResolved, nil
		case set == adk.FieldStatus && !slices.Contains([]string{adk.GateResolved, adk.GateRejected, adk.GateAborted}, x.Status):
			return fmt.Errorf("somebody outside can make it %s, %s or %s, and not %s", adk.GateResolved, adk.GateRejected, adk.GateAborted, safetext.PlainName(x.Status))
		}
	case adk.KindOpenMedia:
		switch {
		case set == adk.FieldErr && x.Err != nil:
			x.Value = nil
		case set == adk.FieldValue:
			if _, isBytes := x.Value.([]byte); !isBytes && x.Value != nil {
				return errors.New("the value is no bytes")
			}
			x.Err = nil
		}
	}
	return nil
}

func consistentReturn(x *adk.Crossing, set adk.Field, seam adk.Seam) error {
	var panicked *adk.PanicError
	switch set {
	case adk.FieldErr:
		x.Outcome = adk.OutcomeError
		if x.Err == nil {
			x.Outcome = adk.OutcomeOK
		} else if errors.As(x.Err, &panicked) {
			x.Outcome = adk.OutcomePanic
		}
	case adk.FieldResult, adk.FieldRecords:
		x.Outcome, x.Err = adk.OutcomeOK, nil
	case adk.FieldOutcome:
		switch {
		case x.Outcome == adk.OutcomeError && (x.Err == nil || errors.As(x.Err, &panicked)),
			x.Outcome == adk.OutcomePanic && !errors.As(x.Err, &panicked):
			return fmt.Errorf("the outcome %s needs what it says: set the error, as a text or for a panic as {\"panic\":text}", x.Outcome)
		case x.Outcome == adk.OutcomeOK || x.Outcome == adk.OutcomeGoexit:
			x.Err = nil
		}
	}
	if x.Outcome != adk.OutcomeOK {
		x.Result, x.Records = nil, nil
	}
	return nil
}

// follow keeps what is derived from a recording in step with what was set.
func (w *whatIf) follow(t target) {
	switch {
	case t.use.Field == adk.FieldDuration: // the timer that was recorded is that of another time: it fires when it is due
		if s := w.edited.StepOf(t.x); s != nil {
			if timer := calls.NoteOf(s, adk.KindTimer); timer != nil {
				timer.At = time.Time{}
			}
		}
		w.times = true
	case t.x.Kind == adk.KindOpenMedia && t.x.Phase == adk.Done:
		data, _ := t.x.Value.([]byte)
		w.edited.Media.Given[t.x.Op] = wire.Opened{Data: data, Err: t.x.Err} // nobody runs yet
	}
}

// cancelBefore cancels the run from outside before a crossing.
func (w *whatIf) cancelBefore(x *adk.Crossing, a Override) ([]compare.FieldDiff, error) {
	if w.recorded.CancelsBefore(x.Seq) {
		return nil, errors.New("the recorded run is cancelled before that already: set the cause of that crossing")
	}
	given, err := w.written(adk.FieldCause, a.Value)
	if err != nil {
		return nil, err
	}
	if string(given) == "null" {
		return nil, errors.New("a cancel needs a reason: give it as the value")
	}
	given = wholeField(target{use: adk.FieldUse{Field: adk.FieldCause}}, a.Value, given)
	c := &adk.Crossing{Seq: x.Seq - 1, At: x.At, Kind: adk.KindCancel, Key: wire.OutsideCancel}
	if err := w.read(c, adk.FieldCause, given); err != nil {
		return nil, err
	}
	c.Err = context.Canceled
	w.cancels = append(w.cancels, c)
	return []compare.FieldDiff{{Field: pathCancel, Got: w.known.Text(adk.FieldCause, c), Input: true}}, nil
}

// moveTo lets a crossing and all behind it happen earlier or later.
func (w *whatIf) moveTo(x *adk.Crossing, a Override) ([]compare.FieldDiff, error) {
	given, err := w.written(adk.FieldDuration, a.Value)
	if err != nil {
		return nil, err
	}
	since, err := sinceBefore(given)
	if err != nil {
		return nil, err
	}
	last := x.At
	if x.Seq > 1 {
		last = w.edited.Lines[x.Seq-2].At
	}
	was := x.At.Sub(last)
	if was == since {
		return nil, nil
	}
	for _, later := range w.edited.Lines[x.Seq-1:] {
		if !later.At.IsZero() {
			later.At = later.At.Add(since - was)
		}
	}
	w.times = true
	return []compare.FieldDiff{{Field: pathAt, Want: compare.QuotedJSON(was.String()), Got: compare.QuotedJSON(since.String()), Input: true}}, nil
}

// sinceBefore reads a duration, or a number of nanoseconds.
func sinceBefore(given []byte) (since time.Duration, err error) {
	if n, err := wire.IntOfJSON(given); err == nil {
		since = time.Duration(n)
	} else if since, err = wire.DurationOfJSON(given); err != nil {
		return 0, errors.New(`the value is no time since the crossing before: want one such as "1.5s", or nanoseconds`)
	}
	if since < 0 {
		return 0, fmt.Errorf("%s is before the crossing before", since)
	}
	return since, nil
}
