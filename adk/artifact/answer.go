package artifact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact/internal/jsonindex"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/internal/jsonfault"
)

// maxAnswer is the greatest length of an answer as JSON, because an answer is held in memory
// several times on its way into a trace and to the model. Text and Bytes return a whole body.
const maxAnswer = 8 << 20

// none is the answer of a question that has no answer, which differs from null.
type none struct{ whose string } // as in recordedAnswer

// encoding is an answer as JSON: compact, as ECMAScript writes it.
type encoding []byte

// recordedAnswer is the answer to a question that crossed. From a trace, it may have any type.
type recordedAnswer struct {
	encoding
	whose string // the question and its artifact, in words
}

// answerLines is an answer that is a list of texts.
type answerLines struct {
	list []string
	size int
}

func (l *answerLines) add(text string) error {
	if err := l.count(text); err != nil {
		return err
	}
	l.list = append(l.list, text)
	return nil
}

// perLine is the memory that a text takes in addition to its bytes.
const perLine = 32

// count counts texts, and fails if they are more than an answer may have.
func (l *answerLines) count(texts ...string) error {
	for _, text := range texts {
		if l.size += perLine + escapedLen(text); l.size > maxAnswer {
			return errTooLong
		}
	}
	return nil
}

// read adds a line of a body.
func (l *answerLines) read(one line) error {
	switch {
	case one.cut || len(one.text) > maxAnswer:
		return errLongLine
	case l.size+len(one.text) > maxAnswer:
		return errTooLong
	}
	return l.add(validText(one.text))
}

// escapedLen returns the greatest length of a text as JSON, without its quotes.
func escapedLen(text string) int {
	n := len(text)
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ':
			n += len(`\u0000`) - 1
		case c == '"' || c == '\\':
			n++
		}
	}
	return n
}

// answerValues is an answer that is a list of values of a document.
type answerValues struct {
	*jsonindex.Walk
	text []byte
}

func (v *answerValues) add(nodes []jsonindex.Node) (err error) {
	for _, node := range nodes {
		if len(v.text) == 0 {
			v.text = append(v.text, '[')
		} else {
			v.text = append(v.text, ',')
		}
		if v.text, err = v.Append(v.text, node, 0, maxAnswer); err != nil {
			return errTooLong
		}
	}
	return nil
}

func (v *answerValues) list() encoding {
	if len(v.text) == 0 {
		return encoding("[]")
	}
	return append(v.text, ']')
}

// encoded returns a list of structs as JSON, with fields in the order of the struct.
func encoded[T any](list []T) (any, error) {
	text := bytes.NewBufferString("[")
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false) // otherwise the limit would count escapes that canonical removes
	for i, item := range list {
		if i > 0 {
			text.WriteByte(',')
		}
		if err := encoder.Encode(item); err != nil {
			return nil, err
		}
		if text.Len() > maxAnswer {
			return nil, errTooLong
		}
	}
	text.WriteByte(']')
	return canonical(ownText(text.Bytes()))
}

// canonical returns a JSON text as ECMAScript writes it.
func canonical(text string) (_ encoding, err error) {
	defer jsonindex.Recover(&err)
	walk := jsonindex.New(text).NewWalk(len(text))
	out, err := walk.Append(nil, walk.At(0), 0, maxAnswer)
	if err != nil {
		return nil, errTooLong
	}
	return out, nil
}

// encode returns an answer as JSON.
func encode(answer any) (encoding, error) {
	switch v := answer.(type) {
	case none:
		return encoding("null"), nil
	case recordedAnswer:
		return v.encoding, nil
	case encoding:
		return v, nil
	case []string:
		if err := new(answerLines).count(v...); err != nil {
			return nil, err
		}
		out := []byte{'['}
		for i, text := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = jsontree.Append(out, text)
		}
		return append(out, ']'), nil
	}
	tree, ok := jsontree.Plain(answer)
	if !ok {
		data, err := json.Marshal(answer)
		if err != nil {
			return nil, fmt.Errorf("the answer is no plain data: %w", err)
		}
		if err := jsontree.Check(string(data), maxAnswerDepth); err != nil {
			return nil, fmt.Errorf("the answer is no plain data: %w", err)
		}
		return canonical(ownText(data))
	}
	out := jsontree.Append(nil, tree)
	if len(out) > maxAnswer {
		return nil, errTooLong
	}
	return out, nil
}

// raws returns the items of a list, each as JSON.
func raws(answer any, err error) (_ []json.RawMessage, failed error) {
	defer jsonindex.Recover(&failed)
	if err != nil {
		return nil, err
	}
	text, err := encode(answer)
	if err != nil {
		return nil, err
	}
	walk := jsonindex.New(ownText(text)).NewWalk(len(text))
	root := walk.At(0)
	if !walk.IsList(root) {
		return nil, misfit(answer, fit(text, new([]any)))
	}
	items := make([]json.RawMessage, 0, walk.Len(root))
	for item := range walk.Children(root) {
		from, size := int(item), walk.Size(item)
		items = append(items, json.RawMessage(text[from:from+size:from+size]))
	}
	return items, nil
}

// listOf returns an answer that is a list of values of one type.
func listOf[T any](answer any, err error) ([]T, error) {
	if values, ok := answer.([]T); ok || err != nil {
		return values, err
	}
	items, err := raws(answer, nil)
	if err != nil {
		return nil, err
	}
	values := make([]T, len(items))
	for i, item := range items {
		if err := fit(item, &values[i]); err != nil {
			return nil, misfit(answer, fmt.Errorf("item %d: %w", i, err))
		}
	}
	return values, nil
}

// valueOf returns an answer that is one value.
func valueOf[T any](answer any, err error) (value T, _ error) {
	if err != nil {
		return value, err
	}
	text, err := encode(answer)
	if err != nil {
		return value, err
	}
	return value, misfit(answer, fit(text, &value))
}

// objectOf returns an answer that is an object, as JSON.
func objectOf(answer any, err error) (encoding, error) {
	if err != nil {
		return nil, err
	}
	text, err := encode(answer)
	if err == nil && text[0] != '{' {
		return nil, misfit(answer, fit(text, new(map[string]any)))
	}
	return text, err
}

// fit reads JSON into a value. null does not fit any type.
func fit[T any](text []byte, value *T) error {
	err := json.Unmarshal(text, value)
	if string(text) == "null" {
		err = &json.UnmarshalTypeError{Value: "null", Type: reflect.TypeFor[T]()}
	}
	return jsonfault.Of(err)
}

// misfit adds to an error whose answer does not fit the type of its question.
func misfit(answer any, err error) error {
	if err == nil {
		return nil
	}
	whose := "the answer"
	switch answer := answer.(type) {
	case recordedAnswer:
		whose = answer.whose
	case none:
		whose = cmp.Or(answer.whose, whose)
	}
	return &adk.Error{Code: adk.E_INVALID_ANSWER, Message: whose + " does not fit", Cause: err}
}

// rendered returns an answer as text (FRG-5).
func rendered(answer any) (_ string, failed error) {
	defer jsonindex.Recover(&failed)
	switch v := answer.(type) {
	case none:
		return "(undefined)", nil
	case string:
		return v, new(answerLines).count(v)
	case int:
		return strconv.Itoa(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case []string:
		return joined(v), new(answerLines).count(v...)
	}
	text, err := encode(answer)
	if err != nil {
		return "", err
	}
	walk := jsonindex.New(ownText(text)).NewWalk(len(text))
	root := walk.At(0)
	switch {
	case text[0] == '"':
		return walk.Scalar(root).(string), nil
	case walk.IsList(root) && !holdsOther(walk, root):
		texts, err := listOf[string](text, nil)
		return joined(texts), err
	}
	const indented = 2 * maxAnswer
	out, err := walk.Append(nil, root, 2, indented)
	if errors.Is(err, jsonindex.ErrTooLong) {
		err = errTooLong
	}
	return ownText(out), err
}

// holdsOther reports whether a list has an item that is no text.
func holdsOther(walk *jsonindex.Walk, list jsonindex.Node) bool {
	for item := range walk.Children(list) {
		if !walk.IsText(item) {
			return true
		}
	}
	return false
}

func joined(texts []string) string {
	if len(texts) == 0 {
		return "(empty list)"
	}
	return strings.Join(texts, "\n")
}

// ownText is validText for bytes that are not shared and not changed any more.
func ownText(data []byte) string {
	if !utf8.Valid(data) {
		return validText(data)
	}
	return jsontree.AsText(data)
}
