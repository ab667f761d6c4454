// Package chatfault breaks what models answer, in the forms of Chat Completions, Messages,
// Responses and Gemini: one JSON, or a stream of pieces of it; and says what of a conversation
// their providers refuse. Each form has a file, which finds in an answer what a fault changes.
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

// Answer is what was answered: Value, or Pieces where they are not nil. HTTP says that the
// pieces are those of a response, as package httpform has them.
type Answer struct {
	Value  json.RawMessage
	Pieces []adk.Piece
	HTTP   bool
}

// Fault is a way to break the message of an answer. It reports whether there is something in
// it that it changes.
type Fault func(m *message) bool

// The faults.
var (
	// Arguments leaves the arguments of the calls open. Where they are no text, they cannot be.
	Arguments Fault = breakArguments
	// Tool wants a tool that there is not.
	Tool Fault = breakTool
	// Twins gives two calls one id.
	Twins Fault = breakIDs
	// Several wants the only call twice at once.
	Several Fault = breakSeveral
	// Length ends in the midst, as a model does that is out of tokens.
	Length Fault = breakLength
	// Refusal says no, and nothing else.
	Refusal Fault = breakRefusal
)

// Break is an answer with the fault, and whether it has any: one without a message that the
// fault changes has none. What is given stays as it is.
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

// message is what the forms have in common. Of several choices it is the first.
type message struct {
	calls []*call
	texts []*words
	// double adds a call once more under an id, end says that there were no tokens left, and
	// refuse says no in the place of all that is said.
	double func(c *call, id string)
	end    func()
	refuse func()
}

// call is a call of a tool, by the places where it is told.
type call struct {
	at         int // its number in the answer, where the form has one
	ids, names []place
	arguments  words // where they are text
	object     *place
	whole      map[string]any // all of it, where it comes as one
}

// words are a text that comes bit by bit, and may be told again as a whole.
type words struct{ bits, again []place }

// place is where something stands in an answer.
type place struct {
	in     map[string]any
	member string
}

func (p place) text() string { return textIn(p.in, p.member) }
func (p place) set(v any)    { p.in[p.member] = v }

// tell has the places that tell a text again tell it as its bits do.
func (w *words) tell() {
	var whole string
	for _, bit := range w.bits {
		whole += bit.text()
	}
	for _, p := range w.again {
		p.set(whole)
	}
}

// last is the place of the last bit that says something; nil where none does.
func (w *words) last() *place {
	for _, bit := range slices.Backward(w.bits) {
		if bit.text() != "" {
			return &bit
		}
	}
	return nil
}

// halve leaves out the second half of the last bit.
func (w *words) halve() {
	last := w.last()
	text := []rune(last.text())
	last.set(string(text[:len(text)/2]))
	w.tell()
}

// settle takes what is told as a whole alone for the only bit.
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

// breakArguments leaves the arguments of the calls open.
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

// breakTool wants a tool that there is not.
func breakTool(m *message) bool {
	for _, c := range m.calls {
		if len(c.names) > 0 {
			setAll(c.names, c.names[0].text()+"_that_there_is_not")
			return true
		}
	}
	return false
}

// breakIDs gives the second call the id of the first, or makes one: the same once more.
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

// breakSeveral wants the only call twice at once, the second time under an id of its own.
func breakSeveral(m *message) bool {
	if len(m.calls) != 1 {
		return false
	}
	m.double(m.calls[0], again(m.calls[0].id(), ""))
	return true
}

// Again is a fault that gives the calls other ids, the same for the same times: a model that wants
// them once more.
func Again(times int) Fault {
	return func(m *message) bool {
		for _, c := range m.calls {
			setAll(c.ids, again(c.id(), strconv.Itoa(times)))
		}
		return len(m.calls) > 0
	}
}

// AgainMark stands behind the id of a call that is wanted once more.
const AgainMark = "_again"

// again is an id for one more call. Who has none needs none.
func again(id, more string) string {
	if id == "" {
		return ""
	}
	return id + AgainMark + more
}

// breakLength ends in the midst of the last arguments, or of the text.
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

// refusal is what a model says that refuses, where it says something.
const refusal = "I cannot help with that."

// breakRefusal says no, and nothing else.
func breakRefusal(m *message) bool {
	m.refuse()
	return true
}

// event is a JSON of an answer: a piece of it, or all of one that came without pieces.
type event struct {
	at     int             // the piece
	piece  *httpform.Piece // over HTTP
	text   []byte          // as it was given
	tree   map[string]any
	gone   bool
	behind []*event // which are put in
}

// events are those of an answer that are objects.
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
			if at == 0 || err != nil { // the head says nothing
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

// isChanged reports whether the event says something else than it was given as.
func (e *event) isChanged() bool { return !reflect.DeepEqual(e.tree, objectOf(e.text)) }

// objectOf is the object that a text says; nil where it says none.
func objectOf(text []byte) map[string]any {
	tree, _ := jsondiff.Decode(string(text))
	object, _ := tree.(map[string]any)
	return object
}

// json is the event as it is now.
func (e *event) json() json.RawMessage {
	raw, _ := unescaped.Marshal(e.tree) // what was read from JSON has one
	if e.piece == nil {
		return raw
	}
	return e.piece.Saying(raw).JSON()
}

// typed has an event be of another type, by which some clients know it.
func (e *event) typed(kind string) {
	e.tree["type"] = kind
	if e.piece != nil && e.piece.Event != "" {
		e.piece.Event = kind
	}
}

// clone is an event that is like another.
func (e *event) clone() *event {
	c := &event{tree: cloneOf(e.tree)}
	if e.piece != nil {
		piece := *e.piece
		c.piece = &piece
	}
	return c
}

// cloneOf is an object that shares nothing with another.
func cloneOf(object map[string]any) map[string]any {
	raw, _ := unescaped.Marshal(object) // what was read from JSON has one
	return objectOf(raw)
}

// messageIn finds the message of an answer, by the form that it has; nil where it has none.
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

// numberIn is a small number.
func numberIn(in map[string]any, member string) (n int, ok bool) {
	number, ok := in[member].(json.Number)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(number.String())
	return n, err == nil
}

// callAt is the call of a number, which is made if there is none.
func (m *message) callAt(at int) *call {
	if i := slices.IndexFunc(m.calls, func(c *call) bool { return c.at == at }); i >= 0 {
		return m.calls[i]
	}
	m.calls = append(m.calls, &call{at: at})
	return m.calls[len(m.calls)-1]
}

// some are the places of those that say something.
func some(places []place, more place) []place {
	if more.text() == "" {
		return places
	}
	return append(places, more)
}
