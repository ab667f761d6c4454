package explore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/forging"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/unescaped"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/property/internal/chatfault"
	"github.com/adkreplay/adkreplay/property/internal/wanted"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file breaks answers of the world. The broken answer is derived from the answer that the
// world gave in a run without the fault, and is given through the config's Outside. A function that
// was passed to adk.Ask is still called if what it is asked for is done: it may count its calls. An
// HTTP client, however, asks nobody, so whatever takes the world's place in a test, such as a
// script of answers, does not advance. Therefore later requests to the same host are answered from
// that earlier run too, as long as it has answers to them. A read never gets the answer to another
// question.

// The reasons for which a fault of the world is not tried.
const (
	onlyAsks    = "only what asks the world can be answered otherwise"
	onlyPieces  = "it is made at a piece of an answer"
	onlyAtAsks  = "it is made where the world is asked"
	notAnswered = "nobody was answered there"
	onlyHTTP    = "only what is asked over HTTP has a status, and bytes that can be cut"
	onlyStreams = "only a part of an answer that comes in pieces can come twice"
	onlyJSON    = "only JSON can end early"
	onlyValues  = "of an answer in pieces it is the connection that breaks, before the first"
	noOneElse   = "nothing else is asked of the same behind it"
	nothingElse = "nothing else was asked of the same and answered otherwise"
	isEmpty     = "the answer is empty"
	onlyChat    = "only an answer of a model with what the fault changes in it"
	aborted     = "the run is aborted, and nobody is asked"
	goesOn      = "a fault before it goes on there, and leaves nothing to answer"
	onlyMembers = "only JSON with something in it can have nothing in it"
	onlyLoops   = "nothing like it is asked, and answered otherwise, behind it"
	isOfBody    = "what is asked of a body is answered from that body, or not at all"
)

// What broken answers contain, and how long a slow one takes.
const (
	slowAnswer   = time.Hour
	retryAfter   = "1"
	answerFormat = "application/json"
)

// asked is an ask in a run, and its answer.
type asked struct {
	op      int
	of      string
	request json.RawMessage
	http    bool
	strand  int // the strand that asked
	first   int // the crossing at which it was asked
	pieces  []adk.Piece
	at      []int // the crossings of the pieces
	value   json.RawMessage
	err     error
	done    bool
	held    bool     // a lasting fault answered it
	others  []*asked // all asks of the same name in the order of the run, this one included
}

// isPoint reports whether it is a fault point of user code, which asks nobody.
func (w *asked) isPoint() bool { return w != nil && strings.HasPrefix(w.of, adk.FaultPoints) }

// isOneOfSeveral reports whether a different request is made to the same later.
func (w *asked) isOneOfSeveral() bool {
	return slices.ContainsFunc(w.others, func(other *asked) bool {
		return other.first > w.first && string(other.request) != string(w.request)
	})
}

// whole returns the answer as it was.
func (w *asked) whole() *brokenAnswer {
	return &brokenAnswer{value: w.value, pieces: w.pieces, err: w.err, asked: !w.http}
}

// askedIn returns the asks of a run, by their operations.
func askedIn(crossings []adk.Crossing) map[int]*asked {
	all := map[int]*asked{}
	of := map[string][]*asked{}
	for i := range crossings {
		x := &crossings[i]
		switch one := all[x.Op]; {
		case wire.Asks(x):
			one = &asked{op: x.Op, of: x.Name, request: x.JSON, http: httpform.IsRequest(x.JSON), strand: x.Strand, first: i + 1}
			all[x.Op], of[x.Name] = one, append(of[x.Name], one)
		case one == nil:
		case wire.IsPiece(x):
			one.pieces = append(one.pieces, adk.Piece{Value: x.JSON, Open: x.Flag})
			one.at = append(one.at, i+1)
		case wire.IsAsk(x):
			one.value, one.err, one.done = x.JSON, x.Err, true
			if errors.Is(x.Err, adk.E_ASK_STOPPED) {
				one.err = nil // the asking code had enough, which is no failure of the answer
			}
		}
	}
	for _, one := range all {
		one.others = of[one.of]
	}
	return all
}

// brokenAnswer is an answer with a fault.
type brokenAnswer struct {
	value  json.RawMessage
	pieces []adk.Piece
	err    error
	after  time.Duration
	asked  bool // the world is asked all the same
}

// chatting returns a function that breaks the model's message in an answer.
func chatting(fault chatfault.Fault) func(*asked, int) (*brokenAnswer, string) {
	return func(w *asked, _ int) (*brokenAnswer, string) {
		broken, any := fault.Break(chatfault.Answer{Value: w.value, Pieces: w.pieces, HTTP: w.http})
		if !any {
			return nil, onlyChat
		}
		return &brokenAnswer{value: broken.Value, pieces: broken.Pieces, err: w.err}, ""
	}
}

// given returns the answer for Outside. Each call returns one that starts from the first piece.
func (b *brokenAnswer) given() *adk.Answer {
	rest := b.pieces
	return &adk.Answer{Value: b.value, Err: b.err, After: b.after, Asked: b.asked, Next: func() (adk.Piece, bool) {
		if len(rest) == 0 {
			return adk.Piece{}, false
		}
		piece := rest[0]
		rest = rest[1:]
		return piece, true
	}}
}

// aroundWorld returns an Outside that answers instead of the world where a fault requires it, and
// otherwise calls inner, if that is not nil. Without a script and without a fault of the world it
// returns inner itself.
func (a *attempt) aroundWorld(inner adk.Outside) adk.Outside {
	if a.script == nil && !slices.ContainsFunc(a.faults, func(f planned) bool { return f.world != nil }) {
		return inner
	}
	return func(ctx context.Context, q adk.Question) *adk.Answer {
		answer := a.worldAnswers(q)
		a.askedForEver()
		if answer != nil {
			if err := ctx.Err(); err != nil && answer.Err == nil {
				return &adk.Answer{Err: err} // as clients do: the turn may go on after its code ended ctx
			}
			if inner != nil && answer.Asked { // an Outside takes the world's place, so it is asked in that place
				_ = inner(ctx, q)
				answer.Asked = false
			}
			return answer
		}
		if inner != nil {
			return inner(ctx, q)
		}
		return nil
	}
}

// worldAnswers returns an answer with a fault, or one that follows it; nil leaves the answer to the
// world.
func (a *attempt) worldAnswers(q adk.Question) *adk.Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	var broken *planned // if two faults strike the same answer, the later breaks what the earlier left
	for i := range a.faults {
		if f := &a.faults[i]; f.world != nil && a.strikesAsk(f, q) {
			a.hasFired(f)
			f.begins()
			f.first(q.Of, wanted.What{Request: q.Request})
			broken = f
		}
	}
	if broken != nil {
		answer := a.breaks(broken, q)
		if broken.Kind == turn.AskSlow && a.isApart() {
			a.mu.Unlock()
			watchdog.AtRest(a.label, false)
			a.mu.Lock()
		}
		return answer
	}
	for i := range a.faults {
		f := &a.faults[len(a.faults)-1-i]
		if f.world == nil || !f.fired {
			continue
		}
		if f.goesOn(q.Of, wanted.What{Request: q.Request}) {
			a.downed = append(a.downed, q.Op)
			return a.breaks(f, q)
		}
		if f.world.of == q.Of {
			if f.left == 0 && string(q.Request) == string(f.world.request) {
				f.hits++
			}
			if !f.world.http {
				continue // the world itself is asked, and is where it would be
			}
			if next := f.next(q.Request); next != nil {
				a.script.skip(q.Of, q.Request)
				return next.whole().given()
			}
		}
	}
	return a.script.answer(q.Of, q.Request)
}

// breaks answers a question with a fault.
func (a *attempt) breaks(f *planned, q adk.Question) *adk.Answer {
	f.hits++
	if worldFaults[f.Kind].given {
		a.script.skip(q.Of, q.Request)
	}
	a.misled = append(a.misled, q.Op)
	if worldFaults[f.Kind].refused {
		a.unasked = append(a.unasked, q.Op)
	}
	if f.Kind == turn.AskAgain && f.hits > 1 {
		return f.world.again(f.hits - 1).given()
	}
	return f.answer()
}

// unseen explains what a check that inspects state of Open does not see in this run; empty if it
// sees everything.
func (a *attempt) unseen() string {
	for _, f := range a.faults {
		if f.fired && f.world != nil && f.world.http && a.instance.Check != nil {
			return fmt.Sprintf("from crossing %d on %s was not called, and answered from the undisturbed run: what Open made in its place saw nothing of that, and the crossings have it", f.At, f.world.of)
		}
	}
	return ""
}

// begins records which answers of the earlier run were given before the fault, or by it.
func (f *planned) begins() {
	f.given = map[*asked]bool{}
	for _, one := range f.world.others {
		f.given[one] = one.first < f.world.first || one == f.world && worldFaults[f.Kind].given
	}
}

// next returns the answer that follows for a request: the next one to an identical request that was
// not given yet. If there is none, a read gets the last answer to that request again. Any other
// request, such as one to a model, gets the next answer of the same method and path that was not
// given yet. Nil leaves the answer to the world.
func (f *planned) next(request json.RawMessage) (next *asked) {
	method, _, _ := httpform.RequestLine(request)
	reads := method == http.MethodGet || method == http.MethodHead
	for _, one := range f.world.others {
		given := f.given[one]
		switch {
		case !one.done:
		case string(one.request) != string(request):
			if !reads && !given && next == nil && one != f.world && httpform.SameLine(one.request, request) {
				next = one
			}
		case !given:
			f.given[one] = true
			return one
		case reads:
			next = one
		}
	}
	f.given[next] = true
	return next
}

// worldFault says how a kind of fault breaks an answer: at a piece of it, or where it is asked for.
// breaks returns an empty reason if it can.
type worldFault struct {
	atPiece bool
	given   bool // the answer arrives all the same, and asking again gets the next answer
	repeats bool // the answer may ask for something to be done again
	refused bool // what was asked was not done
	own     bool // a client outside HTTP may have an error of its own for it
	// deceives means that the answer looks right and is wrong. An example is two calls of a model
	// with the same id, but not two calls with ids of their own.
	deceives bool
	breaks   func(w *asked, piece int) (*brokenAnswer, string)
}

var worldFaults = [turn.FaultKindEnd]worldFault{
	turn.AskRefused:      {own: true, refused: true, breaks: failing(errRefused)},
	turn.AskTimeout:      {own: true, refused: true, breaks: failing(errUnreached)},
	turn.AskStalled:      {own: true, atPiece: true, breaks: cutBefore(errStalled, errStalled)},
	turn.AskBusy:         {own: true, refused: true, breaks: answering(http.StatusTooManyRequests)},
	turn.AskFailed:       {own: true, breaks: answering(http.StatusInternalServerError)},
	turn.AskUnavailable:  {own: true, refused: true, breaks: answering(http.StatusServiceUnavailable)},
	turn.AskUnauthorized: {own: true, refused: true, breaks: answering(http.StatusUnauthorized)},
	turn.AskCut:          {own: true, atPiece: true, breaks: cutBefore(io.ErrUnexpectedEOF, io.EOF)},
	turn.AskCutWithin:    {atPiece: true, breaks: cutWithin},
	turn.AskTwice:        {atPiece: true, given: true, repeats: true, deceives: true, breaks: comingTwice},
	turn.AskEmpty:        {own: true, breaks: emptied},
	turn.AskShort:        {atPiece: true, breaks: shortened},
	turn.AskOther:        {given: true, repeats: true, deceives: true, breaks: mistaken},
	turn.AskSlow:         {given: true, breaks: slowed},
	turn.ChatArguments:   {given: true, breaks: chatting(chatfault.Arguments)},
	turn.ChatTool:        {given: true, breaks: chatting(chatfault.Tool)},
	turn.ChatTwins:       {given: true, repeats: true, deceives: true, breaks: chatting(chatfault.Twins)},
	turn.ChatLength:      {given: true, breaks: chatting(chatfault.Length)},
	turn.ChatRefusal:     {given: true, breaks: chatting(chatfault.Refusal)},
	turn.ChatSeveral:     {given: true, repeats: true, breaks: chatting(chatfault.Several)},
	turn.AskDown:         {own: true, refused: true, breaks: failing(errRefused)},
	turn.AskDownOne:      {own: true, refused: true, breaks: failing(errRefused)},
	turn.AskLost:         {own: true, given: true, breaks: losing},
	turn.AskBare:         {deceives: true, breaks: bared},
	turn.AskAgain:        {given: true, repeats: true, deceives: true, breaks: repeated},
}

// broken returns the answer with a fault at the spot, or why there is none.
func (s *faultPoint) broken(k turn.FaultKind) (*brokenAnswer, string) {
	fault := worldFaults[k]
	piece := -1
	switch {
	case s.world == nil:
		return nil, onlyAsks
	case s.world.isPoint():
		return nil, asksNobody
	case fault.atPiece && !wire.IsPiece(s.x):
		return nil, onlyPieces
	case !fault.atPiece && !wire.Asks(s.x):
		return nil, onlyAtAsks
	case !s.world.done:
		return nil, notAnswered
	case s.world.held:
		return nil, goesOn
	case s.world.of == forging.Spool && (k == turn.AskEmpty || k == turn.AskOther || k == turn.AskBare):
		return nil, isOfBody
	case s.ended && wire.IsAsk(s.x):
		return nil, aborted
	case k == turn.AskDownOne && !s.world.isOneOfSeveral():
		return nil, noOneElse
	}
	if fault.atPiece {
		piece = slices.Index(s.world.at, s.at)
	}
	answer, why := fault.breaks(s.world, piece)
	if (why == "" || why == onlyHTTP) && fault.own && !s.world.http && s.errors != nil {
		if err := s.errors(s.world.of, k); err != nil {
			answer, why = &brokenAnswer{err: err, pieces: s.world.pieces[:max(piece, 0)]}, ""
		}
	}
	if why == "" {
		answer.asked = !fault.refused && !s.world.http
		answer.says(s.world)
	}
	return answer, why
}

// says updates the length in the head of a complete HTTP answer, if the head has one.
func (b *brokenAnswer) says(w *asked) {
	if !w.http || b.err != nil || len(b.pieces) == 0 {
		return
	}
	length := 0
	for _, p := range b.pieces[1:] {
		length += len(httpform.BytesOf(p.Value))
	}
	b.pieces = slices.Clone(b.pieces)
	b.pieces[0].Value = httpform.WithLength(b.pieces[0].Value, length)
}

// somebody is the address in errors: one of those reserved for documentation, which nobody has.
var somebody = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443}

var (
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Addr: somebody, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	// errStalled is the error of package net if nothing has come in time.
	errStalled = &net.OpError{Op: "read", Net: "tcp", Addr: somebody, Err: os.ErrDeadlineExceeded}
	// errUnreached is the error of package net if a connection could not be made in time. It wraps
	// an error that is private to net. A dialer whose deadline has already passed returns it
	// without dialing.
	_, errUnreached = (&net.Dialer{Deadline: time.Unix(1, 0)}).Dial(somebody.Network(), somebody.String())
)

func failing(err error) func(*asked, int) (*brokenAnswer, string) {
	return func(*asked, int) (*brokenAnswer, string) { return &brokenAnswer{err: err}, "" }
}

// answering returns a function that replaces an HTTP answer by one with the given status.
func answering(status int) func(*asked, int) (*brokenAnswer, string) {
	headers := map[string]any{"content-type": answerFormat}
	if status == http.StatusTooManyRequests {
		headers["retry-after"] = retryAfter
	}
	head, _ := unescaped.Marshal(httpform.Head{Status: status, Headers: headers}) // texts can always be marshaled
	body, _ := unescaped.Marshal(map[string]any{"error": map[string]any{"code": status, "message": http.StatusText(status)}})
	pieces := []adk.Piece{{Value: head}, {Value: httpform.PieceOf(httpform.Whole, body).JSON()}}
	return func(w *asked, _ int) (*brokenAnswer, string) {
		if !w.http {
			return nil, onlyHTTP
		}
		return &brokenAnswer{pieces: pieces}, ""
	}
}

// errLost is the error of package net if the connection is lost while waiting for an answer.
var errLost = &net.OpError{Op: "read", Net: "tcp", Addr: somebody, Err: os.NewSyscallError("read", syscall.ECONNRESET)}

// losing loses an answer that does not come in pieces.
func losing(w *asked, _ int) (*brokenAnswer, string) {
	if w.http || w.pieces != nil {
		return nil, onlyValues
	}
	return &brokenAnswer{err: errLost}, ""
}

// cutBefore ends an answer with an error before a piece. Over HTTP the error is atHead if nothing
// of the answer has come.
func cutBefore(err, atHead error) func(*asked, int) (*brokenAnswer, string) {
	return func(w *asked, piece int) (*brokenAnswer, string) {
		if w.http && piece == 0 {
			return &brokenAnswer{err: atHead}, ""
		}
		return &brokenAnswer{pieces: w.pieces[:piece], err: err}, ""
	}
}

func cutWithin(w *asked, piece int) (*brokenAnswer, string) {
	if !w.http || piece == 0 {
		return nil, onlyHTTP
	}
	data := httpform.BytesOf(w.pieces[piece].Value)
	if len(data) < 2 {
		return nil, isEmpty
	}
	half := adk.Piece{Value: httpform.PieceOf(httpform.Whole, data[:len(data)/2]).JSON(), Open: true}
	return &brokenAnswer{pieces: append(slices.Clone(w.pieces[:piece]), half), err: io.ErrUnexpectedEOF}, ""
}

func comingTwice(w *asked, piece int) (*brokenAnswer, string) {
	if w.http && (piece == 0 || len(w.pieces) < 3) {
		return nil, onlyStreams
	}
	twice := slices.Insert(slices.Clone(w.pieces), piece, w.pieces[piece])
	return &brokenAnswer{pieces: twice, err: w.err}, ""
}

func emptied(w *asked, _ int) (*brokenAnswer, string) {
	switch {
	case w.err != nil:
		return nil, notAnswered
	case w.http && len(w.pieces) > 1:
		return &brokenAnswer{pieces: w.pieces[:1]}, ""
	case w.value != nil && string(w.value) != "null":
		return &brokenAnswer{value: json.RawMessage("null")}, ""
	case !w.http && len(w.pieces) > 0:
		return &brokenAnswer{}, ""
	}
	return nil, isEmpty
}

// shortened ends the answer in the middle of a piece's JSON, as if it were complete.
func shortened(w *asked, piece int) (*brokenAnswer, string) {
	if !w.http || piece == 0 {
		return nil, onlyHTTP
	}
	half, ok := httpform.HalfOf(w.pieces[piece].Value)
	if !ok {
		return nil, onlyJSON
	}
	return &brokenAnswer{pieces: append(slices.Clone(w.pieces[:piece]), adk.Piece{Value: half})}, ""
}

// bared returns an answer with nothing in it but of the same shape: an object without members, or
// an empty list. The pieces of an HTTP answer are taken as one body, not as a stream.
func bared(w *asked, _ int) (*brokenAnswer, string) {
	if !w.http {
		if nothing := bareOf(w.value); nothing != nil && w.err == nil {
			return &brokenAnswer{value: nothing}, ""
		}
		return nil, onlyMembers
	}
	if len(w.pieces) < 2 || w.err != nil {
		return nil, onlyMembers
	}
	status, _, err := httpform.ReadHead(w.pieces[0].Value)
	var body []byte
	for _, p := range w.pieces[1:] {
		body = append(body, httpform.BytesOf(p.Value)...)
	}
	nothing := bareOf(body)
	if err != nil || status >= http.StatusMultipleChoices || nothing == nil {
		return nil, onlyMembers
	}
	return &brokenAnswer{pieces: []adk.Piece{w.pieces[0], {Value: httpform.PieceOf(httpform.Whole, nothing).JSON()}}}, ""
}

// bareOf returns {} or [] for the JSON of an object or a list that has something in it, else nil.
func bareOf(text []byte) json.RawMessage {
	text = bytes.TrimSpace(text)
	if len(text) < 2 || !json.Valid(text) || len(bytes.TrimSpace(text[1:len(text)-1])) == 0 {
		return nil
	}
	switch text[0] {
	case '{':
		return json.RawMessage("{}")
	case '[':
		return json.RawMessage("[]")
	}
	return nil
}

// mistaken returns the answer to another ask of the same name: the next one that was answered
// otherwise, or else one before.
func mistaken(w *asked, _ int) (*brokenAnswer, string) {
	at := slices.Index(w.others, w)
	for _, other := range append(slices.Clone(w.others[at+1:]), w.others[:at]...) {
		if other.done && other.http == w.http && (other.value == nil) == (w.value == nil) && !other.answersAs(w) {
			return other.whole(), ""
		}
	}
	return nil, nothingElse
}

// answersAs reports whether two asks were answered alike.
func (w *asked) answersAs(other *asked) bool {
	return string(w.value) == string(other.value) && (w.err == nil) == (other.err == nil) &&
		slices.EqualFunc(w.pieces, other.pieces, func(a, b adk.Piece) bool { return string(a.Value) == string(b.Value) })
}

func slowed(w *asked, _ int) (*brokenAnswer, string) {
	slow := w.whole()
	slow.pieces = slices.Clone(slow.pieces)
	if len(slow.pieces) > 0 {
		slow.pieces[0].After = slowAnswer
	} else {
		slow.after = slowAnswer
	}
	return slow, ""
}
