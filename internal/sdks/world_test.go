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

// worldURL is the address that clients ask. Its name is not in the DNS, and leads to the test's server.
const worldURL = "http://world.example"

// world is a server on this machine that misbehaves once, or each time, as servers and networks do. The test
// controls every byte, and it sends no faster than its client reads.
type world struct {
	server *httptest.Server
	usual  answer
	fault  misbehaviour
	asked  atomic.Int64 // how often a request that gets the fault was made
	dialed atomic.Int64
	conns  sync.Map // of clients, by address
	over   func()   // ends the time of the client's caller
}

// misbehaviour is what a server does instead of giving the usual answer.
type misbehaviour struct {
	name    string
	forEver bool // each ask has it, and not only the first
	// impatient reports that the fault is only for clients that do not wait as long as a server says.
	impatient bool
	dial      func() error                   // fails before anything is asked
	says      func(s *saying, answer answer) // nil for the usual answer
}

func newWorld(t *testing.T, usual answer, fault misbehaviour) *world {
	t.Helper()
	w := &world{usual: usual, fault: fault}
	w.server = httptest.NewServer(w)
	t.Cleanup(w.server.Close)
	return w
}

// transport returns a client's way to the world. A connection is used only once, so that it does not depend on
// what else the machine does which of them is used again.
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

// ServeHTTP gives the usual answer, or the fault.
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

// otherPath is the path of another request, and otherAnswer is its answer.
const otherPath = "/other"

var otherAnswer = answer{kind: ofJSON, body: `{"error":{"message":"this is for somebody else"}}`}

// hearing is a client's end of a connection. It knows how many bytes have arrived.
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

// await waits until n bytes have arrived, or the connection is closed.
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

// text sends texts, and waits until the client has each, so that the next one arrives in a portion of
// its own.
func (s *saying) text(texts ...string) {
	for _, text := range texts {
		n, _ := io.WriteString(s.conn, text)
		s.said += n
		s.client.await(s.said)
	}
}

// all sends a whole answer.
func (s *saying) all(a answer) { s.part(a, -1); s.end(a) }

// head sends the head of an answer, with the length of its body, or without one for a stream.
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

// part sends the head and n pieces of an answer; all pieces if n is negative.
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

// end marks the end of the answer.
func (s *saying) end(a answer) {
	if a.isStream() {
		s.text("0\r\n\r\n")
	}
}

// stall sends nothing more, until the client's time for reading is over.
func (s *saying) stall() {
	_ = s.client.SetReadDeadline(time.Unix(1, 0))
	s.client.await(s.said + 1) // never arrives: the client gives up
}

// late sends nothing more, and the caller's time ends.
func (s *saying) late() {
	s.world.over()
	s.client.await(s.said + 1)
}

// reset breaks the connection, as a dying process does.
func (s *saying) reset() { _ = s.conn.(*net.TCPConn).SetLinger(0) }

func (a answer) isStream() bool { return a.kind == ofEvents }

// pieces returns the events of a stream, or the body.
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

// with returns the answer with other pieces.
func (a answer) with(pieces ...string) answer {
	a.body = strings.Join(pieces, "")
	return a
}
