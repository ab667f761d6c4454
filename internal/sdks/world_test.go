package sdks

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// worldURL is where clients ask: its name is in no DNS, and leads to the server of the test.
const worldURL = "http://world.example"

// world is a server on this machine that misbehaves once, or for ever, as servers and
// networks do: to the byte, and no faster than its client reads.
type world struct {
	server *httptest.Server
	usual  answer
	fault  misbehaviour
	asked  atomic.Int64 // how often it was asked what has the fault
	dialed atomic.Int64
	conns  sync.Map // of clients, by their addresses
	over   func()   // has the caller's time pass
}

// misbehaviour is what a server does instead of answering.
type misbehaviour struct {
	name    string
	forEver bool // every ask has it, and not the first alone
	// impatient says that it is for clients that do not wait as long as anybody says.
	impatient bool
	dial      func() error                   // nobody comes so far as to ask
	says      func(s *saying, answer answer) // nil is the usual answer
}

func newWorld(t *testing.T, usual answer, fault misbehaviour) *world {
	t.Helper()
	w := &world{usual: usual, fault: fault}
	w.server = httptest.NewServer(w)
	t.Cleanup(w.server.Close)
	return w
}

// transport is a client's way to the world. Connections are used once: which of them is
// another one's does not depend on what the machine does besides.
func (w *world) transport() http.RoundTripper {
	return &http.Transport{DialContext: w.dial, DisableKeepAlives: true}
}

func (w *world) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	if w.fault.dial != nil && (w.dialed.Add(1) == 1 || w.fault.forEver) {
		return nil, w.fault.dial()
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, w.server.Listener.Addr().String())
	if err != nil {
		return nil, err
	}
	heard := &hearing{Conn: conn}
	heard.changed.L = &heard.mu
	w.conns.Store(conn.LocalAddr().String(), heard)
	return heard, nil
}

// ServeHTTP answers with what is usual, or with the fault.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	conn, _, err := rw.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	client, _ := w.conns.Load(conn.RemoteAddr().String())
	s := &saying{world: w, conn: conn, client: client.(*hearing)}
	switch first := w.asked.Add(1) == 1; {
	case r.URL.Path == otherPath:
		s.all(otherAnswer)
	case w.fault.says != nil && (first || w.fault.forEver):
		w.fault.says(s, w.usual)
	default:
		s.all(w.usual)
	}
}

// otherPath is where something else is asked, and otherAnswer what is said there.
const otherPath = "/other"

var otherAnswer = answer{kind: ofJSON, body: `{"error":{"message":"this is for somebody else"}}`}

// hearing is a client's end of a connection: it knows how much of what was said has arrived.
type hearing struct {
	net.Conn
	mu      sync.Mutex
	changed sync.Cond
	heard   int
	closed  bool
}

func (h *hearing) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	h.mu.Lock()
	h.heard += n
	h.closed = h.closed || err != nil
	h.mu.Unlock()
	h.changed.Broadcast()
	return n, err
}

func (h *hearing) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.changed.Broadcast()
	return h.Conn.Close()
}

// await waits until n bytes have arrived, or none will any more.
func (h *hearing) await(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.heard < n && !h.closed {
		h.changed.Wait()
	}
}

// saying is a server's end of a connection.
type saying struct {
	world  *world
	conn   net.Conn
	client *hearing
	said   int
}

// text says something and waits until the client has it, so that what is said next comes
// in a portion of its own.
func (s *saying) text(texts ...string) {
	for _, text := range texts {
		n, _ := io.WriteString(s.conn, text)
		s.said += n
		s.client.await(s.said)
	}
}

// all says a whole answer.
func (s *saying) all(a answer) { s.part(a, -1); s.end(a) }

// head says the head of an answer with the length of its body, or with none for a stream.
func (s *saying) head(a answer, header ...string) {
	status := max(a.status, 200)
	text := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: %s\r\n", status, http.StatusText(status), a.kind)
	for name, values := range a.header {
		text += name + ": " + values[0] + "\r\n"
	}
	for _, one := range header {
		text += one + "\r\n"
	}
	if a.isStream() {
		text += "Transfer-Encoding: chunked\r\n"
	} else {
		text += "Content-Length: " + strconv.Itoa(len(a.body)) + "\r\n"
	}
	s.text(text + "Connection: close\r\n\r\n")
}

// part says the head and n pieces of an answer; all of them if n is less than none.
func (s *saying) part(a answer, n int) {
	s.head(a)
	for i, piece := range a.pieces() {
		if n < 0 || i < n {
			s.piece(a, piece)
		}
	}
}

func (s *saying) piece(a answer, piece string) {
	if a.isStream() {
		piece = fmt.Sprintf("%x\r\n%s\r\n", len(piece), piece)
	}
	s.text(piece)
}

// end says that this was all.
func (s *saying) end(a answer) {
	if a.isStream() {
		s.text("0\r\n\r\n")
	}
}

// stall says nothing any more: the time that the client has for a read runs out.
func (s *saying) stall() {
	_ = s.client.SetReadDeadline(time.Unix(1, 0))
	s.client.await(s.said + 1) // it never comes: the client gives up
}

// late says nothing any more, and the caller's time is over.
func (s *saying) late() {
	s.world.over()
	s.client.await(s.said + 1)
}

// reset breaks the connection, as a process that dies does.
func (s *saying) reset() { _ = s.conn.(*net.TCPConn).SetLinger(0) }

func (a answer) isStream() bool { return a.kind == ofEvents }

// pieces are the events of a stream, or the body.
func (a answer) pieces() []string {
	if !a.isStream() {
		return []string{a.body}
	}
	end := "\n\n"
	if strings.Contains(a.body, "\r\n\r\n") {
		end = "\r\n\r\n"
	}
	all := strings.SplitAfter(a.body, end)
	return all[:len(all)-1]
}

// with is the answer with other pieces.
func (a answer) with(pieces ...string) answer {
	a.body = strings.Join(pieces, "")
	return a
}
