package tracetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"reflect"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	_ "github.com/adkreplay/adkreplay/internal/draws"
)

// This file draws crossings with all fields of their kinds.

// ErrSoldOut is an error that user code would name.
var ErrSoldOut = errors.New("sold out")

// testSentinels are what user code would name.
var testSentinels = map[string]error{"shop.ErrSoldOut": ErrSoldOut}

// TestStart is the time at which the runs of tests begin.
var TestStart = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// DrawText draws a text of any characters, of hostile ones, or of any bytes.
func DrawText(t *rapid.T, label string) string {
	return rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"", "a", "<b>&\u2028\x00\"\\", "\xff\xfe", "half a rune \xe2\x82", "{\"$string\":\"\"}"}),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	).Draw(t, label)
}

func drawTexts(t *rapid.T, label string) []string {
	if rapid.Bool().Draw(t, label+" nil") {
		return nil
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return DrawText(t, label) }), 0, 3).Draw(t, label)
}

func drawWord(t *rapid.T, label string) string {
	return rapid.StringMatching(`[a-zA-Z][a-z0-9_-]{0,8}`).Draw(t, label)
}

func drawTime(t *rapid.T, label string) time.Time {
	return TestStart.Add(time.Duration(rapid.Int64Range(0, math.MaxInt64/2).Draw(t, label)))
}

func drawMedia(t *rapid.T) *adk.Media {
	media, err := adk.NewUserAttachment(adk.MediaInit{
		ID: drawWord(t, "media id"), Kind: adk.MediaImage, MIMEType: "image/png", Filename: "a.png",
		Reader: adk.MediaBytes([]byte("png")),
	})
	require.NoError(t, err)
	return media
}

func drawRecord(t *rapid.T) adk.Record {
	id := drawWord(t, "id")
	var r adk.Record
	var err error
	switch rapid.IntRange(0, 4).Draw(t, "record kind") {
	case 0:
		r, err = adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleUser, Content: "hi <b> " + id, CreatedAt: TestStart, UpdatedAt: TestStart})
	case 1:
		r, err = adk.NewToolCall(adk.ToolCallInit{ID: id, Tool: "search", Args: map[string]any{"q": id, "n": 1.5}, Results: adk.Text("found"), CreatedAt: TestStart, UpdatedAt: TestStart, CompletedAt: TestStart})
	case 2:
		r, err = adk.NewTool(adk.ToolInit{Name: id, Description: "does", InputSchema: json.RawMessage(`{"type":"object"}`), Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return nil, nil
		}})
	case 3:
		r = drawMedia(t)
	default:
		r = adk.Text(id)
	}
	require.NoError(t, err)
	return r
}

// drawPlain draws a value that usually is plain data.
func drawPlain(t *rapid.T, depth int) any {
	most := 12
	if depth <= 0 {
		most = 9
	}
	switch rapid.IntRange(0, most).Draw(t, "plain") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.Int().Draw(t, "int")
	case 3:
		return rapid.Float64().Draw(t, "float")
	case 4:
		return rapid.Uint8().Draw(t, "uint8")
	case 5:
		return drawTime(t, "time")
	case 6:
		return time.Duration(rapid.Int64().Draw(t, "duration"))
	case 7:
		return rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
	case 8:
		return make(chan int)
	case 9:
		return DrawText(t, "text")
	case 10:
		return adk.Record(drawRecord(t))
	case 11:
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "len"))
		for i := range list {
			list[i] = drawPlain(t, depth-1)
		}
		return list
	default:
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "len") {
			object[DrawText(t, "key")] = drawPlain(t, depth-1)
		}
		return object
	}
}

func drawArgs(t *rapid.T) any {
	switch rapid.IntRange(0, 6).Draw(t, "args") {
	case 0:
		return nil
	case 1:
		return `{"a":1}`
	case 2:
		return DrawText(t, "args text")
	case 3:
		return map[string]any{"f": func() {}}
	case 4:
		return rapid.Int().Draw(t, "args int")
	case 5:
		return []any{1, "a"}
	default:
		return drawObject(t)
	}
}

func drawObject(t *rapid.T) map[string]any {
	object := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "len") {
		object[drawWord(t, "key")] = rapid.SampledFrom([]any{nil, true, 1.5, -7.0, "x", []any{}, map[string]any{"$opaque": "x"}}).Draw(t, "value")
	}
	return object
}

func drawResult(t *rapid.T) adk.ToolResult {
	switch rapid.IntRange(0, 4).Draw(t, "result") {
	case 0:
		return adk.Text(DrawText(t, "result text"))
	case 1:
		return adk.Bytes(rapid.SliceOf(rapid.Byte()).Draw(t, "result bytes"))
	case 2:
		return drawMedia(t)
	case 3:
		return adk.MediaList{drawMedia(t), drawMedia(t)}
	default:
		return nil
	}
}

// ClaimsToBe is an error with an Is method that returns true for Target.
type ClaimsToBe struct{ Target error }

// Error returns a meaningless text.
func (e ClaimsToBe) Error() string { return "claims" }

// Is reports whether target is the Target.
func (e ClaimsToBe) Is(target error) bool { return target == e.Target }

func drawError(t *rapid.T, depth int) error {
	if depth <= 0 {
		return rapid.SampledFrom([]error{
			io.EOF, context.Canceled, context.DeadlineExceeded, ErrSoldOut, fs.ErrNotExist,
			errors.New("boom"), errors.New(""), adk.E_TURN_ABORTED, adk.Code("E_OF_USERS"), ClaimsToBe{ErrSoldOut},
			&adk.PanicError{Value: 7}, &adk.PanicError{Value: nil},
		}).Draw(t, "leaf")
	}
	inner := func() error { return drawError(t, depth-1-rapid.IntRange(0, 1).Draw(t, "less")) }
	switch rapid.IntRange(0, 5).Draw(t, "error") {
	case 0:
		return &adk.Error{Code: adk.E_TOOL_DOWNSTREAM_ERROR, Message: DrawText(t, "message"), Stage: adk.LabelTurnInput, Name: DrawText(t, "name"), Cause: inner()}
	case 1:
		return fmt.Errorf("%s: %w", DrawText(t, "prefix"), inner())
	case 2:
		return errors.Join(inner(), inner())
	case 3:
		return fmt.Errorf("%w and %w", inner(), inner())
	case 4:
		return &adk.PanicError{Value: inner()}
	default:
		return inner()
	}
}

func drawSeam(t *rapid.T) adk.Seam {
	labels := []string{adk.LabelRun, adk.LabelDispatch, adk.LabelTurnInput, adk.LabelTurnOutput, adk.LabelDispatchInput,
		adk.LabelDispatchOutput, adk.LabelExecutor, adk.LabelTool, adk.LabelStorage, adk.LabelOnAck, adk.LabelStrand}
	s := adk.Seam{Label: rapid.SampledFrom(labels).Draw(t, "label")}
	switch s.Label {
	case adk.LabelRun:
	case adk.LabelDispatchInput, adk.LabelDispatchOutput, adk.LabelExecutor:
		s.Iteration = rapid.IntRange(0, 99).Draw(t, "iteration")
		fallthrough
	default:
		s.Name = rapid.SampledFrom([]string{"a", "a/b", "x#1", "\"quoted\"", "messages.store", "naïve", "\xff"}).Draw(t, "seam name")
	}
	return s
}

func drawStream(t *rapid.T) adk.StreamUpdate {
	return adk.StreamUpdate{
		Origin: adk.Origin{TurnID: DrawText(t, "turn"), DispatchID: DrawText(t, "dispatch"), Iteration: rapid.Int().Draw(t, "iteration")},
		ID:     DrawText(t, "id"), CreatedAt: drawTime(t, "created"), UpdatedAt: drawTime(t, "updated"),
		Delta: DrawText(t, "delta"), Full: DrawText(t, "full"), Complete: rapid.Bool().Draw(t, "complete"),
	}
}

func drawPayload(t *rapid.T, kind adk.Kind) any {
	switch kind.Event().Payload().(type) {
	case adk.MessageEvent:
		return adk.MessageEvent(drawStream(t))
	case adk.ThoughtEvent:
		return adk.ThoughtEvent(drawStream(t))
	default:
		return adk.ToolCallEvent{
			Origin: adk.Origin{TurnID: DrawText(t, "turn")}, ID: DrawText(t, "id"), Tool: DrawText(t, "tool"), Args: drawObject(t),
			Checksum: DrawText(t, "checksum"), Results: drawResult(t), IsError: rapid.Bool().Draw(t, "isError"),
			CreatedAt: drawTime(t, "created"), Complete: true, CompletedAt: drawTime(t, "completed"),
		}
	}
}

// DrawCrossing draws a crossing of a kind with all of its fields.
func DrawCrossing(t *rapid.T, k adk.Kind, p adk.Phase) adk.Crossing {
	c := adk.Crossing{Kind: k, Phase: p, At: drawTime(t, "at")}
	c.Call, c.Strand, c.Op = rapid.Int().Draw(t, "in"), rapid.Int().Draw(t, "strand"), rapid.Int().Draw(t, "op")
	for _, use := range k.Fields(p) {
		drawField(t, &c, use.Field)
	}
	return c
}

func drawField(t *rapid.T, c *adk.Crossing, f adk.Field) {
	switch f {
	case adk.FieldSeam:
		c.Seam = drawSeam(t)
	case adk.FieldTexts:
		c.Texts = drawTexts(t, "texts")
	case adk.FieldCollection:
		c.Collection = rapid.SampledFrom(append(adk.Collections(), "")).Draw(t, "collection")
	case adk.FieldRecord:
		c.Record = drawRecord(t)
	case adk.FieldRecords:
		c.Records = rapid.SliceOfN(rapid.Custom(drawRecord), 0, 3).Draw(t, "records")
	case adk.FieldValue:
		c.Value = drawPlain(t, 3)
	case adk.FieldArgs:
		c.Args = drawArgs(t)
	case adk.FieldResult:
		c.Result = drawResult(t)
	case adk.FieldOutcome:
		c.Outcome = rapid.SampledFrom([]adk.Outcome{adk.OutcomeOK, adk.OutcomeError, adk.OutcomePanic, adk.OutcomeGoexit}).Draw(t, "outcome")
	case adk.FieldErr:
		c.Err = drawError(t, 4)
	case adk.FieldCause:
		c.Cause = drawError(t, 2)
	case adk.FieldDuration:
		c.Duration = time.Duration(rapid.Int64().Draw(t, "duration"))
	case adk.FieldSchema:
		c.Schema = json.RawMessage(rapid.SampledFrom([]string{"", `{"type":"object"}`, "{\n \"a\": [1]}", "{broken", "\xff", `{"$json":1}`, `{"$jsonx":1}`, "null"}).Draw(t, "schema"))
	case adk.FieldJSON:
		c.JSON = json.RawMessage(rapid.SampledFrom([]string{`{"a":[1.50,null]}`, "{broken", `{"$json":1}`, "null", `{"a":1,"a":2}`}).Draw(t, "json"))
	case adk.FieldDigest:
		c.Digest = adk.DigestOf([]byte(DrawText(t, "digest")))
	case adk.FieldSeams:
		if rapid.Bool().Draw(t, "seams") {
			c.Seams = &adk.RunInfo{Executor: DrawText(t, "executor"), TurnInput: []string{}, TurnOutput: []string{},
				DispatchInput: []string{DrawText(t, "middleware")}, DispatchOutput: []string{}}
		}
	case adk.FieldPayload:
		c.Payload = drawPayload(t, c.Kind)
	default:
		drawPlainField(t, c, f)
	}
}

// drawPlainField draws a text, a number or a boolean. For a field of another type it draws one of
// the values that Saying knows.
func drawPlainField(t *rapid.T, c *adk.Crossing, f adk.Field) {
	switch at := reflect.ValueOf(c).Elem().FieldByName(f.String()).Addr().Interface().(type) {
	case *string:
		*at = DrawText(t, f.String())
	case *int:
		*at = rapid.Int().Draw(t, f.String())
	case *bool:
		*at = rapid.Bool().Draw(t, f.String())
	default:
		word := rapid.SampledFrom([]string{"one", "four"}).Draw(t, f.String())
		*c = With(*c, f, rapid.SampledFrom(Saying(t, c.Kind, f, word)).Draw(t, word).Value)
	}
}
