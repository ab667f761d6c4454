package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// said is a value that says a word, in one of the places of a field in which a
// word can be.
type said struct {
	where string
	value any
}

// saying are the values of a field of a kind, each of which says the word in one
// place: in every shape that the field can have, and every part of it.
func saying(t *testing.T, kind adk.Kind, f adk.Field, word string) []said {
	one := func(v any) []said { return []said{{"", v}} }
	message, err := adk.NewMessage(adk.MessageInit{ID: "m1", Role: adk.RoleUser, Content: word, CreatedAt: testStart, UpdatedAt: testStart})
	require.NoError(t, err)
	media, err := adk.NewUserAttachment(adk.MediaInit{ID: "a1", Kind: adk.MediaImage, MIMEType: "image/png", Filename: word, Reader: adk.MediaBytes([]byte("png"))})
	require.NoError(t, err)
	switch f {
	case adk.FieldID, adk.FieldN:
		return one(len(word))
	case adk.FieldFlag, adk.FieldIsError:
		return one(len(word)%2 == 1)
	case adk.FieldSeam:
		return one(adk.Seam{Label: adk.LabelTool, Name: word})
	case adk.FieldName, adk.FieldKey, adk.FieldText, adk.FieldStatus:
		return one(word)
	case adk.FieldTexts:
		return []said{{"only", []string{word}}, {"last", []string{"x", word}}}
	case adk.FieldCollection:
		return one(adk.CollectionName(word))
	case adk.FieldRecord:
		return []said{{"message", message}, {"media", media}, {"instruction", adk.NewTokenizable(word)}}
	case adk.FieldRecords:
		return []said{{"only", []adk.Record{message}}, {"last", []adk.Record{adk.NewTokenizable("x"), message}}}
	case adk.FieldValue:
		return []said{{"text", word}, {"in", map[string]any{"a": []any{word}}}, {"key", map[string]any{word: math.NaN()}}, {"record", message},
			{"not finite", []float64{math.NaN(), math.Inf(len(word)%2*2 - 1)}}}
	case adk.FieldArgs:
		return []said{{"object", map[string]any{"a": word}}, {"text", `{"a":"` + word + `"}`}, {"none", []any{word}}, {"not finite", map[string]any{word: math.NaN()}}}
	case adk.FieldResult:
		return []said{{"text", adk.Text(word)}, {"bytes", adk.Bytes(word)}, {"media", media}, {"mediaList", adk.MediaList{media}}}
	case adk.FieldOutcome:
		return one([]adk.Outcome{adk.OutcomeError, adk.OutcomePanic}[len(word)%2])
	case adk.FieldErr, adk.FieldCause:
		return errorsSaying(word)
	case adk.FieldDuration:
		return one(time.Duration(len(word)))
	case adk.FieldSchema:
		return []said{{"const", json.RawMessage(`{"const":"` + word + `"}`)}, {"broken", json.RawMessage("{" + word)}}
	case adk.FieldDigest:
		return one(adk.DigestOf([]byte(word)))
	case adk.FieldSeams:
		return []said{{"executor", &adk.RunInfo{Executor: word}}, {"middleware", &adk.RunInfo{DispatchOutput: []string{word}}}}
	case adk.FieldPayload:
		return eventsSaying(t, kind, word)
	}
	require.Fail(t, "nobody says what is in it", f)
	return nil
}

func errorsSaying(word string) []said {
	return []said{
		{"text", errors.New(word)},
		{"message", &adk.Error{Code: adk.E_TOOL_DOWNSTREAM_ERROR, Message: word}},
		{"name", &adk.Error{Code: adk.E_TOOL_DOWNSTREAM_ERROR, Name: word}},
		{"cause", fmt.Errorf("x: %w", errors.New(word))},
		{"second cause", errors.Join(errors.New("x"), errors.New(word))},
		{"panic", &adk.PanicError{Value: word}},
	}
}

// eventsSaying are events that user code emits, each with the word in another
// field.
func eventsSaying(t *testing.T, kind adk.Kind, word string) (all []said) {
	event := map[adk.Kind]reflect.Type{adk.KindEmitMessage: reflect.TypeFor[adk.MessageEvent](),
		adk.KindEmitThought: reflect.TypeFor[adk.ThoughtEvent](), adk.KindEmitToolCall: reflect.TypeFor[adk.ToolCallEvent]()}[kind]
	require.NotNil(t, event, kind)
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
			*at = testStart.Add(time.Duration(len(word)))
		case *map[string]any:
			*at = map[string]any{"a": word}
		case *adk.ToolResult:
			*at = adk.Text(word)
		default:
			require.Fail(t, "nobody says what is in it", field.Name)
		}
		all = append(all, said{field.Name, v.Interface()})
	}
	return all
}

// with is a crossing with a value in a field.
func with(x adk.Crossing, f adk.Field, v any) adk.Crossing {
	reflect.ValueOf(&x).Elem().FieldByName(f.String()).Set(reflect.ValueOf(v))
	return x
}

// full is a crossing of a kind with something in every field.
func full(t *testing.T, kind adk.Kind, phase adk.Phase) adk.Crossing {
	x := adk.Crossing{Kind: kind, Phase: phase, At: testStart}
	for _, use := range kind.Fields(phase) {
		x = with(x, use.Field, saying(t, kind, use.Field, "first")[0].value)
	}
	return x
}

// eachUse gives every field of every kind at every phase, in a crossing that has
// all of its fields.
func eachUse(t *testing.T, give func(t *testing.T, x adk.Crossing, use adk.FieldUse)) {
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

// DET-4: every field of a crossing has a row, which is about this field and no
// other.
func TestEveryFieldHasARow(t *testing.T) {
	for f := adk.Field(1); f.String() != "unknown"; f++ {
		require.Less(t, int(f), len(fieldRows), f)
		row := fieldRows[f]
		for _, v := range saying(t, adk.KindEmitMessage, f, "first") {
			x := with(adk.Crossing{Kind: adk.KindEmitMessage}, f, v.value)
			assert.True(t, row.same(comparer{onlyCommon}, &x, &x), "%s %s", f, v.where)
			assert.False(t, row.same(comparer{onlyCommon}, &x, &adk.Crossing{}), "%s %s", f, v.where)
			row.zero(&x)
			empty := adk.Crossing{Kind: adk.KindEmitMessage}
			if f == adk.FieldOutcome {
				empty.Outcome = adk.OutcomeOK
			}
			assert.Equal(t, empty, x, "%s %s", f, v.where)
		}
	}
	assert.Equal(t, len(fieldRows), int(adk.FieldPayload)+1)
}

// DET-4: whatever field of whatever crossing says something else, or nothing any
// more, is written and read as it is, and comparison names it and nothing more.
func TestEveryFieldIsWrittenReadAndCompared(t *testing.T) {
	eachUse(t, func(t *testing.T, x adk.Crossing, use adk.FieldUse) {
		before, after := saying(t, x.Kind, use.Field, "first"), saying(t, x.Kind, use.Field, "second")
		for i := range before {
			want, got, none := with(x, use.Field, before[i].value), with(x, use.Field, after[i].value), x
			fieldRows[use.Field].zero(&none)
			read := readTrace(t, writeTrace(t, want, got, none, want))
			for j, was := range []adk.Crossing{want, got, none, want} {
				assert.Empty(t, CompareCrossings(&was, &read.Lines[j].Crossing), before[i].where)
			}
			for _, other := range []*adk.Crossing{&got, &none, &read.Lines[1].Crossing, &read.Lines[2].Crossing} {
				diffs := CompareCrossings(&want, other)
				require.Len(t, diffs, 1, before[i].where)
				assert.Equal(t, use.Label, diffs[0].Field, before[i].where)
				assert.NotEqual(t, diffs[0].Want, diffs[0].Got, before[i].where)
				assert.Equal(t, use.Input, diffs[0].Input, before[i].where)
			}
		}
	})
}

// An event whose time no trace can hold is opaque as a whole, and a record in it
// is still to be written.
func TestAnEventThatCannotBeWrittenNumbersNoRecord(t *testing.T) {
	media := saying(t, adk.KindReturn, adk.FieldRecord, "first")[1].value.(*adk.Media)
	late := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	read := readTrace(t, writeTrace(t,
		adk.Crossing{Kind: adk.KindEmitToolCall, Phase: adk.Begin, At: testStart, Payload: adk.ToolCallEvent{Results: media, CompletedAt: late}},
		adk.Crossing{Kind: adk.KindReturn, At: testStart, Outcome: adk.OutcomeOK, Result: media}))
	assert.Contains(t, fmt.Sprint(read.Lines[0].Payload), "ToolCallEvent")
	assert.Equal(t, media.Digest(), read.Lines[1].Result.(*adk.Media).Digest())
}
