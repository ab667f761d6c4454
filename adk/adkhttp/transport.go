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

// DefaultMaxBody is the limit of kept bytes of a body without the option MaxBody.
const DefaultMaxBody = 64 << 20

// Option changes a transport.
type Option func(*transport)

// Name sets the name of the service that a request asks; the default, also for an empty name, is
// the host. Divergences show the name, and replays choose by it which services may be asked for
// real.
func Name(name func(*http.Request) string) Option {
	return func(t *transport) { t.name = name }
}

// Effect sets the function that says what a request changes. Without it GET, HEAD and OPTIONS read;
// other requests with an Idempotency-Key write; the effect of all others is unknown, also that of
// PUT, PATCH and DELETE. Return adk.EffectWrites for requests that change something, by their
// method and path (WLD-6). For those, exploration reports a second write, unless both requests have
// the same key, and a failed write that is reported to nobody.
func Effect(effect func(*http.Request) adk.Effect) Option {
	return func(t *transport) { t.effect = effect }
}

// Limits sets how long each request may take (WLD-8). If an answer's status is not a success,
// Headers limits the time for all of it, since its body, too, keeps a caller waiting that would
// retry.
func Limits(limits adk.AskLimits) Option {
	return func(t *transport) { t.limits = limits }
}

// MaxBody sets how many bytes of each body the trace holds; of a longer one it has the length and a
// hash. Production sees all of it. An n below 1 means 1.
func MaxBody(n int64) Option {
	return func(t *transport) { t.maxBody = max(n, 1) }
}

// KeepRetryAfter is for a client that waits with Handle.Sleep before it retries: the recorded
// retry-after headers of a served answer stay as they are. Without it such an answer says that
// there is nothing to wait for, because other clients wait by a clock of their own.
func KeepRetryAfter() Option {
	return func(t *transport) { t.keepRetryAfter = true }
}

// NewTransport returns a transport whose requests are crossings: a request whose context carries
// the handle of a seam call (adk.HasHandle) is recorded, and in a replay answered from the
// recording. All other requests go to base unchanged. However, while a turn is replayed with live
// code in this process, requests without a handle are refused with E_UNANSWERED and counted in the
// report, unless replay.Live's Outside names the service they ask. A nil base is
// http.DefaultTransport. The transport is safe for concurrent use.
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

// CloseIdleConnections is called by http.Client.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip makes a request, or answers it from the recording.
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
		out = req.WithContext(ctx) // a copy, since the body is replaced
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

// beside makes a request that has no handle. While a replay with live code is under way, such a
// request is refused, unless Live.Outside allows it. A request made within an ask belongs to that
// ask and is not refused.
func (t *transport) beside(req *http.Request) (*http.Response, error) {
	if req.URL != nil && !handed.IsHidden(req.Context()) && beside.Refuses(func() string { return t.of(req) }) {
		closeBody(req)
		return nil, &adk.Error{Code: adk.E_UNANSWERED, Message: "a turn is replayed in this process, and no recording has what " + t.of(req) +
			" answers to a request without a handle: make it with the context of the call, or name whom it asks in Live.Outside"}
	}
	return t.base.RoundTrip(req)
}

// ask makes the request.
func (t *transport) ask(x *adk.Exchange, req, out *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(out.WithContext(x.Context()))
	return t.answered(x, req, resp, err)
}

// answered reports to the exchange what the network has answered.
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

// told reports the head of an answer, and makes its body report what is read.
func (t *transport) told(x *adk.Exchange, resp *http.Response) *http.Response {
	if !x.Told() && t.limits == (adk.AskLimits{}) {
		x.Done(nil, nil)
		return resp
	}
	boundRefusal(x, resp)
	x.Piece(headJSON(resp), false)
	if hasNoBody(resp) || resp.StatusCode == http.StatusSwitchingProtocols {
		x.Done(nil, nil)
		if resp.StatusCode != http.StatusSwitchingProtocols { // the connection is used further
			x.Release()
		}
		return resp
	}
	resp.Body = newBody(x, resp, t.maxBody)
	return resp
}

// boundRefusal applies the limit of headers to all of an answer whose status is no success.
func boundRefusal(x *adk.Exchange, resp *http.Response) {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		x.Refused()
	}
}

// passBy makes a request that no trace can hold.
func (t *transport) passBy(req *http.Request, of, why string) (*http.Response, error) {
	if err := adk.PassBy(req.Context(), of, req.Method+" "+req.URL.EscapedPath()+": "+why); err != nil {
		closeBody(req)
		return nil, err
	}
	return t.base.RoundTrip(req)
}

// of returns the name of the service that a request asks.
func (t *transport) of(req *http.Request) string {
	if name := t.name(req); name != "" {
		return name
	}
	return host(req)
}

// host returns the host of a request, with its port if there is one. A loopback address is
// "localhost" without a port, since local ports change from run to run.
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

// isAddress reports whether a host may be an IP address rather than a name.
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

// unheldKind says why a request cannot be recorded; empty if it can.
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

// hasNoBody reports whether no body can follow the head. A ContentLength of 0 alone is not enough:
// a response that is made by hand, as by a RoundTripper in a test, has 0 if its maker did not set
// it, and its body has to be read.
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
