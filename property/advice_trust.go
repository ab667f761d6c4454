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

// What is copied has to be so long for it to be no chance, and of what others said so
// many bytes are kept. Each text is held against all of these: beyond so many bytes that
// were compared, no more is, for a trace of many texts would take the square of them.
const (
	leastCopied  = 32
	mostOutside  = 4 << 20
	mostCompared = 1 << 30
)

// outsideText is a text that somebody else than the developers has written.
type outsideText struct {
	text, from string
	at         int
	whole      bool // it counts as copied only where it is all of a text
}

// outsideTexts are texts from outside, in the order in which they came. The oldest are
// forgotten where there are too many.
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

// addAll adds the texts in plain data.
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

// copied is what of it a text is a copy of, or a part, or has in it, unless what both have is
// the first party's own.
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

// ownTexts are texts of trusted tools that nobody else had given before. Whoever repeats one,
// as a model does that was shown it, or a tool that it was handed to, has not written it.
type ownTexts struct {
	all       []string
	held      int
	artifacts map[string]bool    // whether they are the first party's, by the tool calls that made them
	asked     map[*seamCall]bool // the calls of forged tools that read one of the first party's
}

// add adds a text that nobody else has given so far. The oldest are forgotten where there are
// too many.
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

// has reports whether a text is one of these, or a part of one.
func (o *ownTexts) has(text string) bool {
	return slices.ContainsFunc(o.all, func(one string) bool { return strings.Contains(one, text) })
}

// seeRecord notes whose the artifact of a tool call is.
func (o *ownTexts) seeRecord(record adk.Record) {
	if call, ok := record.(*adk.ToolCall); ok {
		media, _ := call.Results().(*adk.Media)
		put(&o.artifacts, call.ID(), media != nil && media.TrustTier() == adk.TrustFirstParty)
	}
}

// seeCall notes whether a tool was forged and is asked of an artifact of the first party: what
// it gives is a part of that, also where an earlier turn has made it.
func (o *ownTexts) seeCall(c *seamCall, tool *adk.Tool, args any) {
	members, _ := args.(map[string]any)
	id, _ := members[forging.CallID].(string)
	if forging.IsForged(tool) && o.artifacts[id] {
		put(&o.asked, c, true)
	}
}

// seeResult takes in the text that a tool has returned: it is from outside, unless the tool is
// a trusted one, which has it from nobody else, or has read it in an artifact of such a one.
func (o *outsideTexts) seeResult(own *ownTexts, c *seamCall, tool *adk.Tool, text string, at int) {
	switch {
	case tool.Trusted():
		own.add(text)
	case !own.asked[c]:
		o.add(outsideText{text, c.seam.String(), at, false})
	}
	delete(own.asked, c)
}

// seeRecord adds what a record holds of others: what a user says, whole, and what was
// retrieved of third parties.
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

// executedTools are the tools of the calls that have begun, by the number of the
// operation that runs them.
type executedTools map[int]*adk.Tool

func (e *executedTools) see(x *adk.Crossing) {
	if tool, ok := x.Record.(*adk.Tool); ok && x.Kind == adk.KindExecute && x.Phase == adk.Begin {
		if *e == nil {
			*e = executedTools{}
		}
		(*e)[x.Op] = tool
	}
}

// of is the tool that runs in a seam call, and the call; nil where there is none.
func (e executedTools) of(c *seamCall) (*adk.Tool, *seamCall) {
	for ; c != nil && c.known(); c = c.parent {
		if c.seam.Label == adk.LabelTool && c.op != nil {
			return e[c.op.number], c
		}
	}
	return nil, nil
}

// resultText is what a tool returned, where that is a text.
func resultText(result adk.ToolResult) string {
	switch r := result.(type) {
	case *adk.Tokenizable:
		return r.String()
	case adk.Bytes:
		return string(r)
	}
	return ""
}

// raisedTrust: a text that came from outside in the turn is kept as a first-party
// retrievable, or as a standing instruction: what the user said, or what of a third
// party, or of a tool that is not trusted, makes up all of it or a long part. It is
// silent about what was fetched before, about memories, whose envelope claims nothing,
// about what the world was asked, which may be the developers' own, about what a trusted
// tool gave before others did, and beyond a gigabyte that was compared.
type raisedTrust struct {
	outside outsideTexts
	own     ownTexts
	tools   executedTools
	fetched map[string]bool // keys of records
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
				return // it has it from others
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

// needlessTrust: a tool that is trusted returns a text that others have written: what it
// was answered over HTTP, an argument, what the user said, or what came of a third party
// or of a tool that is not trusted. It is silent about what was asked of functions, which
// may be the developers' own, about what the tool gave before others did, or they read in its
// artifact, and about short texts.
type needlessTrust struct {
	outside outsideTexts
	own     ownTexts
	tools   executedTools
	asked   map[*seamCall]*outsideTexts // of tools that are trusted
	overs   map[int]string              // whom the asks of these ask over HTTP, by operation
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

// asking is what a call of a tool has heard.
func (w *needlessTrust) asking(c *seamCall) *outsideTexts {
	if w.asked == nil {
		w.asked, w.overs = map[*seamCall]*outsideTexts{}, map[int]string{}
	}
	if w.asked[c] == nil {
		w.asked[c] = &outsideTexts{}
	}
	return w.asked[c]
}

// answer takes in what a tool is answered over HTTP.
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

// look reports whether a trusted tool gives a text of others.
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

// uncountedBudget: an executor asks over HTTP although a stash of chat's options bounds
// its prompts, and counts nothing; or a model refuses a request for its length, and
// nothing had been counted in the turn. It is silent about options that no stash has.
type uncountedBudget struct {
	bounded int // where a stash said so
	counted map[*seamCall]bool
	ever    bool
	refused map[int]bool // asks with a status that may mean it, by operation
	hinted  bool
}

// What chat calls its options in a stash, and its log of what it has counted.
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

// bound takes in a layer of options.
func (w *uncountedBudget) bound(s *history, layer any) {
	options, _ := layer.(map[string]any)
	if window, has := options[chatWindow]; has && window != nil && options[chatEncoding] == nil {
		w.bounded = s.n
	}
}

// tooLong are what providers say of a request that is too long for a model.
var tooLong = []string{"context_length_exceeded", "maximum context length", "prompt is too long", "context window"}

// piece looks for a refusal.
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

// say hints once: all that follows is the same.
func (w *uncountedBudget) say(s *history, related int, format string, args ...any) {
	if !w.hinted {
		w.hinted = true
		s.hint(s.n, s.at, since(related), format, args...)
	}
}
