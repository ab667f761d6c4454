package property

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/forging"
	"github.com/adkreplay/adkreplay/internal/httpform"
)

// leastCopied is the length from which an equal text is not a coincidence. mostOutside limits the
// bytes of outside texts that are kept. Each new text is compared with all of those, which takes
// quadratic time for a trace of many texts; so after mostCompared bytes no more are compared.
const (
	leastCopied  = 32
	mostOutside  = 4 << 20
	mostCompared = 1 << 30
)

// outsideText is a text that was not written by the developers.
type outsideText struct {
	text, from string
	at         int
	whole      bool // counts as copied only if it is the whole of another text
}

// outsideTexts holds texts from outside, in the order in which they came. If there are too many,
// the oldest are dropped.
type outsideTexts struct {
	all      []outsideText
	held     int
	compared int
}

func (o *outsideTexts) add(one outsideText) {
	one.text = strings.TrimSpace(one.text)
	if len(one.text) < leastCopied {
		return
	}
	o.all = append(o.all, one)
	for o.held += len(one.text); o.held > mostOutside; o.all = o.all[1:] {
		o.held -= len(o.all[0].text)
	}
}

// addAll adds all texts in plain data.
func (o *outsideTexts) addAll(data any, from string, at int) {
	switch v := data.(type) {
	case string:
		o.add(outsideText{text: v, from: from, at: at})
	case map[string]any:
		for _, one := range v {
			o.addAll(one, from, at)
		}
	case []any:
		for _, one := range v {
			o.addAll(one, from, at)
		}
	}
}

// copied returns the outside text that text equals, is a part of, or contains, unless the common
// text is the first party's own.
func (o *outsideTexts) copied(text string, own *ownTexts) (from outsideText, ok bool) {
	text = strings.TrimSpace(text)
	if len(text) < leastCopied {
		return from, false
	}
	for _, one := range o.all {
		if o.compared += len(text) + len(one.text); o.compared > mostCompared {
			return from, false
		}
		both := text
		switch {
		case one.text == text, !one.whole && strings.Contains(one.text, text):
		case !one.whole && strings.Contains(text, one.text):
			both = one.text
		default:
			continue
		}
		if o.compared += own.held; !own.has(both) {
			return one, true
		}
	}
	return from, false
}

// ownTexts holds texts of trusted tools that came from nowhere else before. If such a text is later
// repeated, for example by a model or a tool that received it, the repeater has not written it.
type ownTexts struct {
	all       []string
	held      int
	artifacts map[string]bool    // whether an artifact is the first party's, by the id of the tool call that made it
	asked     map[*seamCall]bool // calls of forged tools that read a first-party artifact
}

// add adds a text that has not come from anywhere else so far. If there are too many, the oldest
// are dropped.
func (o *ownTexts) add(text string) {
	text = strings.TrimSpace(text)
	if len(text) < leastCopied || slices.Contains(o.all, text) {
		return
	}
	o.all = append(o.all, text)
	for o.held += len(text); o.held > mostOutside; o.all = o.all[1:] {
		o.held -= len(o.all[0])
	}
}

// has reports whether a text equals one of these or is a part of one.
func (o *ownTexts) has(text string) bool {
	return slices.ContainsFunc(o.all, func(one string) bool { return strings.Contains(one, text) })
}

// seeRecord records to whom the artifact of a tool call belongs.
func (o *ownTexts) seeRecord(record adk.Record) {
	if call, ok := record.(*adk.ToolCall); ok {
		media, _ := call.Results().(*adk.Media)
		put(&o.artifacts, call.ID(), media != nil && media.TrustTier() == adk.TrustFirstParty)
	}
}

// seeCall records that a forged tool reads a first-party artifact. What it returns is then a part
// of that artifact, even if an earlier turn made the artifact.
func (o *ownTexts) seeCall(c *seamCall, tool *adk.Tool, args any) {
	members, _ := args.(map[string]any)
	id, _ := members[forging.CallID].(string)
	if forging.IsForged(tool) && o.artifacts[id] {
		put(&o.asked, c, true)
	}
}

// seeResult records the text that a tool has returned. The text is from outside, unless the tool is
// trusted or has read the text in a first-party artifact. The caller has checked that a trusted
// tool did not copy it from outside.
func (o *outsideTexts) seeResult(own *ownTexts, c *seamCall, tool *adk.Tool, text string, at int) {
	switch {
	case tool.Trusted():
		own.add(text)
	case !own.asked[c]:
		o.add(outsideText{text, c.seam.String(), at, false})
	}
	delete(own.asked, c)
}

// seeRecord adds the texts of others in a record: what a user says, and what was retrieved from
// third parties.
func (o *outsideTexts) seeRecord(record adk.Record, at int) {
	switch r := record.(type) {
	case *adk.Message:
		if r.Role() == adk.RoleUser && r.Content() != nil {
			o.add(outsideText{r.Content().String(), fmt.Sprintf("message %q of the user", r.ID()), at, true})
		}
	case *adk.Retrievable:
		if r.TrustTier() != adk.TrustFirstParty {
			o.add(outsideText{r.Content().String(), fmt.Sprintf("retrievable %q of a third party", r.ID()), at, false})
		}
	}
}

// executedTools maps the numbers of operations that execute tools to the tools.
type executedTools map[int]*adk.Tool

func (e *executedTools) see(x *adk.Crossing) {
	if tool, ok := x.Record.(*adk.Tool); ok && x.Kind == adk.KindExecute && x.Phase == adk.Begin {
		if *e == nil {
			*e = executedTools{}
		}
		(*e)[x.Op] = tool
	}
}

// of returns the tool that runs in a seam call or above it, and the tool's call; nil if there is
// none.
func (e executedTools) of(c *seamCall) (*adk.Tool, *seamCall) {
	for ; c != nil && c.known(); c = c.parent {
		if c.seam.Label == adk.LabelTool && c.op != nil {
			return e[c.op.number], c
		}
	}
	return nil, nil
}

// resultText returns the result of a tool if it is a text, else nothing.
func resultText(result adk.ToolResult) string {
	switch r := result.(type) {
	case *adk.Tokenizable:
		return r.String()
	case adk.Bytes:
		return string(r)
	}
	return ""
}

// raisedTrust: a text that came from outside in this turn is kept as a first-party retrievable or
// as a standing instruction. The text is what the user said (as a whole), or a text of a third
// party or of an untrusted tool that makes up all of the record or a long part of it. It gives no
// hint about records fetched before, about memories, whose envelope claims nothing, about answers
// to asks, which may be the developers' own, about what a trusted tool returned before it came from
// elsewhere, nor after a gigabyte of comparisons.
type raisedTrust struct {
	outside outsideTexts
	own     ownTexts
	tools   executedTools
	fetched map[string]bool // keys of records seen before
}

func (w *raisedTrust) see(s *history, x *adk.Crossing) {
	w.tools.see(x)
	for _, record := range x.Records {
		w.outside.seeRecord(record, s.n)
		w.own.seeRecord(record)
		put(&w.fetched, record.Key(), true)
	}
	switch x.Kind {
	case adk.KindAdd, adk.KindStore, adk.KindMutate:
		if x.Record == nil {
			return
		}
		w.look(s, x)
		w.outside.seeRecord(x.Record, s.n)
		w.own.seeRecord(x.Record)
		put(&w.fetched, x.Record.Key(), true)
	case adk.KindCall, adk.KindReturn:
		tool, c := w.tools.of(s.called)
		if tool == nil || c != s.called {
			return
		}
		if x.Kind == adk.KindCall {
			w.own.seeCall(c, tool, x.Args)
			return
		}
		text := resultText(x.Result)
		if tool.Trusted() {
			if _, ok := w.outside.copied(text, &w.own); ok {
				return // the tool copied it from elsewhere
			}
		}
		w.outside.seeResult(&w.own, c, tool, text, s.n)
	}
}

func (w *raisedTrust) look(s *history, x *adk.Crossing) {
	var text, as string
	switch r := x.Record.(type) {
	case *adk.Retrievable:
		if r.TrustTier() == adk.TrustFirstParty {
			text, as = r.Content().String(), fmt.Sprintf("first-party retrievable %q", r.ID())
		}
	case *adk.Tokenizable:
		if x.Collection == adk.Instructions {
			text, as = r.String(), "standing instruction"
		}
	}
	if as == "" || w.fetched[x.Record.Key()] {
		return
	}
	if from, ok := w.outside.copied(text, &w.own); ok {
		s.hint(s.n, s.at, since(from.at), "%s is a text of %s", as, from.from)
	}
}

// needlessTrust: a trusted tool returns a text that others have written: an answer that it got over
// HTTP, one of its arguments, what the user said, or a text of a third party or of an untrusted
// tool. It gives no hint about answers to asks that are not HTTP, which may be the developers' own,
// about what the tool returned before it came from elsewhere or was read in the tool's artifact,
// nor about short texts.
type needlessTrust struct {
	outside outsideTexts
	own     ownTexts
	tools   executedTools
	asked   map[*seamCall]*outsideTexts // what trusted tools have received, by their calls
	overs   map[int]string              // names of the parties that trusted tools ask over HTTP, by operation
}

func (w *needlessTrust) see(s *history, x *adk.Crossing) {
	w.tools.see(x)
	for _, record := range x.Records {
		w.outside.seeRecord(record, s.n)
		w.own.seeRecord(record)
	}
	switch x.Kind {
	case adk.KindAdd, adk.KindStore:
		w.outside.seeRecord(x.Record, s.n)
		w.own.seeRecord(x.Record)
	case adk.KindCall:
		tool, c := w.tools.of(s.called)
		switch {
		case tool == nil || c != s.called:
		case tool.Trusted():
			w.asking(c).addAll(x.Args, "its arguments", s.n)
		default:
			w.own.seeCall(c, tool, x.Args)
		}
	case adk.KindAsk, adk.KindPiece:
		if tool, c := w.tools.of(s.at); tool != nil && tool.Trusted() {
			w.answer(s, c, x)
		}
	case adk.KindReturn:
		tool, c := w.tools.of(s.called)
		if tool == nil || c != s.called {
			return
		}
		text := resultText(x.Result)
		if !tool.Trusted() || !w.look(s, text, w.asking(c)) {
			w.outside.seeResult(&w.own, c, tool, text, s.n)
		}
	}
}

// asking returns what the call of a tool has received from outside.
func (w *needlessTrust) asking(c *seamCall) *outsideTexts {
	if w.asked == nil {
		w.asked, w.overs = map[*seamCall]*outsideTexts{}, map[int]string{}
	}
	if w.asked[c] == nil {
		w.asked[c] = &outsideTexts{}
	}
	return w.asked[c]
}

// answer records what a tool is answered over HTTP.
func (w *needlessTrust) answer(s *history, c *seamCall, x *adk.Crossing) {
	heard := w.asking(c)
	var data map[string]any
	switch {
	case x.Kind == adk.KindPiece && w.overs[x.Op] != "":
		if json.Unmarshal(x.JSON, &data) == nil {
			heard.addAll(data, "what "+w.overs[x.Op]+" answers", s.n)
		}
	case x.Kind == adk.KindAsk && x.Phase == adk.Begin && httpform.IsRequest(x.JSON):
		w.overs[x.Op] = x.Name
	}
}

// look reports whether a trusted tool returns a text of others, and gives a hint if so.
func (w *needlessTrust) look(s *history, text string, heard *outsideTexts) bool {
	from, ok := heard.copied(text, &w.own)
	if !ok {
		from, ok = w.outside.copied(text, &w.own)
	}
	if ok {
		s.hint(s.n, s.called, since(from.at), "%s is trusted, and gives a text of %s", s.called.seam, from.from)
	}
	delete(w.asked, s.called)
	return ok
}

// uncountedBudget: an executor asks over HTTP without counting tokens, although the chat options in
// a stash bound its prompts; or a model refuses a request for its length, and nothing was counted
// in the turn. It gives no hint about options that are not in a stash.
type uncountedBudget struct {
	bounded int // place where a stash set a bound
	counted map[*seamCall]bool
	ever    bool
	refused map[int]bool // asks whose status may mean a refusal for length, by operation
	hinted  bool
}

// The names of package chat: of its options in a stash, and of the log of what it has counted.
const (
	chatOptions  = "openaiChatCompletions"
	chatWindow   = "contextWindow"
	chatEncoding = "tokenEncoding"
	chatUsage    = "context-window-usage"
)

func (w *uncountedBudget) see(s *history, x *adk.Crossing) {
	if w.refused == nil {
		w.counted, w.refused = map[*seamCall]bool{}, map[int]bool{}
	}
	switch x.Kind {
	case adk.KindCall:
		if all, ok := x.Value.(map[string]any); ok {
			w.bound(s, all[chatOptions])
		}
	case adk.KindStash:
		switch x.Name {
		case chatOptions:
			w.bound(s, x.Value)
		case chatOptions + "." + chatWindow:
			w.bound(s, map[string]any{chatWindow: x.Value})
		}
	case adk.KindReportLog:
		if x.Name == chatUsage {
			w.counted[s.at], w.ever = true, true
		}
	case adk.KindAsk:
		if x.Phase == adk.Begin && w.bounded > 0 && inExecutor(s.at) && !w.counted[s.at] && httpform.IsRequest(x.JSON) {
			w.say(s, w.bounded, "%s is asked, and nobody has counted what it is shown: the stash has a %s, and no %s", x.Name, chatWindow, chatEncoding)
		}
	case adk.KindPiece:
		w.piece(s, x)
	}
}

// bound looks for a bound in a layer of options.
func (w *uncountedBudget) bound(s *history, layer any) {
	options, _ := layer.(map[string]any)
	if window, has := options[chatWindow]; has && window != nil && options[chatEncoding] == nil {
		w.bounded = s.n
	}
}

// tooLong lists what providers say about a request that is too long for a model.
var tooLong = []string{"context_length_exceeded", "maximum context length", "prompt is too long", "context window"}

// piece looks for a refusal for length.
func (w *uncountedBudget) piece(s *history, x *adk.Crossing) {
	var head struct{ Status int }
	text := string(x.JSON)
	switch {
	case json.Unmarshal(x.JSON, &head) == nil && head.Status > 0:
		w.refused[x.Op] = head.Status == 400 || head.Status == 413 || head.Status == 422
	case w.refused[x.Op] && !w.ever && slices.ContainsFunc(tooLong, func(words string) bool { return strings.Contains(text, words) }):
		w.say(s, 0, "a request is refused for its length, and nothing was counted in this turn")
	}
}

// say gives only one hint in a turn: all further ones would be the same.
func (w *uncountedBudget) say(s *history, related int, format string, args ...any) {
	if !w.hinted {
		w.hinted = true
		s.hint(s.n, s.at, since(related), format, args...)
	}
}
