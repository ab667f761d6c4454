package transcript

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/internal/align"
)

// This file reads requests and answers of Chat Completions. What has another form is
// shown as the JSON that it is.

// chatRequest is a request to a model.
type chatRequest struct {
	method, path, model string
	messages            []string // as JSON
	// body are the other members of its body, and outside are those beside that.
	body, outside map[string]any
	tools         []any
}

// readChatRequest reads the request of an ask; nil where it is none of a model.
func readChatRequest(raw json.RawMessage) *chatRequest {
	var request struct {
		Method, Path string
		Body         struct {
			Model    string
			Messages []json.RawMessage
		}
	}
	if json.Unmarshal(raw, &request) != nil || !strings.HasSuffix(request.Path, "/chat/completions") || len(request.Body.Messages) == 0 {
		return nil
	}
	outside, _ := objectIn(raw)
	body, is := outside["body"].(map[string]any)
	if !is {
		return nil
	}
	delete(outside, "body")
	if headers, is := outside["headers"].(map[string]any); is && headers["content-type"] == "application/json" { // it goes without saying
		if delete(headers, "content-type"); len(headers) == 0 {
			delete(outside, "headers")
		}
	}
	delete(body, "messages")
	tools, _ := body["tools"].([]any)
	return &chatRequest{request.Method, request.Path, request.Body.Model, safetext.Each(request.Body.Messages, rawText), body, outside, tools}
}

func rawText(raw json.RawMessage) string { return string(raw) }

// words are the line of a request.
func (r *chatRequest) words() string {
	words := safetext.PlainName(r.method) + " " + safetext.PlainName(r.path)
	if r.model != "" {
		words += " " + safetext.PlainName(r.model)
	}
	words += ", " + safetext.Counted(len(r.messages), "message")
	if len(r.tools) > 0 {
		words += ", " + safetext.Counted(len(r.tools), "tool")
	}
	return words
}

// since are the lines of what is new since another request; nil has all of them new.
func (r *chatRequest) since(before *chatRequest) []string {
	if before == nil {
		return slices.Concat(r.settings(), messageLines("", r.messages))
	}
	changes := slices.Concat(differences(before.outside, r.outside), differences(before.body, r.body))
	return slices.Concat(middleOut(changes, mostChanges, "change"), r.newMessages(before.messages))
}

// settings are what a request says beside its messages: its query, its headers and the members of
// its body.
func (r *chatRequest) settings() (lines []string) {
	said := []string{"model"}
	if len(r.tools) > 0 {
		said = append(said, "tools")
	}
	words := slices.Concat(memberWords(r.outside, "method", "path"), memberWords(r.body, said...))
	if len(words) > 0 {
		lines = append(lines, strings.Join(middleOut(words, mostChanges, "member"), ", "))
	}
	if len(r.tools) > 0 {
		lines = append(lines, "tools "+safetext.Short(r.tools, toolWords))
	}
	return lines
}

// memberWords are the members of an object in words, but for those that are said elsewhere.
func memberWords(object map[string]any, elsewhere ...string) (words []string) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(elsewhere, name) {
			words = append(words, safetext.PlainName(name)+" "+safetext.BareJSON(jsonWords(object[name])))
		}
	}
	return words
}

// toolWords is the name of a tool, or what stands in its place.
func toolWords(tool any) string {
	if name := toolNameIn(tool); name != "" {
		return safetext.PlainName(name)
	}
	return safetext.BareJSON(jsonWords(tool))
}

// newMessages are the messages that are new since other ones and those that are gone,
// where they stand among those that are as they were.
func (r *chatRequest) newMessages(before []string) (lines []string) {
	same, wasAt, at := 0, 0, 0
	differ := func(was, now int) {
		if was == wasAt && now == at {
			return
		}
		lines = slices.Concat(lines, asBefore(same), messageLines("- ", before[wasAt:was]), messageLines("+ ", r.messages[at:now]))
		same = 0
	}
	for _, pair := range align.Common(before, r.messages) {
		differ(pair.A, pair.B)
		wasAt, at = pair.A+1, pair.B+1
		same++
	}
	differ(len(before), len(r.messages))
	if len(lines) == 0 {
		return nil
	}
	return middleOut(slices.Concat(lines, asBefore(same)), 3*mostMessages, "line")
}

func asBefore(messages int) []string {
	if messages == 0 {
		return nil
	}
	return []string{"… " + safetext.Counted(messages, "message") + " as before"}
}

// mostMessages is how many messages are shown in one place.
const mostMessages = 16

func messageLines(sign string, messages []string) []string {
	return middleOut(safetext.Each(messages, func(text string) string { return sign + messageWords([]byte(text)) }), mostMessages, "message")
}

// messageWords is a message of a request: its role, what it says, and whatever else it
// has.
func messageWords(raw json.RawMessage) string {
	var members map[string]json.RawMessage
	var role string
	if json.Unmarshal(raw, &members) != nil || json.Unmarshal(members["role"], &role) != nil {
		return safetext.BareJSON(string(raw))
	}
	delete(members, "role")
	if text := string(members["content"]); text == "null" || text == `""` && len(members) > 1 {
		delete(members, "content")
	}
	return strings.Join(append([]string{safetext.PlainName(role)}, saidWords(members)...), " ")
}

// saidWords are the members of a message.
func saidWords(members map[string]json.RawMessage) (words []string) {
	if content, has := members["content"]; has {
		words = append(words, contentWords(content))
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var calls []json.RawMessage
		switch raw := members[name]; {
		case name == "content":
		case name == "tool_calls" && json.Unmarshal(raw, &calls) == nil:
			words = append(words, callsWords(safetext.Each(calls, callWords)))
		case name == "tool_call_id":
			words = append(words, "for "+nameWords(raw))
		default:
			words = append(words, safetext.PlainName(name)+" "+safetext.BareJSON(string(raw)))
		}
	}
	return words
}

// mostParts is how many parts of a message and how many calls are shown.
const mostParts = 8

// contentWords are a text, or a list of texts and other parts.
func contentWords(raw json.RawMessage) string {
	var text string
	var parts []json.RawMessage
	switch {
	case json.Unmarshal(raw, &text) == nil:
		return safetext.Quoted(text)
	case json.Unmarshal(raw, &parts) == nil:
		return strings.Join(middleOut(safetext.Each(parts, partWords), mostParts, "part"), ", ")
	}
	return safetext.BareJSON(string(raw))
}

func partWords(raw json.RawMessage) string {
	var part struct {
		Type string
		Text *string
	}
	if json.Unmarshal(raw, &part) == nil && part.Type == "text" && part.Text != nil {
		return safetext.Quoted(*part.Text)
	}
	return safetext.BareJSON(string(raw))
}

// nameWords is a name that should be a text.
func nameWords(raw json.RawMessage) string {
	var name string
	if json.Unmarshal(raw, &name) != nil {
		return safetext.BareJSON(string(raw))
	}
	return safetext.PlainName(name)
}

// chatCall is a tool call, or a part of one.
type chatCall struct {
	Index    *int
	ID       string
	Function struct{ Name, Arguments string }
	// more are the arguments behind those of its first part.
	more []byte
}

func callWords(raw json.RawMessage) string {
	var call chatCall
	if json.Unmarshal(raw, &call) != nil || call.Function.Name == "" {
		return safetext.BareJSON(string(raw))
	}
	return call.words()
}

func (c *chatCall) words() string {
	words := safetext.PlainName(c.Function.Name) + " " + safetext.Arguments(c.Function.Arguments+string(c.more))
	if c.ID == "" {
		return words
	}
	return words + " as " + safetext.PlainName(c.ID)
}

func callsWords(calls []string) string {
	return "calls " + strings.Join(middleOut(calls, mostParts, "call"), ", ")
}

// chatAnswer is what a model answers, put together from the pieces in which it comes.
type chatAnswer struct {
	head    *httpform.Head
	choices map[int]*chatChoice
	usage   map[string]json.RawMessage
	// others are pieces of other forms in words, all of them counted.
	others  []string
	another int
	hasOpen bool // a piece was never finished
	isDone  bool // the stream said so
}

// chatChoice is one of the messages of an answer.
type chatChoice struct {
	texts  map[string]*strings.Builder // by the names of their members
	values map[string]json.RawMessage
	calls  []*chatCall
	places map[int]*chatCall // the calls by their indices
	finish string
}

// chatChunk is a part of an answer, or the whole.
type chatChunk struct {
	Choices []struct {
		Index          int
		Message, Delta map[string]json.RawMessage
		Finish         string `json:"finish_reason"`
	}
	Usage map[string]json.RawMessage
}

// add takes in the next piece.
func (a *chatAnswer) add(raw json.RawMessage, open bool) {
	a.hasOpen = a.hasOpen || open
	if a.head == nil {
		a.head = &httpform.Head{}
		if json.Unmarshal(raw, a.head) == nil && a.head.Status != 0 {
			return
		}
	}
	piece, err := httpform.ReadPiece(raw)
	data := piece.Said()
	var chunk chatChunk
	switch {
	case string(data) == "[DONE]":
		a.isDone = true
	case strings.HasPrefix(piece.Text, ":"): // a comment
	case err == nil && json.Unmarshal(data, &chunk) == nil && (chunk.Choices != nil || chunk.Usage != nil):
		a.take(&chunk)
	case piece.Text != "":
		a.other(safetext.Quoted(piece.Text))
	case len(data) > 0 && piece.Base64 == nil:
		a.other(safetext.BareJSON(string(slices.Concat(piece.Data, piece.Body, piece.Line))))
	default:
		a.other(safetext.BareJSON(string(raw)))
	}
}

func (a *chatAnswer) other(words string) {
	if a.another++; a.another <= mostParts {
		a.others = append(a.others, words)
	}
}

func (a *chatAnswer) take(chunk *chatChunk) {
	if chunk.Usage != nil {
		a.usage = chunk.Usage
	}
	for _, part := range chunk.Choices {
		choice := a.choices[part.Index]
		if choice == nil {
			choice = &chatChoice{texts: map[string]*strings.Builder{}, values: map[string]json.RawMessage{}, places: map[int]*chatCall{}}
			if a.choices == nil {
				a.choices = map[int]*chatChoice{}
			}
			a.choices[part.Index] = choice
		}
		choice.add(part.Message)
		choice.add(part.Delta)
		if part.Finish != "" {
			choice.finish = part.Finish
		}
	}
}

// add takes in members of a message, or deltas of them.
func (c *chatChoice) add(members map[string]json.RawMessage) {
	for name, raw := range members {
		var text *string
		var calls []*chatCall
		switch {
		case name == "role":
		case name == "tool_calls" && json.Unmarshal(raw, &calls) == nil:
			for i, call := range calls {
				c.call(i, call)
			}
		case string(raw) == "[]" || string(raw) == "{}":
		case json.Unmarshal(raw, &text) != nil:
			c.values[name] = raw
		case text != nil:
			if c.texts[name] == nil {
				c.texts[name] = &strings.Builder{}
			}
			c.texts[name].WriteString(*text)
		}
	}
}

// call takes in a tool call, or more of the one that has its index.
func (c *chatChoice) call(place int, part *chatCall) {
	if part == nil {
		return
	}
	if part.Index != nil {
		place = *part.Index
	}
	call := c.places[place]
	if call == nil {
		c.places[place] = part
		c.calls = append(c.calls, part)
		return
	}
	if call.ID == "" {
		call.ID = part.ID
	}
	if part.Function.Name != call.Function.Name { // some say it again with each part
		call.Function.Name += part.Function.Name
	}
	call.more = append(call.more, part.Function.Arguments...)
}

// words are what there is of the answer; empty where nothing has come.
func (a *chatAnswer) words() string {
	var words []string
	if a.head != nil && a.head.Status != 0 && a.head.Status/100 != 2 {
		words = append(words, strconv.Itoa(a.head.Status))
		if wait, has := a.head.Headers["retry-after"]; has {
			words = append(words, "retry-after "+nameWords([]byte(jsonWords(wait))))
		}
	}
	for _, index := range slices.Sorted(maps.Keys(a.choices)) {
		said := a.choices[index].words()
		if len(a.choices) > 1 {
			said = fmt.Sprintf("choice %d: %s", index, said)
		}
		words = append(words, said)
	}
	words = append(words, a.others...)
	if left := a.another - len(a.others); left > 0 {
		words = append(words, "… "+safetext.Counted(left, "piece"))
	}
	if a.hasOpen {
		words = append(words, "cut off")
	}
	return strings.Join(append(words, a.tokens()...), ", ")
}

// words are a message, and why it ends there.
func (c *chatChoice) words() string {
	var words []string
	if text := c.texts["content"]; text != nil && (text.Len() > 0 || len(c.texts)+len(c.calls)+len(c.values) == 1) {
		words = append(words, safetext.Quoted(text.String()))
	}
	for _, name := range slices.Sorted(maps.Keys(c.texts)) {
		if text := c.texts[name]; name != "content" && text.Len() > 0 {
			words = append(words, safetext.PlainName(name)+" "+safetext.Quoted(text.String()))
		}
	}
	if len(c.calls) > 0 {
		words = append(words, callsWords(safetext.Each(c.calls, (*chatCall).words)))
	}
	for _, name := range slices.Sorted(maps.Keys(c.values)) {
		words = append(words, safetext.PlainName(name)+" "+safetext.BareJSON(string(c.values[name])))
	}
	if c.finish != "" {
		words = append(words, safetext.PlainName(c.finish))
	}
	return strings.Join(words, ", ")
}

// tokens is what the answer cost, where it says so.
func (a *chatAnswer) tokens() []string {
	in, out := string(a.usage["prompt_tokens"]), string(a.usage["completion_tokens"])
	switch {
	case in == "" && out == "":
		return nil
	case out == "":
		return []string{safetext.BareJSON(in) + " tokens in"}
	case in == "":
		return []string{safetext.BareJSON(out) + " tokens out"}
	}
	return []string{safetext.BareJSON(in) + " tokens in, " + safetext.BareJSON(out) + " out"}
}
