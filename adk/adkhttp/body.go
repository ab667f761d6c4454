package adkhttp

import (
	"io"
	"net/http"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/httpform"
)

// body is the body of an answer, whose pieces are told as they are read: each before
// its last byte is handed out, and one that was never finished when the reading ends.
//
// No byte is held back: what has come is handed out at once, but at most up to the end
// of a piece at a time, so that what a reader does between two pieces is told between
// them, however the network cut them.
type body struct {
	x       *adk.Exchange
	resp    *http.Response
	from    io.ReadCloser
	form    httpform.Form
	split   httpform.Splitter
	rest    []byte // what was read beyond the end of a piece
	restErr error  // what follows it
	failed  error  // what the reading broke with
	left    int64  // how much is still to come, where the head said so; else -1

	mu    sync.Mutex // Close may come beside Read
	piece holder     // the piece that is under way
	held  int64      // bytes of pieces that were told
	most  int64
	told  bool // the end was told
}

func newBody(x *adk.Exchange, resp *http.Response, most int64) io.ReadCloser {
	b := &body{x: x, resp: resp, from: resp.Body, form: httpform.FormOf(resp.Header.Get("Content-Type")), left: resp.ContentLength, most: most, piece: holder{most: most}}
	b.split.Form = b.form
	if b.left == 0 { // nobody has said it: see hasNoBody
		b.left = -1
	}
	return b
}

// Read reads at most up to the end of a piece. What it breaks with it says again to who
// reads on, as bodies of the network do.
func (b *body) Read(p []byte) (int, error) {
	switch {
	case len(p) == 0:
		return 0, nil
	case b.failed != nil:
		return 0, b.failed
	}
	n, err := b.more(p)
	b.x.Touch()
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		end := b.split.End(p[:n])
		if end < 0 {
			break
		}
		b.keepRest(p[end:n], err)
		n, err = end, nil
		b.take(p[:n])
		b.tellPiece(false)
		if n > 0 {
			return n, nil
		}
		n, err = b.more(p) // the piece had ended before
	}
	b.take(p[:n])
	if b.left == 0 && b.restErr == nil && (err == nil || err == io.EOF) && len(b.resp.Trailer) == 0 {
		b.tellEnd(io.EOF) // which not every client reads to; trailers come with it
	}
	if err != nil {
		b.tellEnd(asClientSays(b.resp.Request, err, readingBody))
		if err != io.EOF {
			err = b.x.Failure(err)
			b.failed = err
		}
	}
	return n, err
}

// more gives what was read before and not handed out, or reads.
func (b *body) more(p []byte) (n int, err error) {
	if err := b.x.Broken(); err != nil {
		return 0, err
	}
	if len(b.rest) == 0 && b.restErr == nil {
		return b.from.Read(p)
	}
	n = copy(p, b.rest)
	b.rest = b.rest[n:]
	if len(b.rest) == 0 {
		err, b.restErr = b.restErr, nil
	}
	return n, err
}

// keepRest keeps what lies behind the end of a piece, before what was kept already.
func (b *body) keepRest(rest []byte, err error) {
	if len(rest) > 0 {
		b.rest = append(append([]byte(nil), rest...), b.rest...)
	}
	if err != nil {
		b.restErr = err
	}
}

// take adds bytes to the piece that is under way. mu is held.
func (b *body) take(data []byte) {
	if b.told {
		return
	}
	if b.left > 0 {
		b.left -= int64(len(data))
	}
	_, _ = b.piece.Write(data) // never fails
}

// tellPiece tells the piece that was under way. mu is held.
func (b *body) tellPiece(open bool) {
	if b.told || b.piece.n == 0 {
		return
	}
	if unheld := b.piece.unheld(); unheld != nil {
		b.x.Piece(unheld, open)
	} else {
		b.x.Piece(httpform.PieceOf(b.form, b.piece.bytes).JSON(), open)
	}
	b.held += b.piece.n
	b.piece = holder{most: b.most - b.held}
}

// tellEnd tells the last piece and the end, once. mu is held.
func (b *body) tellEnd(err error) {
	if b.told {
		return
	}
	whole := err == io.EOF && b.form != httpform.Events
	b.tellPiece(!whole)
	if err == io.EOF {
		err = nil
		b.tellTrailers()
	}
	b.told = true
	b.x.Done(nil, err)
}

func (b *body) tellTrailers() {
	if len(b.resp.Trailer) == 0 {
		return
	}
	if trailers := trailersJSON(b.resp); trailers != nil {
		b.x.Piece(trailers, false)
	}
}

// errStopped is what is told of an answer that nobody reads to its end.
var errStopped = &adk.Error{Code: adk.E_ASK_STOPPED, Message: "the body was closed before its end"}

// Close ends the reading.
func (b *body) Close() error {
	b.mu.Lock()
	b.tellEnd(errStopped)
	b.mu.Unlock()
	defer b.x.Release()
	return b.from.Close()
}
