package cassette

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// ErrNoExchanges says that a trace holds no exchanges over HTTP, or none with the named parties.
var ErrNoExchanges = errors.New("no exchanges over HTTP")

// ReadTrace reads the exchanges over HTTP (package adkhttp) from a trace, in the order in which the
// requests were made. If of is not empty, it reads only exchanges with these parties, by the names
// that they have in the trace. The File of o is used in errors and is the source of the
// conversation; the limits of o apply to reading. A question asked with adk.Ask is not an exchange
// over HTTP, and is left out.
//
// A URL consists of path and query only, unless the name of the party is its origin, as in traces
// made by WriteTrace: then the URL is whole. If a client stopped reading an answer
// (adk.E_ASK_STOPPED), the conversation has the part that was read, which is enough for that
// client, and Left says where. If the trace lacks anything else, because it was cut off, redacted
// or too long, the error names the crossing. A trace without exchanges gives ErrNoExchanges. A
// trace that cannot be read gives a trace.FormatError.
func ReadTrace(r io.Reader, o trace.Options, of ...string) (*Recording, error) {
	rec := &Recording{Form: "trace", Conversation: fakes.Conversation{Source: o.File}}
	err := rec.readTrace(r, o, of)
	if _, ok := errors.AsType[*trace.FormatError](err); ok {
		return nil, err // the error names the file
	}
	if err != nil {
		return nil, fmt.Errorf("cassette: %s: %w", safetext.Line(o.File), err)
	}
	return rec, nil
}

func (rec *Recording) readTrace(r io.Reader, o trace.Options, of []string) error {
	reader, err := trace.NewReader(r, o)
	if err != nil {
		return err
	}
	var asked tracedAsks
	for at := 1; ; at++ {
		line, err := reader.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if err := asked.take(at, &line.Crossing, of); err != nil {
			return err
		}
	}
	redacted := len(wire.RedactedNote(reader.Footer())) > 0
	var left []string
	for _, one := range asked.all {
		if err := one.addTo(rec, redacted); err != nil {
			return err
		}
		if one.left != "" {
			left = append(left, one.left)
		}
	}
	rec.Left = left
	if len(rec.Interactions) == 0 {
		return asked.nothing(of)
	}
	return nil
}

// tracedAsks collects the questions in a trace, in the order in which they began.
type tracedAsks struct {
	all    []*tracedAsk
	ops    map[int]*tracedAsk
	others []string // who else was asked over HTTP, without duplicates
}

// mostNamed is how many other parties the error names.
const mostNamed = 9

// nothing returns the error that no exchange was found; it names the parties that have some.
func (a *tracedAsks) nothing(of []string) error {
	if len(a.others) == 0 {
		return fmt.Errorf("%w in this trace", ErrNoExchanges)
	}
	return fmt.Errorf("%w with %s in this trace: it asked %s", ErrNoExchanges, safetext.List(of, safetext.Quoted), safetext.Names(safetext.Each(a.others, safetext.Line), mostNamed))
}

// tracedAsk is one question and its answer. Places are the numbers of crossings.
type tracedAsk struct {
	at, doneAt, hiddenAt int // of its begin, of its end, and of the first placeholder of a redaction
	of                   string
	request              json.RawMessage
	pieces               []json.RawMessage
	piecesAt             []int
	isValue              bool // the answer is a single value, which an answer over HTTP never is
	err                  error
	left                 string // describes what the client did not read of the answer
}

// take processes a crossing.
func (a *tracedAsks) take(at int, x *adk.Crossing, of []string) error {
	switch {
	case wire.Asks(x) && (len(of) == 0 || slices.Contains(of, x.Name)):
		one := &tracedAsk{at: at, of: x.Name}
		one.request = one.keep(at, x.JSON)
		if a.ops == nil {
			a.ops = map[int]*tracedAsk{}
		}
		a.all, a.ops[x.Op] = append(a.all, one), one
	case wire.Asks(x) && isOverHTTP(x.JSON) && !slices.Contains(a.others, x.Name):
		a.others = append(a.others, x.Name)
	case wire.IsContained(x) && x.Name == adk.PassedBy && len(of) == 0:
		return fmt.Errorf("crossing %d: what was asked is not held: %s", at, x.Text)
	}
	one := a.ops[x.Op]
	switch {
	case one == nil:
	case wire.IsPiece(x):
		one.pieces, one.piecesAt = append(one.pieces, one.keep(at, x.JSON)), append(one.piecesAt, at)
	case wire.EndsAsk(x):
		one.doneAt, one.isValue, one.err = at, x.JSON != nil, x.Err
		delete(a.ops, x.Op)
	}
	return nil
}

// keep returns a copy of what crossed, and remembers the first placeholder of a redaction.
func (a *tracedAsk) keep(at int, raw json.RawMessage) json.RawMessage {
	if a.hiddenAt == 0 && bytes.Contains(raw, []byte(wire.PlaceholderBegin)) {
		a.hiddenAt = at
	}
	return slices.Clone(raw)
}

// heldRequest is the JSON of a request as adkhttp records it.
type heldRequest struct {
	Method, Path string
	Query        map[string]any
	Headers      map[string]any
	Body         json.RawMessage
	Text         string
	Base64       []byte
}

// isOverHTTP reports whether a request was recorded by adkhttp. It says yes if the request is not
// held in the trace.
func isOverHTTP(raw json.RawMessage) bool {
	var request heldRequest
	return adk.IsUnheld(raw) || json.Unmarshal(raw, &request) == nil && request.Method != "" && request.Path != ""
}

// addTo adds the exchange to the recording, if it was over HTTP.
func (a *tracedAsk) addTo(rec *Recording, redacted bool) error {
	if a.isValue || !isOverHTTP(a.request) {
		return nil
	}
	var request heldRequest
	_ = json.Unmarshal(a.request, &request) // if the request is not held, this leaves it empty
	switch {
	case redacted && a.hiddenAt > 0:
		return fmt.Errorf("crossing %d: a part of what %s said was redacted", a.hiddenAt, a.of)
	case adk.IsUnheld(a.request), adk.IsUnheld(request.Body):
		return fmt.Errorf("crossing %d: the request to %s is not held", a.at, a.of)
	case a.doneAt == 0:
		return fmt.Errorf("crossing %d: the answer of %s was still to come at the end of the trace", a.at, a.of)
	case a.err != nil && !errors.Is(a.err, adk.E_ASK_STOPPED):
		return fmt.Errorf("crossing %d: the answer of %s is not whole: %w", a.doneAt, a.of, a.err)
	}
	reply, err := a.reply()
	if err != nil {
		return err
	}
	if a.err != nil && !a.readToItsEnd() {
		a.left = fmt.Sprintf("crossing %d: what follows %s of the answer of %s, with status %d: its client read no further",
			a.doneAt, safetext.Counted(len(reply.Body), "byte"), a.of, reply.Status)
	}
	return rec.add(request.sent(a.of), reply)
}

// readToItsEnd reports whether the client stopped reading at [DONE], after which an answer has
// nothing more to say.
func (a *tracedAsk) readToItsEnd() bool {
	if len(a.pieces) == 0 {
		return false
	}
	last, err := httpform.ReadPiece(a.pieces[len(a.pieces)-1])
	return err == nil && string(last.Data) == `"[DONE]"`
}

// reply joins the pieces of an answer.
func (a *tracedAsk) reply() (reply fakes.Reply, err error) {
	var head httpform.Head
	if len(a.pieces) == 0 || json.Unmarshal(a.pieces[0], &head) != nil || head.Status == 0 {
		return reply, fmt.Errorf("crossing %d: the answer of %s has no status", a.at, a.of)
	}
	reply = fakes.Reply{Status: head.Status, Headers: headersIn(head.Headers)}
	var body strings.Builder
	for i, raw := range a.pieces[1:] {
		at := a.piecesAt[i+1]
		piece, err := httpform.ReadPiece(raw)
		switch {
		case adk.IsUnheld(raw) || err != nil:
			return reply, fmt.Errorf("crossing %d: a part of the answer of %s is not held", at, a.of)
		case piece.Trailers != nil:
			return reply, fmt.Errorf("crossing %d: trailers follow the answer of %s, which no conversation has", at, a.of)
		}
		body.Write(piece.Bytes())
	}
	reply.Body = body.String()
	return reply, nil
}

// sent returns the request to be added to the recording.
func (r *heldRequest) sent(of string) fakes.ProviderRequest {
	to := url.URL{RawQuery: url.Values(valuesIn(r.Query)).Encode()}
	to.Path, _ = url.PathUnescape(r.Path)
	to.RawPath = r.Path
	address := to.String()
	if strings.Contains(of, "://") {
		address = of + address
	}
	body := string(r.Body) + r.Text + string(r.Base64) // only one of them is set
	return fakes.ProviderRequest{Method: r.Method, URL: address, Headers: headersIn(r.Headers), Body: body}
}

func headersIn(held map[string]any) http.Header {
	headers := http.Header{}
	for name, values := range valuesIn(held) {
		headers[http.CanonicalHeaderKey(name)] = values
	}
	return headers
}

// valuesIn returns the values for each name; in JSON a name has one value or a list.
func valuesIn(held map[string]any) map[string][]string {
	all := map[string][]string{}
	for name, value := range held {
		switch value := value.(type) {
		case string:
			all[name] = []string{value}
		case []any:
			for _, one := range value {
				all[name] = append(all[name], fmt.Sprint(one))
			}
		}
	}
	return all
}

// WriteTrace writes a conversation as the trace of a turn that makes all its requests in order and
// gets the recorded answers, so that it can be shown, compared and redacted like any other trace.
// ReadTrace returns the same conversation, except for its source and for headers that no trace
// holds. An interaction without a complete request, or with a Matcher, cannot be in a trace, and is
// an error.
func WriteTrace(w io.Writer, c fakes.Conversation) error {
	requests, err := requestsOf(c)
	if err != nil {
		return fmt.Errorf("cassette: %s: %w", c.Source, err)
	}
	world := fakes.NewTransport(c)
	recorder := replay.Record(w)
	runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "cassette",
		Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			for _, req := range requests {
				if err := askAgain(req.WithContext(ctx), world); err != nil {
					return err
				}
			}
			return dc.Ack()
		}}}, recorder))
	if err != nil {
		return err
	}
	return errors.Join(runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Asks what was asked in: " + c.Source}), recorder.Err())
}

// requestsOf makes the requests of a conversation again.
func requestsOf(c fakes.Conversation) (all []*http.Request, err error) {
	for i, one := range c.Interactions {
		to, err := url.Parse(one.Request.URL)
		switch {
		case one.When != nil:
			return nil, fmt.Errorf("interaction %d has a matcher, which no trace holds", i+1)
		case one.Request.Method == "" || err != nil || to.Path == "":
			return nil, fmt.Errorf("interaction %d has no request that could be made again", i+1)
		}
		req, err := http.NewRequest(one.Request.Method, one.Request.URL, strings.NewReader(one.Request.Body))
		if err != nil {
			return nil, fmt.Errorf("interaction %d: %w", i+1, err)
		}
		req.Header = canonical(one.Request.Headers)
		all = append(all, req)
	}
	return all, nil
}

// askAgain sends a request, and reads the answer to its end.
func askAgain(req *http.Request, world http.RoundTripper) error {
	origin := func(req *http.Request) string {
		if req.URL.Host == "" {
			return "provider"
		}
		return req.URL.Scheme + "://" + req.URL.Host
	}
	resp, err := adkhttp.NewTransport(world, adkhttp.Name(origin)).RoundTrip(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}
