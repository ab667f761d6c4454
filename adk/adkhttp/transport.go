package adkhttp

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/handed"
	"github.com/adkreplay/adkreplay/internal/beside"
)

// DefaultMaxBody is how many bytes of a body are held where MaxBody does not say.
const DefaultMaxBody = 64 << 20

// Option changes a transport.
type Option func(*transport)

// Name says who is asked with a request, in the place of the host: divergences speak
// of it, and replays choose by it who may be asked for real. An empty name is the host.
func Name(name func(*http.Request) string) Option {
	return func(t *transport) { t.name = name }
}

// Effect says what a request changes. Without it GET, HEAD and OPTIONS read, what has an
// Idempotency-Key writes, or nobody had given it one, and of everything else nobody knows,
// PUT, PATCH and DELETE among it: say adk.EffectWrites of the requests that change something,
// by their method and path (WLD-6). Of those exploration tells what writes twice, unless both
// requests have the same key, and what failed to write while nobody is told.
func Effect(effect func(*http.Request) adk.Effect) Option {
	return func(t *transport) { t.effect = effect }
}

// Limits is how long each request may take (WLD-8). Headers is for all of an answer whose
// status is not one of success: its body, too, keeps waiting who would ask again.
func Limits(limits adk.AskLimits) Option {
	return func(t *transport) { t.limits = limits }
}

// MaxBody is how many bytes of each body the trace holds; of a longer one it has the
// length and a hash. Production sees all of it. n is at least 1.
func MaxBody(n int64) Option {
	return func(t *transport) { t.maxBody = max(n, 1) }
}

// KeepRetryAfter is for a client that waits with Handle.Sleep before it asks again: what a
// served answer says of that wait stays as it was recorded. Without it such an answer
// says that there is nothing to wait for, since clients wait by a clock of their own.
func KeepRetryAfter() Option {
	return func(t *transport) { t.keepRetryAfter = true }
}

// NewTransport makes a transport whose requests cross: those whose context carries the
// handle of a seam call (adk.HasHandle) are told, and in a replay answered from the
// recording. All others, and all that production sees, are base's; but while a turn is
// replayed with live code in this process, those without a handle are refused with
// E_UNANSWERED unless replay.Live's Outside names whom they ask, and the report counts them.
// A nil base is http.DefaultTransport. It is safe for concurrent use.
func NewTransport(base http.RoundTripper, options ...Option) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	t := &transport{base: base, maxBody: DefaultMaxBody, name: host, effect: effectOf}
	for _, o := range options {
		o(t)
	}
	return t
}

type transport struct {
	base    http.RoundTripper
	name    func(*http.Request) string
	effect  func(*http.Request) adk.Effect
	limits  adk.AskLimits
	maxBody int64

	keepRetryAfter bool
}

// CloseIdleConnections is for http.Client.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip asks.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if !adk.HasHandle(ctx) || req.URL == nil {
		return t.beside(req)
	}
	of := t.of(req)
	if why := unheldKind(req); why != "" {
		return t.passBy(req, of, why)
	}
	out := req
	if hasBody(req) && req.GetBody == nil {
		out = req.WithContext(ctx) // the body is exchanged, and not the caller's request
	}
	options := adk.AskOptions{Effect: t.effect(req), Limits: t.limits, Key: idempotencyKey(req.Header), AfterAbort: true}
	if hasBody(req) && req.GetBody == nil && req.ContentLength <= t.maxBody {
		if x := adk.OpenUpload(ctx, of, options); x != nil {
			return t.upload(x, req, out)
		}
	}
	x, err := adk.OpenExchange(ctx, of, func() (json.RawMessage, error) { return t.requestJSON(out, t.requestBody) }, options)
	switch {
	case err != nil && ctx.Err() != nil:
		closeBody(out)
		return nil, context.Cause(ctx)
	case err != nil:
		return t.passBy(out, of, err.Error())
	case x.Answered():
		closeBody(out)
		return t.served(x, req)
	}
	return t.ask(x, req, out)
}

// beside asks the world beside every handle. While a replay with live code is under way that
// is refused, unless it may be asked for real. What is asked within an ask is that one's.
func (t *transport) beside(req *http.Request) (*http.Response, error) {
	if req.URL != nil && !handed.IsHidden(req.Context()) && beside.Refuses(func() string { return t.of(req) }) {
		closeBody(req)
		return nil, &adk.Error{Code: adk.E_UNANSWERED, Message: "a turn is replayed in this process, and no recording has what " + t.of(req) +
			" answers to a request without a handle: make it with the context of the call, or name whom it asks in Live.Outside"}
	}
	return t.base.RoundTrip(req)
}

// ask asks the world.
func (t *transport) ask(x *adk.Exchange, req, out *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(out.WithContext(x.Context()))
	return t.answered(x, req, resp, err)
}

// answered tells what the world has answered.
func (t *transport) answered(x *adk.Exchange, req *http.Request, resp *http.Response, err error) (*http.Response, error) {
	if err != nil {
		x.Done(nil, asClientSays(req, err, awaitingHead))
		x.Release()
		return resp, x.Failure(err)
	}
	if resp.Request != nil {
		resp.Request = req
	}
	return t.told(x, resp), nil
}

// told tells the head of an answer, and what is read of its body.
func (t *transport) told(x *adk.Exchange, resp *http.Response) *http.Response {
	if !x.Told() && t.limits == (adk.AskLimits{}) {
		x.Done(nil, nil)
		return resp
	}
	boundRefusal(x, resp)
	x.Piece(headJSON(resp), false)
	if hasNoBody(resp) || resp.StatusCode == http.StatusSwitchingProtocols {
		x.Done(nil, nil)
		if resp.StatusCode != http.StatusSwitchingProtocols { // whose connection goes on
			x.Release()
		}
		return resp
	}
	resp.Body = newBody(x, resp, t.maxBody)
	return resp
}

// boundRefusal bounds all of an answer that is not the one that was asked for.
func boundRefusal(x *adk.Exchange, resp *http.Response) {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		x.Refused()
	}
}

// passBy asks in a way that no trace can hold.
func (t *transport) passBy(req *http.Request, of, why string) (*http.Response, error) {
	if err := adk.PassBy(req.Context(), of, req.Method+" "+req.URL.EscapedPath()+": "+why); err != nil {
		closeBody(req)
		return nil, err
	}
	return t.base.RoundTrip(req)
}

// of is who is asked.
func (t *transport) of(req *http.Request) string {
	if name := t.name(req); name != "" {
		return name
	}
	return host(req)
}

// host is the host of a request with its port, if it says one. One of this machine has
// a port that another one takes tomorrow, and is localhost.
func host(req *http.Request) string {
	name := strings.ToLower(req.URL.Hostname())
	if name == "localhost" || isAddress(name) && net.ParseIP(name).IsLoopback() {
		return "localhost"
	}
	if name == "" {
		return "nobody"
	}
	return strings.ToLower(req.URL.Host)
}

// isAddress reports whether a host may be an IP address and no name.
func isAddress(host string) bool {
	return host != "" && (host[0] >= '0' && host[0] <= '9' || strings.Contains(host, ":"))
}

func effectOf(req *http.Request) adk.Effect {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions:
		return adk.EffectReads
	}
	if idempotencyKey(req.Header) != "" {
		return adk.EffectWrites
	}
	return adk.EffectUnknown
}

// unheldKind says why a request cannot be held; empty if it can.
func unheldKind(req *http.Request) string {
	kind := req.Header.Get("Content-Type")
	switch {
	case req.Header.Get("Upgrade") != "" || req.Method == http.MethodConnect:
		return "the connection is another protocol's from here on"
	case strings.HasPrefix(kind, "application/grpc"):
		return "it is gRPC"
	case hasBody(req) && req.GetBody == nil && req.ContentLength <= 0:
		return "its body says no length, and may have no end"
	}
	return ""
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// hasNoBody reports whether nothing can follow the head. Who makes a response by hand, as a
// RoundTripper in a test does, says nothing of its length, and that is 0 then: the body has to
// be read.
func hasNoBody(resp *http.Response) bool {
	switch {
	case resp.Body == nil, resp.Body == http.NoBody:
		return true
	case resp.ContentLength == 0 && (resp.ProtoMajor > 1 || resp.Header.Get("Content-Length") != ""):
		return true
	case resp.Request != nil && resp.Request.Method == http.MethodHead:
		return true
	}
	return resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified
}
