package whatif

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file replaces a value in a crossing. It reads a whole field with the field's row, and a part
// of a field by changing the field as a JSON tree first.

// put changes a field of a crossing.
func (w *whatIf) put(t target, value any) error {
	given, err := w.written(t, value)
	if err != nil {
		return err
	}
	if given, err = w.spelled(t, given); err != nil {
		return err
	}
	after := *t.x
	if err := w.fields.Read(t.use.Field, &after, given, w.recordKind(t)); err != nil {
		return err
	}
	if w.known.Same(t.use.Field, t.x, &after) {
		return nil
	}
	if err := consistent(&after, t.use.Field); err != nil {
		return err
	}
	*t.x = after
	w.follow(t)
	return nil
}

// written returns a value as the JSON that a trace has at t. The value has the type of the field,
// or is an error, a record or similar within the field, or plain data.
func (w *whatIf) written(t target, value any) ([]byte, error) {
	whole := t.rest == ""
	if raw, ok := value.(json.RawMessage); ok && !(whole && t.use.Field == adk.FieldSchema) {
		if !json.Valid(raw) {
			return nil, errors.New("the value is not JSON")
		}
		return bytes.TrimSpace(raw), nil
	}
	as := []adk.Field{t.use.Field, adk.FieldErr, adk.FieldRecords, adk.FieldRecord, adk.FieldResult, adk.FieldDuration, adk.FieldValue}
	if !whole {
		as = as[1:]
	}
	for _, f := range as {
		var x adk.Crossing
		x.Kind = t.x.Kind
		if value == nil || !assigned(&x, f, value) {
			continue
		}
		if text, err := w.fields.Append(f, &x); err != nil || len(text) > 0 {
			return text, err
		}
	}
	return []byte("null"), nil
}

// assigned assigns a value to a field of a crossing. It reports whether the value has the field's
// type.
func assigned(x *adk.Crossing, f adk.Field, value any) bool {
	field, v := reflect.ValueOf(x).Elem().FieldByName(f.String()), reflect.ValueOf(value)
	if !v.Type().AssignableTo(field.Type()) {
		return false
	}
	field.Set(v)
	return true
}

// spelled returns the JSON of the whole field with the given value in it, in the form in which the
// field is read.
func (w *whatIf) spelled(t target, given []byte) ([]byte, error) {
	if t.rest == "" {
		return bare(t, given), nil
	}
	old, err := w.tree(t.use, t.x)
	if err != nil {
		return nil, err
	}
	inside, err := treeOf(given)
	if err != nil {
		return nil, err
	}
	changed, err := within(old, t.rest, inside)
	if err != nil {
		return nil, err
	}
	return json.Marshal(changed)
}

// bare converts a whole field from the form that people write to the form in which it is read.
func bare(t target, given []byte) []byte {
	if row := wire.FieldRows[t.use.Field]; row.Bare != nil {
		return row.Bare(given)
	}
	var text string
	if wire.OpensMedia(t.x) && t.use.Field == adk.FieldValue && given[0] == '"' && json.Unmarshal(given, &text) == nil {
		return plain.AppendJSON(nil, []byte(text))
	}
	return given
}

// recordKind returns the kind of the records of a field for records that do not say theirs. It is
// the kind of the records that are there, or that the collection holds.
func (w *whatIf) recordKind(t target) adk.RecordKind {
	switch x := t.x; {
	case t.use.Field == adk.FieldResult:
		return adk.RecordMedia
	case x.Record != nil:
		return x.Record.RecordKind()
	case len(x.Records) > 0:
		return x.Records[0].RecordKind()
	}
	return wire.CollectionOf(w.recorded.SeamOf(t.x)).Holds()
}

// tree returns a field as a tree.
func (w *whatIf) tree(use adk.FieldUse, x *adk.Crossing) (any, error) {
	text, err := w.fields.Append(use.Field, x)
	if err != nil || len(text) == 0 {
		return nil, err
	}
	return treeOf(text)
}

// treeOf decodes JSON and keeps numbers as they are written.
func treeOf(text []byte) (tree any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&tree)
	return tree, err
}

// within returns a tree with another value at a path.
func within(tree any, path string, value any) (any, error) {
	if path == "" {
		return value, nil
	}
	switch t := tree.(type) {
	case nil:
		return within(map[string]any{}, path, value)
	case map[string]any:
		if kind, record, ok := recordIn(t); ok {
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
	case string: // arguments may be JSON text
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

// withinList changes the element with an index, or the record with a key. The index after the last
// element appends one.
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

// recordIn returns the record in a trace's form of one.
func recordIn(t map[string]any) (kind string, record any, ok bool) {
	if _, ok := t["#"]; !ok || len(t) != 2 {
		return "", nil, false
	}
	for kind, record := range t {
		if kind != "#" {
			return kind, record, true
		}
	}
	return "", nil, false
}

// keyIn returns the id, or the name, of a record in a tree.
func keyIn(tree any) string {
	t, _ := tree.(map[string]any)
	if _, record, ok := recordIn(t); ok {
		t, _ = record.(map[string]any)
	}
	for _, key := range []string{"id", "name"} {
		if text, ok := t[key].(string); ok {
			return text
		}
	}
	return ""
}

// consistent makes the other fields of a return or a settlement fit the field that was set. With an
// error there is no result, and with a result no error.
func consistent(x *adk.Crossing, set adk.Field) error {
	switch {
	case x.Kind == adk.KindReturn:
		return consistentReturn(x, set)
	case wire.IsSettlement(x):
		switch {
		case set == adk.FieldErr && x.Err != nil:
			x.Status, x.Value = adk.GateRejected, nil
		case set == adk.FieldValue || set == adk.FieldErr:
			x.Status, x.Err = adk.GateResolved, nil
		case set == adk.FieldStatus && !slices.Contains([]string{adk.GateResolved, adk.GateRejected, adk.GateAborted}, x.Status):
			return fmt.Errorf("somebody outside can make it %s, %s or %s, and not %s", adk.GateResolved, adk.GateRejected, adk.GateAborted, safetext.PlainName(x.Status))
		}
	case wire.OpensMedia(x):
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

func consistentReturn(x *adk.Crossing, set adk.Field) error {
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

// follow updates what was derived from the recording after a field was set.
func (w *whatIf) follow(t target) {
	switch {
	case t.use.Field == adk.FieldDuration: // the recorded time of the timer no longer applies: it fires when it is due
		if s := w.edited.StepOf(t.x); s != nil {
			if timer := s.Timer(); timer != nil {
				timer.At = time.Time{}
			}
		}
		w.times = true
	case wire.OpensMedia(t.x) && t.x.Phase == adk.Done:
		data, _ := t.x.Value.([]byte)
		w.edited.Media.Given[t.x.Op] = wire.Opened{Data: data, Err: t.x.Err} // no run is reading it yet
	}
}

// cancelBefore cancels the run from outside before a crossing.
func (w *whatIf) cancelBefore(x *adk.Crossing, a Override) ([]compare.FieldDiff, error) {
	if w.recorded.CancelsBefore(x.Seq) {
		return nil, errors.New("the recorded run is cancelled before that already: set the cause of that crossing")
	}
	given, err := w.written(target{x: x, use: adk.FieldUse{Field: adk.FieldCause}}, a.Value)
	if err != nil {
		return nil, err
	}
	if string(given) == "null" {
		return nil, errors.New("a cancel needs a reason: give it as the value")
	}
	c := wire.NewOutsideCancel(x.Seq-1, x.At)
	if err := w.fields.Read(adk.FieldCause, c, wire.FieldRows[adk.FieldCause].Bare(given), ""); err != nil {
		return nil, err
	}
	c.Err = context.Canceled
	w.cancels = append(w.cancels, c)
	return []compare.FieldDiff{{Field: pathCancel, Got: w.known.Text(adk.FieldCause, c), Input: true}}, nil
}

// moveTo moves a crossing and all later ones in time.
func (w *whatIf) moveTo(x *adk.Crossing, a Override) ([]compare.FieldDiff, error) {
	given, err := w.written(target{x: x, use: adk.FieldUse{Field: adk.FieldDuration}}, a.Value)
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

// sinceBefore parses a duration, or a number of nanoseconds.
func sinceBefore(given []byte) (since time.Duration, err error) {
	if n, err := wire.Int64OfJSON(given); err == nil {
		since = time.Duration(n)
	} else if since, err = wire.DurationOfJSON(given); err != nil {
		return 0, errors.New(`the value is no time since the crossing before: want one such as "1.5s", or nanoseconds`)
	}
	if since < 0 {
		return 0, fmt.Errorf("%s is before the crossing before", since)
	}
	return since, nil
}
