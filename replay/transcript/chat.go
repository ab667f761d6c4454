package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/modelapi"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/internal/align"
)

// This file describes conversations with models in words: requests and answers in the forms that
// package modelapi knows. Requests and answers of other forms are shown as JSON.

// chatRequest is a request to a model.
type chatRequest struct {
	*modelapi.Talk
	messages []string // as JSON
	tools    []any
}

// readChatRequest reads the request of an ask, or returns nil if it is no request to a model.
func readChatRequest(raw json.RawMessage) *chatRequest {
	talk := modelapi.ReadTalk(raw)
	if talk == nil {
		return nil
	}
	if headers, ok := talk.Outside["headers"].(map[string]any); ok && headers["content-type"] == "application/json" { // not worth showing
		if delete(headers, "content-type"); len(headers) == 0 {
			delete(talk.Outside, "headers")
		}
	}
	return &chatRequest{talk, safetext.Each(talk.Messages, rawText), toolsIn(talk.Body)}
}

func rawText(raw json.RawMessage) string { return string(raw) }

// words returns the line of a request.
func (r *chatRequest) words() string {
	var names []string
	for _, name := range []string{r.Method, r.Path, r.Model} {
		if name != "" {
			names = append(names, safetext.PlainName(name))
		}
	}
	words := []string{safetext.Counted(len(r.messages), "message")}
	if len(names) > 0 {
		words = append([]string{strings.Join(names, " ")}, words...)
	}
	if len(r.tools) > 0 {
		words = append(words, safetext.Counted(len(r.tools), "tool"))
	}
	return strings.Join(words, ", ")
}

// since returns the lines for what is new since another request. If before is nil, everything is
// new.
func (r *chatRequest) since(before *chatRequest) []string {
	if before == nil {
		return slices.Concat(r.settings(), r.system(), messageLines("", r.messages))
	}
	changes := slices.Concat(differences(before.Outside, r.Outside), differences(before.Body, r.Body))
	return slices.Concat(middleOut(changes, mostChanges, "change"), r.newMessages(before.messages))
}

// settings returns what a request has besides its messages: its query, its headers and the members
// of its body.
func (r *chatRequest) settings() (lines []string) {
	said := slices.Concat([]string{r.ModelMember}, r.System)
	if len(r.tools) > 0 {
		said = append(said, "tools")
	}
	words := slices.Concat(memberWords(r.Outside, "method", "path"), memberWords(r.Body, said...))
	if len(words) > 0 {
		lines = append(lines, strings.Join(middleOut(words, mostChanges, "member"), ", "))
	}
	if len(r.tools) > 0 {
		lines = append(lines, "tools "+safetext.Short(r.tools, toolWords))
	}
	return lines
}

// system returns the instructions that are outside the messages.
func (r *chatRequest) system() []string {
	return safetext.Each(r.System, func(name string) string {
		return safetext.PlainName(name) + " " + contentWords(json.RawMessage(jsonWords(r.Body[name])), 0)
	})
}

// memberWords describes the members of an object, except those that are shown elsewhere.
func memberWords(object map[string]any, elsewhere ...string) (words []string) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(elsewhere, name) {
			words = append(words, safetext.PlainName(name)+" "+safetext.BareJSON(jsonWords(object[name])))
		}
	}
	return words
}

// toolWords returns the name of a tool, or its JSON if it has none.
func toolWords(tool any) string {
	if name := toolNameIn(tool); name != "" {
		return safetext.PlainName(name)
	}
	return safetext.BareJSON(jsonWords(tool))
}

// newMessages returns the messages that were added and removed since an earlier request, in their
// places among the unchanged messages.
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

// messageWords describes a message of a request: its role, its content, and all its other members.
func messageWords(raw json.RawMessage) string {
	var members map[string]json.RawMessage
	if isText(raw) {
		return "input " + quotedIn(raw)
	}
	if json.Unmarshal(raw, &members) != nil {
		return safetext.BareJSON(string(raw))
	}
	var role, kind string
	if json.Unmarshal(members["role"], &role) != nil {
		if json.Unmarshal(members["type"], &kind) != nil || itemRoles[kind] == "" {
			return safetext.BareJSON(string(raw))
		}
		role = itemRoles[kind]
	}
	delete(members, "role")
	if string(members["type"]) == `"message"` {
		delete(members, "type")
	}
	if text := string(members["content"]); text == "null" || text == `""` && len(members) > 1 {
		delete(members, "content")
	}
	return strings.Join(append([]string{safetext.PlainName(role)}, saidWords(members, 0)...), " ")
}

// itemRoles holds the roles of items by their type, for conversations with items other than
// messages.
var itemRoles = map[string]string{"function_call": "assistant", "function_call_output": "tool", "reasoning": "assistant"}

// deepestPart is how deep the parts of a message may be nested, in the result of a tool, to be
// described in words. Deeper parts are shown as JSON.
const deepestPart = 2

// saidWords describes the members of a message, or of a part of one at the given depth.
func saidWords(members map[string]json.RawMessage, depth int) (words []string) {
	words = kindWords(members, depth)
	for _, name := range []string{"content", "parts"} {
		if content, has := members[name]; has {
			words = append(words, contentWords(content, depth))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var calls []json.RawMessage
		switch raw := members[name]; {
		case name == "content" || name == "parts":
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

// kindWords describes a part of a conversation whose type, or whose only member, says that it is a
// text, a thought, a tool call or a tool's result. It removes the members that it describes.
func kindWords(members map[string]json.RawMessage, depth int) []string {
	var kind string
	_ = json.Unmarshal(members["type"], &kind) // stays empty if there is none
	take := func(name string) json.RawMessage {
		raw := members[name]
		delete(members, name)
		delete(members, "type")
		return raw
	}
	areTexts := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !isText(members[name]) })
	}
	switch {
	case isText(members["text"]) && (kind == "" || kind == "text" || kind == "input_text" || kind == "output_text"):
		return []string{quotedIn(take("text"))}
	case kind == "thinking" && areTexts("thinking"):
		return []string{"thinks " + quotedIn(take("thinking"))}
	case kind == "tool_use" && areTexts("name", "id"):
		return []string{calling + calledWords(textIn(take("name")), argumentsIn(take("input")), textIn(take("id")))}
	case kind == "function_call" && areTexts("name", "call_id"):
		return []string{calling + calledWords(textIn(take("name")), argumentsIn(take("arguments")), textIn(take("call_id")))}
	case kind == "tool_result" && areTexts("tool_use_id"):
		return []string{resultOf(take("content"), take("tool_use_id"), depth)}
	case kind == "function_call_output" && members["output"] != nil && areTexts("call_id"):
		return []string{contentWords(take("output"), depth+1) + " for " + nameWords(take("call_id"))}
	case kind != "":
		return nil
	}
	var of map[string]json.RawMessage
	if json.Unmarshal(members["functionCall"], &of) == nil && isText(of["name"]) && (of["id"] == nil || isText(of["id"])) {
		delete(members, "functionCall")
		return []string{calling + calledWords(textIn(of["name"]), argumentsIn(of["args"]), textIn(of["id"]))}
	}
	if json.Unmarshal(members["functionResponse"], &of) == nil && of["name"] != nil {
		delete(members, "functionResponse")
		words := []string{resultOf(of["response"], of["name"], depth)}
		if of["id"] != nil {
			words = append(words, "of "+nameWords(of["id"]))
		}
		return words
	}
	return nil
}

func isText(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

// textIn returns a text that was read from JSON, or "" if it is no text.
func textIn(raw json.RawMessage) (text string) {
	if isText(raw) {
		_ = json.Unmarshal(raw, &text)
	}
	return text
}

func quotedIn(raw json.RawMessage) string { return safetext.Quoted(textIn(raw)) }

// argumentsIn returns the arguments of a call as text. They are an object or a text that holds one.
func argumentsIn(raw json.RawMessage) string {
	if isText(raw) {
		return textIn(raw)
	}
	return string(raw)
}

// resultOf describes the result of a tool for a call.
func resultOf(content, id json.RawMessage, depth int) string {
	if len(content) == 0 {
		return "nothing for " + nameWords(id)
	}
	return "result " + contentWords(content, depth+1) + " for " + nameWords(id)
}

// mostParts is how many parts of a message, or calls, are shown.
const mostParts = 8

// contentWords describes a text, a list of texts and other parts, or an object that contains one.
func contentWords(raw json.RawMessage, depth int) string {
	var parts []json.RawMessage
	switch {
	case isText(raw):
		return quotedIn(raw)
	case depth < deepestPart && json.Unmarshal(raw, &parts) == nil:
		return strings.Join(middleOut(partsWords(parts, depth), mostParts, "part"), ", ")
	}
	return partWords(raw, depth)
}

// partsWords describes each part. Only the first of several consecutive calls says that it is a
// call.
func partsWords(parts []json.RawMessage, depth int) []string {
	all := safetext.Each(parts, func(raw json.RawMessage) string { return partWords(raw, depth) })
	for i := len(all) - 1; i > 0; i-- {
		if strings.HasPrefix(all[i-1], calling) {
			all[i] = strings.TrimPrefix(all[i], calling)
		}
	}
	return all
}

// partWords describes a part of a message.
func partWords(raw json.RawMessage, depth int) string {
	var members map[string]json.RawMessage
	if depth >= deepestPart || json.Unmarshal(raw, &members) != nil {
		return safetext.BareJSON(string(raw))
	}
	if parts := members["parts"]; len(members) == 1 && bytes.HasPrefix(parts, []byte("[")) {
		return contentWords(parts, depth+1)
	}
	before := len(members)
	words := kindWords(members, depth)
	if len(members) == before {
		return safetext.BareJSON(string(raw))
	}
	return strings.Join(append(words, saidWords(members, depth+1)...), " ")
}

// nameWords describes a name that should be a text.
func nameWords(raw json.RawMessage) string {
	var name string
	if json.Unmarshal(raw, &name) != nil {
		return safetext.BareJSON(string(raw))
	}
	return safetext.PlainName(name)
}

func callWords(raw json.RawMessage) string {
	var call struct {
		ID       string
		Function struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if json.Unmarshal(raw, &call) != nil || call.Function.Name == "" {
		return safetext.BareJSON(string(raw))
	}
	return calledWords(call.Function.Name, argumentsIn(call.Function.Arguments), call.ID)
}

// calledWords describes a tool call. Some calls have no id.
func calledWords(name, args, id string) string {
	words := safetext.PlainName(name) + " " + safetext.Arguments(args)
	if id == "" {
		return words
	}
	return words + " as " + safetext.PlainName(id)
}

// calling comes before tool calls.
const calling = "calls "

func callsWords(calls []string) string {
	return calling + strings.Join(middleOut(calls, mostParts, "call"), ", ")
}

// chatAnswer is the answer of a model, assembled from its pieces.
type chatAnswer struct {
	head *httpform.Head
	said modelapi.Answer
	// others describes pieces of other forms. another counts all of them.
	others  []string
	another int
	hasOpen bool // a piece was never finished
}

// add adds the next piece.
func (a *chatAnswer) add(raw json.RawMessage, open bool) {
	a.hasOpen = a.hasOpen || open
	a.said.Keep = true
	known := a.said.Take(raw)
	if a.head == nil {
		a.head = &httpform.Head{}
		if json.Unmarshal(raw, a.head) == nil && a.head.Status != 0 {
			return
		}
	}
	piece, _ := httpform.ReadPiece(raw)
	data := piece.Said()
	switch {
	case known || strings.HasPrefix(piece.Text, ":"): // a comment
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

// words describes the answer so far. It returns "" if nothing has come.
func (a *chatAnswer) words() string {
	var words []string
	if a.head != nil && a.head.Status != 0 && a.head.Status/100 != 2 {
		words = append(words, strconv.Itoa(a.head.Status))
		if wait, has := a.head.Headers["retry-after"]; has {
			words = append(words, "retry-after "+nameWords([]byte(jsonWords(wait))))
		}
	}
	choices := a.said.Choices()
	for _, choice := range choices {
		said := choiceWords(choice)
		if len(choices) > 1 {
			said = fmt.Sprintf("choice %d: %s", choice.Index, said)
		}
		if said != "" {
			words = append(words, said)
		}
	}
	words = append(words, a.others...)
	if left := a.another - len(a.others); left > 0 {
		words = append(words, "… "+safetext.Counted(left, "piece"))
	}
	if a.hasOpen {
		words = append(words, "cut off")
	}
	if u := a.said.Usage; u != nil {
		words = append(words, fmt.Sprintf("%d tokens in, %d out", u.In, u.Out))
	}
	return strings.Join(words, ", ")
}

// choiceWords describes a message and the reason why it ends.
func choiceWords(c modelapi.Choice) string {
	var words []string
	if text, says := c.Texts["content"]; says && (text != "" || len(c.Texts)+len(c.Calls)+len(c.Values) == 1) {
		words = append(words, safetext.Quoted(text))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Texts)) {
		if text := c.Texts[name]; name != "content" && text != "" {
			words = append(words, safetext.PlainName(name)+" "+safetext.Quoted(text))
		}
	}
	if len(c.Calls) > 0 {
		words = append(words, callsWords(safetext.Each(c.Calls, func(c modelapi.Call) string { return calledWords(c.Name, c.Arguments(), c.ID) })))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Values)) {
		all := safetext.Each(c.Values[name], func(v any) string { return safetext.BareJSON(jsonWords(v)) })
		words = append(words, safetext.PlainName(name)+" "+strings.Join(middleOut(all, mostParts, "value"), ", "))
	}
	if c.Finish != "" {
		words = append(words, safetext.PlainName(c.Finish))
	}
	return strings.Join(words, ", ")
}
