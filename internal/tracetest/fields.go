package tracetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// said is a value that contains a word, in one of the places of a field that can contain one.
type said struct {
	Where string
	Value any
}

// Saying returns values of a field of a kind, each of which contains the word in another place: in
// every shape that the field can have, and every part of it.
func Saying(t require.TestingT, kind adk.Kind, f adk.Field, word string) []said {
	one := func(v any) []said { return []said{{Where: "", Value: v}} }
	message, err := adk.NewMessage(adk.MessageInit{ID: "m1", Role: adk.RoleUser, Content: word, CreatedAt: TestStart, UpdatedAt: TestStart})
	require.NoError(t, err)
	media, err := adk.NewUserAttachment(adk.MediaInit{ID: "a1", Kind: adk.MediaImage, MIMEType: "image/png", Filename: word, Reader: adk.MediaBytes([]byte("png"))})
	require.NoError(t, err)
	switch f {
	case adk.FieldSeam:
		return one(adk.Seam{Label: adk.LabelTool, Name: word})
	case adk.FieldTexts:
		return []said{{Where: "only", Value: []string{word}}, {Where: "last", Value: []string{"x", word}}}
	case adk.FieldCollection:
		all := adk.Collections() // all collections, since no others are valid
		return one(all[len(word)%len(all)])
	case adk.FieldRecord:
		return []said{{Where: "message", Value: message}, {Where: "media", Value: media}, {Where: "instruction", Value: adk.NewTokenizable(word)}}
	case adk.FieldRecords:
		return []said{{Where: "only", Value: []adk.Record{message}}, {Where: "last", Value: []adk.Record{adk.NewTokenizable("x"), message}}}
	case adk.FieldValue:
		return []said{{Where: "text", Value: word}, {Where: "in", Value: map[string]any{"a": []any{word}}}, {Where: "key", Value: map[string]any{word: math.NaN()}}, {Where: "record", Value: message},
			{Where: "not finite", Value: []float64{math.NaN(), math.Inf(len(word)%2*2 - 1)}}}
	case adk.FieldArgs:
		return []said{{Where: "object", Value: map[string]any{"a": word}}, {Where: "text", Value: `{"a":"` + word + `"}`}, {Where: "none", Value: []any{word}}, {Where: "not finite", Value: map[string]any{word: math.NaN()}}}
	case adk.FieldResult:
		return []said{{Where: "text", Value: adk.Text(word)}, {Where: "bytes", Value: adk.Bytes(word)}, {Where: "media", Value: media}, {Where: "mediaList", Value: adk.MediaList{media}}}
	case adk.FieldOutcome:
		return one([]adk.Outcome{adk.OutcomeError, adk.OutcomePanic}[len(word)%2])
	case adk.FieldErr, adk.FieldCause:
		return errorsSaying(word)
	case adk.FieldDuration:
		return one(time.Duration(len(word)))
	case adk.FieldSchema:
		return []said{{Where: "const", Value: json.RawMessage(`{"const":"` + word + `"}`)}, {Where: "broken", Value: json.RawMessage("{" + word)}}
	case adk.FieldJSON:
		return []said{{Where: "text", Value: json.RawMessage(`"` + word + `"`)}, {Where: "object", Value: json.RawMessage(`{"a":["` + word + `",1.50],"b":null}`)}, {Where: "broken", Value: json.RawMessage("{" + word)}}
	case adk.FieldDigest:
		return one(adk.DigestOf([]byte(word)))
	case adk.FieldSeams:
		return []said{{Where: "executor", Value: &adk.RunInfo{Executor: word}}, {Where: "middleware", Value: &adk.RunInfo{DispatchOutput: []string{word}}}}
	case adk.FieldPayload:
		return eventsSaying(t, kind, word)
	}
	return one(plainSaying(t, f, word))
}

// plainSaying returns a text, a number or a boolean for a word, for a field that is simply of that
// type.
func plainSaying(t require.TestingT, f adk.Field, word string) any {
	field, _ := reflect.TypeFor[adk.Crossing]().FieldByName(f.String())
	switch field.Type {
	case reflect.TypeFor[string]():
		return word
	case reflect.TypeFor[int]():
		return len(word)
	case reflect.TypeFor[bool]():
		return len(word)%2 == 1
	}
	require.Fail(t, "nobody says what is in it", f)
	return nil
}

func errorsSaying(word string) []said {
	return []said{
		{Where: "text", Value: errors.New(word)},
		{Where: "message", Value: &adk.Error{Code: adk.E_TOOL_DOWNSTREAM_ERROR, Message: word}},
		{Where: "name", Value: &adk.Error{Code: adk.E_TOOL_DOWNSTREAM_ERROR, Name: word}},
		{Where: "fault's path", Value: &adk.Error{Code: adk.E_INVALID_TOOL_ARGS, Faults: []adk.Fault{{Path: "/" + word, Keyword: "type", Message: "is no text"}}}},
		{Where: "fault's keyword", Value: &adk.Error{Code: adk.E_INVALID_TOOL_ARGS, Faults: []adk.Fault{{Keyword: word}}}},
		{Where: "fault's message", Value: &adk.Error{Code: adk.E_INVALID_TOOL_ARGS, Faults: []adk.Fault{{}, {Message: word}}}},
		{Where: "cause", Value: fmt.Errorf("x: %w", errors.New(word))},
		{Where: "second cause", Value: errors.Join(errors.New("x"), errors.New(word))},
		{Where: "panic", Value: &adk.PanicError{Value: word}},
	}
}

// eventsSaying returns events that user code may emit, each with the word in another field.
func eventsSaying(t require.TestingT, kind adk.Kind, word string) (all []said) {
	require.True(t, kind.Emits(), kind)
	event := reflect.TypeOf(kind.Event().Payload())
	for _, field := range reflect.VisibleFields(event) {
		if field.Anonymous {
			continue
		}
		v := reflect.New(event).Elem()
		switch at := v.FieldByIndex(field.Index).Addr().Interface().(type) {
		case *string:
			*at = word
		case *int:
			*at = len(word)
		case *bool:
			*at = len(word)%2 == 1
		case *time.Time:
			*at = TestStart.Add(time.Duration(len(word)))
		case *map[string]any:
			*at = map[string]any{"a": word}
		case *adk.ToolResult:
			*at = adk.Text(word)
		default:
			require.Fail(t, "nobody says what is in it", field.Name)
		}
		all = append(all, said{Where: field.Name, Value: v.Interface()})
	}
	return all
}

// With returns a crossing with a value in a field.
func With(x adk.Crossing, f adk.Field, v any) adk.Crossing {
	reflect.ValueOf(&x).Elem().FieldByName(f.String()).Set(reflect.ValueOf(v))
	return x
}

// full returns a crossing of a kind with a value in every field.
func full(t *testing.T, kind adk.Kind, phase adk.Phase) adk.Crossing {
	x := adk.Crossing{Kind: kind, Phase: phase, At: TestStart}
	for _, use := range kind.Fields(phase) {
		x = With(x, use.Field, Saying(t, kind, use.Field, "first")[0].Value)
	}
	return x
}

// EachUse calls give for every field of every kind in every phase, with a crossing that has all of
// its fields.
func EachUse(t *testing.T, give func(t *testing.T, x adk.Crossing, use adk.FieldUse)) {
	for _, kind := range adk.Kinds() {
		for _, phase := range []adk.Phase{adk.Whole, adk.Begin, adk.Done} {
			for _, use := range kind.Fields(phase) {
				t.Run(fmt.Sprintf("%s %s %s", kind, phase, use.Label), func(t *testing.T) {
					give(t, full(t, kind, phase), use)
				})
			}
		}
	}
}
