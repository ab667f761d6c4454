package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/jsondiff"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// askReader describes what user code asks of the world. Of a long request it shows what is new
// since the previous one of the same name. It keeps one request for each name and form, and the
// unfinished answers.
type askReader struct {
	chats  map[string]*chatRequest
	others map[string]json.RawMessage
	open   map[int]*chatExchange // by operation
}

// chatExchange is an ask of a model over HTTP that has not ended yet.
type chatExchange struct {
	call   int
	begin  time.Time
	answer chatAnswer
}

func newAskReader() *askReader {
	a := &askReader{open: map[int]*chatExchange{}}
	a.forget()
	return a
}

// forget makes the next ask of each name appear in full.
func (a *askReader) forget() {
	a.chats, a.others = map[string]*chatRequest{}, map[string]json.RawMessage{}
}

// begin describes the request of an ask. words is empty unless the request is a conversation with a
// model. below are the lines for what is new in the request.
func (a *askReader) begin(x *adk.Crossing) (words string, below []string) {
	request := readChatRequest(x.JSON)
	if request == nil {
		before := a.others[x.Name]
		a.others[x.Name] = slices.Clone(x.JSON)
		return "", changedMembers(before, x.JSON)
	}
	before := a.chats[x.Name]
	a.chats[x.Name] = request
	if request.Path != "" { // otherwise user code decides what the answer is
		a.open[x.Op] = &chatExchange{call: x.Call, begin: x.At}
	}
	words, below = request.words(), request.since(before)
	if before != nil && len(below) == 0 {
		words += ", as before"
	}
	return words, below
}

// piece adds a piece to an answer that is shown at its end. It returns false for a piece that is to
// be shown where it came.
func (a *askReader) piece(x *adk.Crossing) bool {
	exchange := a.open[x.Op]
	if exchange == nil {
		return false
	}
	exchange.answer.add(x.JSON, x.Flag)
	return true
}

// lastingWords comes before the duration of an ask.
const lastingWords = ", after "

// done describes how an ask of a model over HTTP was answered. end is the text of its last line.
// For other asks, done returns end.
func (a *askReader) done(x *adk.Crossing, end string) string {
	exchange := a.open[x.Op]
	if exchange == nil {
		return end
	}
	delete(a.open, x.Op)
	if exchange.answer.said.IsDone() && errors.Is(x.Err, adk.E_ASK_STOPPED) {
		end = "" // nothing follows [DONE], so user code stops reading there
	}
	words := exchange.answer.words()
	switch {
	case words == "" && end == "":
		words = "no answer"
	case words == "":
		words = end
	case end != "":
		words += ", then " + end
	}
	if lasted := x.At.Sub(exchange.begin); lasted > 0 {
		words += lastingWords + safetext.Lasting(lasted)
	}
	return words
}

// rest returns, in order, the operations whose answers have begun but not ended.
func (a *askReader) rest() []int {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(a.open)), func(op int) bool { return a.open[op].answer.words() == "" })
}

// mostChanges is how many lines show what is new in a request that is shown as JSON.
const mostChanges = 8

// changedMembers returns the members in which a request differs from the previous one. It returns
// nil if the JSON is shown whole, or if the two are not objects with the same method and path.
func changedMembers(before, now json.RawMessage) []string {
	if safetext.IsShort(string(now)) {
		return nil
	}
	was, isObject := objectIn(before)
	is, areObjects := objectIn(now)
	if !isObject || !areObjects || jsonWords(was["method"]) != jsonWords(is["method"]) || jsonWords(was["path"]) != jsonWords(is["path"]) {
		return nil
	}
	return middleOut(differences(was, is), mostChanges, "change")
}

// elements matches the indexes of elements in a path.
var elements = regexp.MustCompile(`\[\d+\]`)

func objectIn(raw json.RawMessage) (map[string]any, bool) {
	tree, ok := jsondiff.Decode(string(raw))
	object, is := tree.(map[string]any)
	return object, ok && is
}

// differences returns the places at which two objects differ, one line each. Elements of lists are
// paired by name if all of them have one. Elements that changed in the same way share a line.
func differences(before, now map[string]any) (lines []string) {
	rules := jsondiff.Rules{Pairs: pairsByName, Deepest: 12,
		Same: func(a, b any) bool { return jsonWords(a) == jsonWords(b) }}
	var gone, come []any        // tools, whose names are enough
	alike := map[string][]int{} // by change in any element: the index of its line, and how many more elements it applies to
	rules.Walk(jsondiff.Place{}, before, now, func(at jsondiff.Place, was, is any) {
		path := safetext.Bare(strings.TrimPrefix(at.Path, "."))
		switch ofTools := strings.HasPrefix(path, "tools["); { // or in a list within an element, as Gemini does
		case was == jsondiff.Absent{} && ofTools && toolNameIn(is) != "":
			come = append(come, is)
		case is == jsondiff.Absent{} && ofTools && toolNameIn(was) != "":
			gone = append(gone, was)
		case was == jsondiff.Absent{}:
			lines = append(lines, "+ "+path+" "+safetext.BareJSON(jsonWords(is)))
		case is == jsondiff.Absent{}:
			lines = append(lines, "- "+path+" "+safetext.BareJSON(jsonWords(was)))
		default:
			change := fmt.Sprintf(": now %s, before %s", safetext.BareJSON(jsonWords(is)), safetext.BareJSON(jsonWords(was)))
			what := elements.ReplaceAllString(path, "[]") + change
			if known := alike[what]; known != nil {
				known[1]++
				return
			}
			alike[what] = []int{len(lines), 0}
			lines = append(lines, path+change)
		}
	})
	for _, one := range alike {
		if line, more := one[0], one[1]; more > 0 {
			lines[line] += ", and so in " + safetext.Counted(more, "more element")
		}
	}
	if len(gone) > 0 {
		lines = append(lines, "- tools "+safetext.Short(gone, toolWords))
	}
	if len(come) > 0 {
		lines = append(lines, "+ tools "+safetext.Short(come, toolWords))
	}
	return lines
}

// pairsByName pairs the tools of two lists by name, and other elements by index.
func pairsByName(a, b []any) ([]jsondiff.Pair, bool) {
	was, is := toolPlaces(a), toolPlaces(b)
	if was == nil || is == nil {
		return jsondiff.ByPlace(a, b)
	}
	var pairs []jsondiff.Pair
	for i, tool := range b {
		at, known := was[toolNameIn(tool)]
		if !known {
			at = -1
		}
		pairs = append(pairs, jsondiff.Pair{A: at, B: i})
	}
	for i, tool := range a {
		if _, stays := is[toolNameIn(tool)]; !stays {
			pairs = append(pairs, jsondiff.Pair{A: i, B: -1})
		}
	}
	return pairs, true
}

// toolPlaces returns the indexes of tools by name, or nil if a tool has no unique name.
func toolPlaces(tools []any) map[string]int {
	places := map[string]int{}
	for i, tool := range tools {
		name := toolNameIn(tool)
		if _, twice := places[name]; name == "" || twice {
			return nil
		}
		places[name] = i
	}
	return places
}

// toolNameIn returns the name of a request's tool, or "" if it has none.
func toolNameIn(tool any) string {
	object, _ := tool.(map[string]any)
	function, _ := object["function"].(map[string]any)
	name, _ := function["name"].(string)
	if own, _ := object["name"].(string); name == "" {
		name = own
	}
	return name
}

// toolsIn returns the tools of a request, including those within lists of tools.
func toolsIn(body map[string]any) (tools []any) {
	given, _ := body["tools"].([]any)
	for _, tool := range given {
		object, _ := tool.(map[string]any)
		declared, ok := object["functionDeclarations"].([]any)
		if ok && len(object) == 1 {
			tools = append(tools, declared...)
		} else {
			tools = append(tools, tool)
		}
	}
	return tools
}

// jsonWords returns a part of a request as JSON.
func jsonWords(v any) string {
	raw, _ := unescaped.Marshal(v) // v was read from JSON
	return string(raw)
}

// middleOut returns at most most lines, and one more that says how many were left out in the
// middle.
func middleOut(lines []string, most int, what string) []string {
	if len(lines) <= most+1 {
		return lines
	}
	head := most / 4
	left := len(lines) - most
	return slices.Concat(lines[:head], []string{"… " + safetext.Counted(left, what)}, lines[head+left:])
}
