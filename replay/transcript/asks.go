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

// askReader says what is asked of the world: of a request that is long, what is new in
// it since the one before it of the same name. It keeps one request of each name and
// form, and of the answers those that are under way.
type askReader struct {
	chats  map[string]*chatRequest
	others map[string]json.RawMessage
	open   map[int]*chatExchange // by operation
}

// chatExchange is an ask of a model over HTTP that has no end yet.
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

// forget has the next ask of each name shown in full.
func (a *askReader) forget() {
	a.chats, a.others = map[string]*chatRequest{}, map[string]json.RawMessage{}
}

// begin is the request of an ask: in words where it is a conversation with a model, empty where
// its JSON says it best. below are the lines of what is new in it.
func (a *askReader) begin(x *adk.Crossing) (words string, below []string) {
	request := readChatRequest(x.JSON)
	if request == nil {
		before := a.others[x.Name]
		a.others[x.Name] = slices.Clone(x.JSON)
		return "", changedMembers(before, x.JSON)
	}
	before := a.chats[x.Name]
	a.chats[x.Name] = request
	if request.Path != "" { // else its answer is what user code makes of it
		a.open[x.Op] = &chatExchange{call: x.Call, begin: x.At}
	}
	words, below = request.words(), request.since(before)
	if before != nil && len(below) == 0 {
		words += ", as before"
	}
	return words, below
}

// piece takes in a piece of an answer that is shown at its end; false leaves it to be
// shown where it stands.
func (a *askReader) piece(x *adk.Crossing) bool {
	exchange := a.open[x.Op]
	if exchange == nil {
		return false
	}
	exchange.answer.add(x.JSON, x.Flag)
	return true
}

// lastingWords lead to how long an ask took.
const lastingWords = ", after "

// done is how an ask of a model over HTTP was answered; end is what its last line says. Of other
// asks it is end alone.
func (a *askReader) done(x *adk.Crossing, end string) string {
	exchange := a.open[x.Op]
	if exchange == nil {
		return end
	}
	delete(a.open, x.Op)
	if exchange.answer.said.IsDone() && errors.Is(x.Err, adk.E_ASK_STOPPED) {
		end = "" // what follows [DONE] is nothing, and nobody reads it
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

// rest are the operations whose answers have begun and not ended, in their order.
func (a *askReader) rest() []int {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(a.open)), func(op int) bool { return a.open[op].answer.words() == "" })
}

// mostChanges is how many lines say what is new in a request whose JSON is shown.
const mostChanges = 8

// changedMembers are the members in which a request differs from the one before it.
// There are none where its JSON is shown whole, or where the two are no like objects.
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

// elements are the numbers of elements in a path.
var elements = regexp.MustCompile(`\[\d+\]`)

func objectIn(raw json.RawMessage) (map[string]any, bool) {
	tree, ok := jsondiff.Decode(string(raw))
	object, is := tree.(map[string]any)
	return object, ok && is
}

// differences are the places at which two objects differ, a line each. Elements of lists
// are held against each other by their names where all have one, and those that changed in the same way have one line.
func differences(before, now map[string]any) (lines []string) {
	rules := jsondiff.Rules{Pairs: pairsByName, Deepest: 12,
		Same: func(a, b any) bool { return jsonWords(a) == jsonWords(b) }}
	var gone, come []any        // tools, of which the names say enough
	alike := map[string][]int{} // the lines of changes, and how many more are like each, by what changed in any element
	rules.Walk(jsondiff.Place{}, before, now, func(at jsondiff.Place, was, is any) {
		path := safetext.Bare(strings.TrimPrefix(at.Path, "."))
		switch ofTools := strings.HasPrefix(path, "tools["); { // or in a list of one of them, as Gemini has it
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

// pairsByName holds the tools of two lists against each other by their names, and other
// elements by their places.
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

// toolPlaces are the places of tools by their names; nil where one has no name of its
// own.
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

// toolNameIn is the name of a tool of a request; empty where it has none.
func toolNameIn(tool any) string {
	object, _ := tool.(map[string]any)
	function, _ := object["function"].(map[string]any)
	name, _ := function["name"].(string)
	if own, _ := object["name"].(string); name == "" {
		name = own
	}
	return name
}

// toolsIn are the tools of a request, of lists of them what is in these.
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

// jsonWords is a part of a request as JSON.
func jsonWords(v any) string {
	raw, _ := unescaped.Marshal(v) // what was read from JSON has one
	return string(raw)
}

// middleOut are at most so many lines, and one in place of those that are left out.
func middleOut(lines []string, most int, what string) []string {
	if len(lines) <= most+1 {
		return lines
	}
	head := most / 4
	left := len(lines) - most
	return slices.Concat(lines[:head], []string{"… " + safetext.Counted(left, what)}, lines[head+left:])
}
