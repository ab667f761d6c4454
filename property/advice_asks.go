package property

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/modelapi"
	"github.com/adkreplay/adkreplay/property/internal/chatfault"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// longSilence is how long an executor may do nothing that crosses, on the turn's clock, before it
// seems to wait for a model that it asks unobserved.
const longSilence = 100 * time.Millisecond

// unseenAsk: time passes in the call of an executor, and nothing is observed for which it could
// wait: no ask, no operation that is not done, no strand of its own. It gives no hint if the
// executor asks anything that is observed, nor if the clock stands still, as under a script.
type unseenAsk struct {
	last  time.Time
	calls map[*seamCall]silence
}

type silence struct {
	longer time.Duration // the longest silence so far
	at     int
	asks   bool
}

func (w *unseenAsk) see(s *history, x *adk.Crossing) {
	before := w.last
	w.last = x.At
	if x.Kind == adk.KindReturn {
		if one, known := w.calls[s.called]; known {
			w.quiet(s, s.called, &one, before, x.At)
			if !one.asks && one.longer >= longSilence {
				s.hint(one.at, s.called, since(s.called.began), "%s pass in %s, and nobody is told to be asked", one.longer, s.called.seam)
			}
			delete(w.calls, s.called)
		}
		return
	}
	if x.Kind == adk.KindCall {
		if s.called.seam.Label == adk.LabelExecutor {
			put(&w.calls, s.called, silence{})
		}
		return
	}
	if one, known := w.calls[s.at]; known {
		w.quiet(s, s.at, &one, before, x.At)
		one.asks = one.asks || x.Kind == adk.KindAsk
		w.calls[s.at] = one
	}
}

// quiet counts the time since the previous crossing, unless an operation was under way.
func (w *unseenAsk) quiet(s *history, c *seamCall, one *silence, before, now time.Time) {
	for _, op := range s.ops {
		if op.call == c && op.began < s.n {
			return
		}
	}
	if d := now.Sub(before); d > one.longer && !before.IsZero() {
		one.longer, one.at = d, s.n
	}
}

// repeatedAsk: a seam call asks a party exactly what that party has already answered successfully.
// It gives no hint about asks that only read, after an error, an error status or a stream of a model
// that ended before the model was done, across different seam calls, about requests for access
// tokens, which expire, and if the request has a key that makes it idempotent.
type repeatedAsk struct {
	open  map[int]*oneAsk // by operation
	well  map[oneRequest]int
	keyed lookedThrough
}

type oneRequest struct {
	call   *seamCall
	of     string
	digest [sha256.Size]byte // of the request, which may be as long as the whole trace each time
}

type oneAsk struct {
	request oneRequest
	at      int
	refused bool
	stream  *modelapi.Answer // what came of a stream; nil if the answer is none
	ofModel bool             // the stream has the form of a model's
}

// takes takes a piece of the answer.
func (a *oneAsk) takes(piece json.RawMessage) {
	switch status, headers, err := httpform.ReadHead(piece); {
	case err == nil && status != 0:
		a.refused = a.refused || status >= 400
		if a.stream, a.ofModel = nil, false; httpform.FormOf(http.Header(headers).Get("Content-Type")) != httpform.Whole {
			a.stream = &modelapi.Answer{Keep: true}
		}
	case a.stream != nil:
		known := a.stream.Take(piece)
		a.ofModel = a.ofModel || known
	}
}

// isCut reports whether the stream of a model has ended before the model was done.
func (a *oneAsk) isCut() bool { return a.ofModel && a.stream.Finish == "" && !a.stream.IsDone() }

func (w *repeatedAsk) see(s *history, x *adk.Crossing) {
	if w.open == nil {
		w.open, w.well = map[int]*oneAsk{}, map[oneRequest]int{}
	}
	one := w.open[x.Op]
	switch {
	case x.Kind == adk.KindPiece:
		if one != nil {
			one.takes(x.JSON)
		}
	case x.Kind != adk.KindAsk || x.Status == string(adk.EffectReads):
	case x.Phase == adk.Begin:
		one = &oneAsk{request: oneRequest{s.at, x.Name, sha256.Sum256(x.JSON)}, at: s.n}
		w.open[x.Op] = one
		if earlier := w.well[one.request]; earlier > 0 && x.Key == "" && !w.keyed.is(x.JSON, hasKey) && !adk.IsUnheld(x.JSON) && !bytes.Contains(x.JSON, []byte("grant_type=")) {
			s.hint(s.n, s.at, since(earlier), "%s is asked again, to the byte, what it has answered", x.Name)
		}
	case one != nil:
		if x.Err == nil && !one.refused && !one.isCut() {
			w.well[one.request] = one.at
		}
		delete(w.open, x.Op)
	}
}

func hasKey(request []byte) bool { return httpform.HasKey(string(request)) }

// lookedThrough caches what was found in large requests, by their digests. A trace file holds the
// text of a request once, but the request may be asked as often as the file has lines.
type lookedThrough struct{ found map[[sha256.Size]byte]bool }

// largeRequest is the length from which searching a request takes longer than computing its digest.
const largeRequest = 4 << 10

func (l *lookedThrough) is(request []byte, look func([]byte) bool) bool {
	if len(request) < largeRequest {
		return look(request)
	}
	digest := sha256.Sum256(request)
	ok, known := l.found[digest]
	if !known {
		ok = look(request)
		put(&l.found, digest, ok)
	}
	return ok
}

// unclosedAnswer: the head of an answer over HTTP came, but its body was neither read to the end
// nor closed when the seam call returned. For a stream of events that is a mistake only after a
// model has said that it is done: clients read other streams on their own goroutines, for as long
// as the connection lasts.
type unclosedAnswer struct{ open map[int]*openAnswer } // by operation

type openAnswer struct {
	of      string
	at      int // where the request was made
	hasHead bool
	streams bool
	last    json.RawMessage // the last piece of a stream
}

func (w *unclosedAnswer) see(s *history, x *adk.Crossing) {
	one := w.open[x.Op]
	switch {
	case x.Kind == adk.KindPiece && one != nil && !one.hasHead:
		status, headers, err := httpform.ReadHead(x.JSON)
		if err != nil || status == 0 {
			delete(w.open, x.Op) // the answer is not HTTP
			return
		}
		one.hasHead, one.streams = true, httpform.FormOf(http.Header(headers).Get("Content-Type")) == httpform.Events
	case x.Kind == adk.KindPiece && one != nil && one.streams:
		one.last = append(one.last[:0], x.JSON...)
	case x.Kind != adk.KindAsk:
	case x.Phase == adk.Begin:
		put(&w.open, x.Op, &openAnswer{of: x.Name, at: s.n})
	case one != nil:
		if one.hasHead && errors.Is(x.Err, adk.E_CONTEXT_ENDED) && (!one.streams || modelapi.IsLast(one.last)) {
			s.hint(s.n, s.at, since(one.at), "the answer of %s was neither read to its end nor closed when the seam call returned", one.of)
		}
		delete(w.open, x.Op)
	}
}

// refusedConversation: a model is asked, in the form of any known provider, with a tool result that
// has no call, or a call that has no result. It gives one hint in a seam call, since a conversation
// only grows.
type refusedConversation struct{ said map[*seamCall]bool }

func (w *refusedConversation) see(s *history, x *adk.Crossing) {
	if x.Kind != adk.KindAsk || x.Phase != adk.Begin || w.said[s.at] {
		return
	}
	if text := chatfault.Refused(x.JSON); text != "" {
		put(&w.said, s.at, true)
		s.hint(s.n, s.at, nil, "%s is asked with %s", x.Name, text)
	}
}

// secretInAsk: a request contains a text that looks like a secret, by the patterns of
// redact.UsualSecrets. Placeholders of what was redacted or left out do not count, nor do words
// after a name, as in "password: required" or "basic responsibilities".
type secretInAsk struct{ secret lookedThrough }

func (w *secretInAsk) see(s *history, x *adk.Crossing) {
	if x.Kind == adk.KindAsk && x.Phase == adk.Begin && w.secret.is(x.JSON, looksSecret) {
		s.hint(s.n, s.at, nil, "what %s is asked has a text in it that looks like a secret", x.Name)
	}
}

// secretTold: a message or thought for the user contains such a text, for example an error with the
// URL of a request. It gives no hint about a secret that is split over several deltas.
type secretTold struct{}

func (w *secretTold) see(s *history, x *adk.Crossing) {
	switch x.Kind {
	case adk.KindReportMessage, adk.KindReportThought, adk.KindEmitMessage, adk.KindEmitThought:
		if looksSecret([]byte(x.Text)) {
			s.hint(s.n, s.at, nil, "what the user is told has a text in it that looks like a secret")
		}
	}
}

func looksSecret(request []byte) bool {
	request = bytes.ReplaceAll(request, []byte(httpform.LeftOut), nil)
	lower := lowered(request)
	return slices.ContainsFunc(secretLike(), func(like lookalike) bool {
		return like.has(lower) && slices.ContainsFunc(like.FindAll(request, like.most), func(found []byte) bool {
			return !like.named() || bytes.ContainsAny(found, "0123456789")
		})
	})
}

// lookalike is a pattern of usual secrets. has reports whether a text in lower case contains the
// words that each match contains, which is much faster to find out than whether the pattern
// matches.
type lookalike struct {
	*regexp.Regexp
	has  func(lower []byte) bool
	most int // how many matches to look at; -1, for all, if a word before the secret identifies it
}

func (l lookalike) named() bool { return l.most < 0 }

var secretLike = sync.OnceValue(func() (all []lookalike) {
	for _, p := range redact.UsualSecrets().Patterns {
		parsed, err := syntax.Parse(p.Expr, syntax.Perl)
		if err != nil {
			panic(err) // it is compiled below
		}
		like := lookalike{regexp.MustCompile(p.Expr), wordsOf(parsed), 1}
		if p.Kind == "bearer" || p.Kind == "assignment" {
			like.most = -1
		}
		all = append(all, like)
	}
	return all
})

// lowered returns a text in lower case. It also converts the few letters that (?i) treats like
// others, such as ſ for s.
func lowered(text []byte) []byte { return bytes.ToLower(bytes.ToUpper(text)) }

// wordsOf returns a function that reports whether a text in lower case contains the words that each
// match of the expression contains.
func wordsOf(expr *syntax.Regexp) func(lower []byte) bool {
	var parts []func([]byte) bool
	for _, sub := range expr.Sub {
		parts = append(parts, wordsOf(sub))
	}
	switch {
	case expr.Op == syntax.OpLiteral:
		word := []byte(strings.ToLower(string(expr.Rune)))
		return func(lower []byte) bool { return bytes.Contains(lower, word) }
	case expr.Op == syntax.OpAlternate:
		return func(lower []byte) bool {
			return slices.ContainsFunc(parts, func(has func([]byte) bool) bool { return has(lower) })
		}
	case expr.Op == syntax.OpConcat, expr.Op == syntax.OpCapture, expr.Op == syntax.OpPlus:
		return func(lower []byte) bool {
			return !slices.ContainsFunc(parts, func(has func([]byte) bool) bool { return !has(lower) })
		}
	}
	return func([]byte) bool { return true } // may match without any fixed word
}
