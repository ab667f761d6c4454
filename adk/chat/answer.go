package chat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
)

// answer is a model's answer, as far as it has arrived. It is reported while it arrives, and stored
// by keep.
type answer struct {
	*iteration
	piecewise bool   // the answer is a stream, reported while it arrives
	id        string // of message and thought; set when first needed (ANS-3)

	calls    Accumulator
	message  strings.Builder // of an answer that is not a stream
	thoughts map[string]*strings.Builder
	field    string // the field whose reasoning is reported

	sawMessage, sawThought, sawRefusal, sawOthers, sawDone bool

	responseID, model, finish string
	usage                     json.RawMessage
}

// chunk is an answer that is not a stream, or a part of a stream.
type chunk struct {
	ID      string           `json:"id"`
	Model   string           `json:"model"`
	Choices []choice         `json:"choices"`
	Usage   *json.RawMessage `json:"usage"`
	Error   *json.RawMessage `json:"error"`
}

type choice struct {
	Index        *int             `json:"index"`
	Delta        *said            `json:"delta"`
	Message      *said            `json:"message"`
	FinishReason string           `json:"finish_reason"`
	Error        *json.RawMessage `json:"error"`
}

// said is what a chunk adds, or a whole message.
type said struct {
	Content          words      `json:"content"`
	Refusal          words      `json:"refusal"`
	Reasoning        words      `json:"reasoning"`
	ReasoningContent words      `json:"reasoning_content"`
	ToolCalls        []wireCall `json:"tool_calls"`
}

type wireCall struct {
	Index    *int  `json:"index"`
	ID       words `json:"id"`
	Type     words `json:"type"`
	Function struct {
		Name      words `json:"name"`
		Arguments words `json:"arguments"`
	} `json:"function"`
}

// words is a text that providers write in several ways: as a string; as null, which is empty; or as
// a list of parts, of which those of type text count. Any other JSON is taken as it is.
type words string

// UnmarshalJSON reads each of these forms.
func (w *words) UnmarshalJSON(data []byte) error {
	switch {
	case string(data) == "null":
		*w = ""
	case data[0] == '"':
		if plain := data[1 : len(data)-1]; isPlain(plain) {
			*w = words(plain)
			return nil
		}
		var text string
		err := json.Unmarshal(data, &text)
		*w = words(text)
		return err
	case data[0] == '[':
		var parts []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		_ = json.Unmarshal(data, &parts) // parts of another shape have no text
		for _, part := range parts {
			if part.Type == "text" {
				*w += words(part.Text)
			}
		}
	default:
		*w = words(data)
	}
	return nil
}

// isPlain reports whether the inside of a JSON string is the text itself. That is so for nearly
// all, and decoding them would take half of the time of reading a stream.
func isPlain(text []byte) bool {
	return bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text)
}

// reasoning returns the reasoning in a field.
func (s *said) reasoning(field string) string {
	if field == "reasoning" {
		return string(s.Reasoning)
	}
	return string(s.ReasoningContent)
}

// read replaces the chunk by a payload. ok is false if the payload is no JSON object. A member of a
// wrong type is ignored.
func (c *chunk) read(data []byte) (ok bool) {
	choices := c.Choices[:cap(c.Choices)]
	clear(choices) // remove what the last payload set
	*c = chunk{Choices: choices[:0]}
	err := json.Unmarshal(data, c)
	if _, wrongType := errors.AsType[*json.UnmarshalTypeError](err); wrongType {
		err = nil
	}
	return err == nil && len(data) > 0 && data[0] == '{'
}

// read reads an answer with a success status, a stream or not.
func (it *iteration) read(resp *http.Response, attempt int) (*answer, *failure) {
	a := &answer{iteration: it, calls: it.helpers.Accumulator()}
	from := &bounded{from: resp.Body, left: mostOfAnswer}
	if !it.stream {
		return a, a.readWhole(from, attempt)
	}
	body := bufio.NewReaderSize(from, 512)
	if isStream(resp, body) {
		return a, a.readStream(body, attempt)
	}
	return a, a.readWhole(body, attempt)
}

// isStream reports whether an answer is a stream, by its beginning (SSE-11). If the content type
// says that it is one, the answer may also begin with an unknown field, but not like JSON or a
// proxy's page.
func isStream(resp *http.Response, body *bufio.Reader) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	named := kind == "text/event-stream"
	for n := 1; n <= body.Size(); n++ {
		begin, err := body.Peek(n)
		begin = bytes.TrimPrefix(bytes.TrimLeft(begin, " \t\r\n"), byteOrderMark)
		ok, open := beginsAsStream(begin)
		switch {
		case ok || !open:
			return ok || named && isFieldStart(begin[0])
		case err != nil:
			return named
		}
	}
	return true
}

// isFieldStart reports whether a byte can begin the name of a field.
func isFieldStart(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// beginsAsStream reports whether a text begins with a comment or a field of an event. open says
// that it may turn out so with more bytes.
func beginsAsStream(text []byte) (ok, open bool) {
	for _, field := range []string{":", "data", "event", "id", "retry"} {
		ok = ok || bytes.HasPrefix(text, []byte(field))
		open = open || strings.HasPrefix(field, string(text))
	}
	return ok, open || bytes.HasPrefix(byteOrderMark, text)
}

// bounded reads up to left bytes, and fails if there are more.
type bounded struct {
	from io.Reader
	left int
}

var errTooLarge = errors.New("the answer is too large")

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// readWhole reads an answer that is one JSON object.
func (a *answer) readWhole(body io.Reader, attempt int) *failure {
	data, err := io.ReadAll(body)
	if err != nil {
		return a.broken(err, attempt, len(data) == 0)
	}
	var c chunk
	if !c.read(bytes.TrimSpace(bytes.TrimPrefix(data, byteOrderMark))) {
		return &failure{err: errStream("the answer is no JSON object: "+quote(a.blot(string(data))), nil)}
	}
	if err := a.take(&c); err != nil {
		return &failure{err: err}
	}
	return nil
}

// take adds a chunk. The error is STREAM_ERROR if the provider reports a failure, and otherwise
// that of reporting.
func (a *answer) take(c *chunk) error {
	a.note(c)
	one, others := firstChoice(c.Choices)
	if others && !a.sawOthers {
		a.sawOthers = true
		a.h.Log(adk.LevelWarn, "ignored-choices", "the answer has further choices, which nobody reads", map[string]any{"finishReason": a.finish})
	}
	var what *said
	if one != nil {
		if what = one.Delta; what == nil {
			what = one.Message
		}
		if one.FinishReason != "" {
			a.finish = one.FinishReason
		}
	}
	if c.Error == nil && one != nil {
		c.Error = one.Error
	}
	if hasError := c.Error != nil && string(*c.Error) != `""`; hasError && what == nil || one != nil && one.FinishReason == "error" {
		return a.errProvider(c.Error)
	}
	if what == nil {
		return nil
	}
	return a.add(what)
}

// note keeps what a chunk says about the answer as a whole.
func (a *answer) note(c *chunk) {
	if c.ID != "" {
		a.responseID = c.ID
	}
	if c.Model != "" {
		a.model = c.Model
	}
	if c.Usage != nil {
		a.usage = *c.Usage
	}
}

// firstChoice returns the choice that counts: the first with index 0 or without an index (SSE-5).
func firstChoice(choices []choice) (one *choice, others bool) {
	for i := range choices {
		if c := &choices[i]; one == nil && (c.Index == nil || *c.Index == 0) {
			one = c
		} else {
			others = true
		}
	}
	return one, others
}

// errProvider returns the error of a provider that reports a failure; raw may be nil.
func (a *answer) errProvider(raw *json.RawMessage) error {
	why := "the provider says that it failed"
	if text := errorText(raw); text != "" {
		why += ": " + quote(a.blot(text))
	}
	return errStream(why, nil)
}

// errorText returns the text of a provider's error; empty for nil.
func errorText(raw *json.RawMessage) string {
	if raw == nil {
		return ""
	}
	var e struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(*raw, &e) == nil && e.Message != "" {
		return e.Message
	}
	return string(*raw)
}

// add reports what is new, in the order of SSE-7.
func (a *answer) add(what *said) error {
	if err := a.say(string(what.Content)); err != nil {
		return err
	}
	if what.Refusal != "" && !a.sawRefusal {
		a.sawRefusal = true
		a.h.Log(adk.LevelWarn, "refusal", "the model refuses", map[string]any{"finishReason": a.finish})
	}
	if err := a.say(string(what.Refusal)); err != nil {
		return err
	}
	if err := a.think(what); err != nil {
		return err
	}
	for i, call := range what.ToolCalls {
		if call == (wireCall{Index: call.Index}) {
			continue // empty, like null
		}
		if !a.piecewise {
			call.Index = &i // calls of a whole answer are distinct, whatever their ids
		}
		a.calls.Feed(CallDelta{Index: call.Index, ID: string(call.ID), Type: string(call.Type),
			Name: string(call.Function.Name), Arguments: string(call.Function.Arguments)})
	}
	return nil
}

func (a *answer) say(text string) error {
	if text == "" {
		return nil
	}
	a.sawMessage = true
	if !a.piecewise {
		a.message.WriteString(text)
		return nil
	}
	_, err := a.h.ReportMessage(a.ownID(), text, false)
	return err
}

// think reports the reasoning of the first field that has some, and keeps that of other fields for
// later (ANS-4).
func (a *answer) think(what *said) error {
	for _, field := range a.reasoning {
		text := what.reasoning(field)
		if text == "" {
			continue
		}
		a.sawThought = true
		if a.thoughts == nil {
			a.thoughts = map[string]*strings.Builder{}
		}
		if a.thoughts[field] == nil {
			a.thoughts[field] = &strings.Builder{}
		}
		a.thoughts[field].WriteString(text)
		if a.field == "" && (a.piecewise || strings.TrimSpace(text) != "") {
			a.field = field
		}
		if a.piecewise && a.field == field {
			if _, err := a.h.ReportThought(a.ownID(), text, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownID returns the id under which the answer is stored.
func (a *answer) ownID() string {
	if a.id == "" {
		a.id = a.dc.NewID()
	}
	return a.id
}

// brokeOff reports whether the answer ended before the model had finished: at the token limit, by a
// filter, or, for a stream, without any sign of an end. An answer of one JSON object is complete
// otherwise.
func (a *answer) brokeOff() bool {
	switch a.finish {
	case "length", "content_filter":
		return true
	case "":
		return a.piecewise && !a.sawDone
	}
	return false
}

// keep completes and stores the answer, and returns the calls that it wants (ANS-2).
func (a *answer) keep() ([]WantedCall, error) {
	wanted := a.calls.Drain()
	if err := a.keepMessage(); err != nil {
		return nil, err
	}
	if err := a.keepThoughts(); err != nil {
		return nil, err
	}
	a.h.Log(adk.LevelDebug, "accumulator-finalised", "the answer is complete", map[string]any{
		"toolCallCount": len(wanted), "sawMessageDelta": a.sawMessage, "sawThoughtDelta": a.sawThought, "doneSentinelSeen": a.sawDone})
	if len(wanted) == 0 && !a.sawMessage && !a.sawThought {
		a.h.Log(adk.LevelWarn, "empty-answer", "the model answered nothing: neither words, nor reasoning, nor a call", map[string]any{"finishReason": a.finish})
	}
	level := adk.LevelDebug
	if a.finish == "length" || a.finish == "content_filter" {
		level = adk.LevelWarn
	}
	var usage any
	_ = json.Unmarshal(a.usage, &usage) // no usage gives nil
	a.h.Log(level, "finish", "the model has answered", map[string]any{
		"responseId": a.responseID, "model": a.model, "finishReason": a.finish, "usage": usage})
	return wanted, nil
}

func (a *answer) keepMessage() error {
	if !a.sawMessage {
		return nil
	}
	event, err := a.h.ReportMessage(a.ownID(), a.message.String(), true)
	if err != nil {
		return err
	}
	return a.storeMessage(a.id, event.Full)
}

func (a *answer) keepThoughts() error {
	var first string
	if live := a.thoughts[a.field]; live != nil {
		first = live.String()
		rest := first
		if a.piecewise {
			rest = ""
		}
		if _, err := a.h.ReportThought(a.ownID(), rest, true); err != nil {
			return err
		}
		if strings.TrimSpace(first) != "" {
			if err := a.storeThought(a.id, first); err != nil {
				return err
			}
		}
	}
	for _, field := range a.reasoning {
		held := a.thoughts[field]
		if held == nil || field == a.field || held.String() == first || strings.TrimSpace(held.String()) == "" {
			continue
		}
		id := a.ownID() + ":" + field
		if _, err := a.h.ReportThought(id, held.String(), true); err != nil {
			return err
		}
		if err := a.storeThought(id, held.String()); err != nil {
			return err
		}
	}
	return nil
}
