// Package chatfault breaks answers of models, in the forms of Chat Completions, Messages, Responses
// and Gemini, whether they come as one JSON or as a stream of pieces. It also says for what
// providers refuse a conversation. Each form has a file, which finds in an answer what a fault
// changes.
package chatfault

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/jsondiff"
	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// Answer is the answer of a model: Value, or Pieces if they are not nil. HTTP says that the pieces
// are those of an HTTP response, as package httpform writes them.
type Answer struct {
	Value  json.RawMessage
	Pieces []adk.Piece
	HTTP   bool
}

// Fault is a way to break the message of an answer. It reports whether the message contains what it
// changes.
type Fault func(m *message) bool

// The faults.
var (
	// Arguments leaves the JSON of the calls' arguments open. It needs arguments that are text.
	Arguments Fault = breakArguments
	// Tool calls a tool that does not exist.
	Tool Fault = breakTool
	// Twins gives two calls the same id.
	Twins Fault = breakIDs
	// Several makes the only call twice at once.
	Several Fault = breakSeveral
	// Length ends in the middle, as a model does that has no tokens left.
	Length Fault = breakLength
	// Refusal refuses, and says nothing else.
	Refusal Fault = breakRefusal
)

// Break returns the answer with the fault, and true; or false if the answer has no message that the
// fault changes. It does not modify a.
func (f Fault) Break(a Answer) (_ Answer, broken bool) {
	events := a.events()
	m := messageIn(events)
	if m == nil || !f(m) {
		return Answer{}, false
	}
	if a.Pieces == nil {
		a.Value = events[0].json()
		return a, true
	}
	var pieces []adk.Piece
	for at, given := range a.Pieces {
		i := slices.IndexFunc(events, func(e *event) bool { return e.at == at })
		if i < 0 {
			pieces = append(pieces, given)
			continue
		}
		e := events[i]
		if e.isChanged() {
			given.Value = e.json()
		}
		if !e.gone {
			pieces = append(pieces, given)
		}
		for _, more := range e.behind {
			pieces = append(pieces, adk.Piece{Value: more.json()})
		}
	}
	a.Pieces = pieces
	return a, true
}

// WantsTool reports whether the answer's message calls a tool.
func (a Answer) WantsTool() bool {
	m := messageIn(a.events())
	return m != nil && len(m.calls) > 0
}

// message is what the forms have in common. Of several choices it is the first.
type message struct {
	calls []*call
	texts []*words
	// double adds a copy of a call under another id, end marks the message as out of tokens, and
	// refuse replaces all that is said by a refusal.
	double func(c *call, id string)
	end    func()
	refuse func()
}

// call is a call of a tool, with the places in the answer where its parts are.
type call struct {
	at         int // its number in the answer, if the form has one
	ids, names []place
	arguments  words // if they are text
	object     *place
	whole      map[string]any // the whole call, if it comes in one piece
}

// words is a text that comes in bits, and that may be repeated as a whole.
type words struct{ bits, again []place }

// place is a member of an object in an answer.
type place struct {
	in     map[string]any
	member string
}

func (p place) text() string { return textIn(p.in, p.member) }
func (p place) set(v any)    { p.in[p.member] = v }

// tell updates the repetitions of the text from its bits.
func (w *words) tell() {
	var whole string
	for _, bit := range w.bits {
		whole += bit.text()
	}
	for _, p := range w.again {
		p.set(whole)
	}
}

// last returns the last bit that is not empty; nil if there is none.
func (w *words) last() *place {
	for _, bit := range slices.Backward(w.bits) {
		if bit.text() != "" {
			return &bit
		}
	}
	return nil
}

// halve removes the second half of the last bit.
func (w *words) halve() {
	last := w.last()
	text := []rune(last.text())
	last.set(string(text[:len(text)/2]))
	w.tell()
}

// settle makes the first repetition the only bit if there are no bits.
func (w *words) settle() {
	if len(w.bits) == 0 && len(w.again) > 0 {
		w.bits, w.again = w.again[:1], w.again[1:]
	}
}

func (c *call) id() string {
	if len(c.ids) == 0 {
		return ""
	}
	return c.ids[0].text()
}

func setAll(places []place, v any) {
	for _, p := range places {
		p.set(v)
	}
}

// breakArguments is the fault Arguments.
func breakArguments(m *message) (found bool) {
	for _, c := range m.calls {
		for _, bit := range c.arguments.bits {
			if bit.text() == "" {
				continue
			}
			bit.set("")
			if !found {
				bit.set(`{"city": `)
			}
			found = true
		}
		c.arguments.tell()
	}
	return found
}

// breakTool is the fault Tool.
func breakTool(m *message) bool {
	for _, c := range m.calls {
		if len(c.names) > 0 {
			setAll(c.names, c.names[0].text()+"_that_there_is_not")
			return true
		}
	}
	return false
}

// breakIDs gives the second call the id of the first. If there is only one call, it doubles that.
func breakIDs(m *message) bool {
	var first *call
	for _, c := range m.calls {
		switch {
		case c.id() == "":
		case first == nil:
			first = c
		default:
			setAll(c.ids, first.id())
			return true
		}
	}
	if first != nil {
		m.double(first, first.id())
	}
	return first != nil
}

// breakSeveral doubles the only call, under a new id.
func breakSeveral(m *message) bool {
	if len(m.calls) != 1 {
		return false
	}
	m.double(m.calls[0], again(m.calls[0].id(), ""))
	return true
}

// Again returns a fault that gives the calls other ids, which depend on times only: a model that
// makes the same calls once more.
func Again(times int) Fault {
	return func(m *message) bool {
		for _, c := range m.calls {
			setAll(c.ids, again(c.id(), strconv.Itoa(times)))
		}
		return len(m.calls) > 0
	}
}

// AgainMark is appended to the id of a call that is made once more.
const AgainMark = "_again"

// again returns an id for one more call. A call without an id needs none.
func again(id, more string) string {
	if id == "" {
		return ""
	}
	return id + AgainMark + more
}

// breakLength cuts the last arguments, or else the text, in the middle.
func breakLength(m *message) bool {
	var arguments, text *words
	var object *place
	for _, c := range m.calls {
		if c.arguments.last() != nil {
			arguments = &c.arguments
		}
		if c.object != nil {
			object = c.object
		}
	}
	for _, w := range m.texts {
		if w.last() != nil {
			text = w
		}
	}
	switch {
	case arguments != nil:
		arguments.halve()
	case object != nil:
		object.set(map[string]any{})
	case text != nil:
		text.halve()
	default:
		return false
	}
	m.end()
	return true
}

// refusal is what a model says that refuses with words.
const refusal = "I cannot help with that."

// breakRefusal is the fault Refusal.
func breakRefusal(m *message) bool {
	m.refuse()
	return true
}

// event is a JSON object of an answer: that of one piece, or all of an answer without pieces.
type event struct {
	at     int             // the index of the piece
	piece  *httpform.Piece // if the answer is one over HTTP
	text   []byte          // as it was given
	tree   map[string]any
	gone   bool
	behind []*event // events to insert after it
}

// events returns the pieces of an answer that are JSON objects.
func (a Answer) events() (all []*event) {
	if a.Pieces == nil {
		if e := (&event{}); e.read(a.Value) {
			return []*event{e}
		}
	}
	for at, given := range a.Pieces {
		e, text := &event{at: at}, []byte(given.Value)
		if a.HTTP {
			piece, err := httpform.ReadPiece(given.Value)
			if at == 0 || err != nil { // the head is no event
				continue
			}
			e.piece, text = &piece, piece.Said()
		}
		if e.read(text) {
			all = append(all, e)
		}
	}
	return all
}

func (e *event) read(text []byte) bool {
	e.text, e.tree = text, objectOf(text)
	return e.tree != nil
}

// isChanged reports whether the event was changed since it was read.
func (e *event) isChanged() bool { return !reflect.DeepEqual(e.tree, objectOf(e.text)) }

// objectOf decodes a JSON object; nil if text is none.
func objectOf(text []byte) map[string]any {
	tree, _ := jsondiff.Decode(string(text))
	object, _ := tree.(map[string]any)
	return object
}

// json returns the event as it is now.
func (e *event) json() json.RawMessage {
	raw, _ := unescaped.Marshal(e.tree) // what was read from JSON can be marshaled
	if e.piece == nil {
		return raw
	}
	return e.piece.Saying(raw).JSON()
}

// typed changes the type of the event, also that of a server-sent event, by which some clients know
// it.
func (e *event) typed(kind string) {
	e.tree["type"] = kind
	if e.piece != nil && e.piece.Event != "" {
		e.piece.Event = kind
	}
}

// clone returns a copy of the event.
func (e *event) clone() *event {
	c := &event{tree: cloneOf(e.tree)}
	if e.piece != nil {
		piece := *e.piece
		c.piece = &piece
	}
	return c
}

// cloneOf returns a deep copy of an object.
func cloneOf(object map[string]any) map[string]any {
	raw, _ := unescaped.Marshal(object) // what was read from JSON can be marshaled
	return objectOf(raw)
}

// messageIn finds the message of an answer in any of the forms; nil if there is none.
func messageIn(events []*event) *message {
	for _, form := range []func([]*event) *message{completion, ofMessages, ofResponses, ofGemini} {
		if m := form(events); m != nil {
			for _, c := range m.calls {
				c.arguments.settle()
			}
			for _, w := range m.texts {
				w.settle()
			}
			return m
		}
	}
	return nil
}

func textIn(in map[string]any, member string) string {
	text, _ := in[member].(string)
	return text
}

// numberIn returns a member that is a small integer.
func numberIn(in map[string]any, member string) (n int, ok bool) {
	number, ok := in[member].(json.Number)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(number.String())
	return n, err == nil
}

// callAt returns the call with a number, and adds it if there is none.
func (m *message) callAt(at int) *call {
	if i := slices.IndexFunc(m.calls, func(c *call) bool { return c.at == at }); i >= 0 {
		return m.calls[i]
	}
	m.calls = append(m.calls, &call{at: at})
	return m.calls[len(m.calls)-1]
}

// some appends a place if its text is not empty.
func some(places []place, more place) []place {
	if more.text() == "" {
		return places
	}
	return append(places, more)
}
