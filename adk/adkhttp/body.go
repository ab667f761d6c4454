package adkhttp

import (
	"io"
	"net/http"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/httpform"
)

// body is the body of an answer that reports its pieces to the exchange as they are read. A piece
// is reported before its last byte is handed out; an unfinished piece is reported when the reading
// ends.
//
// No byte is held back: what has arrived is handed out at once, but one Read never goes beyond the
// end of a piece. So what a reader does between two pieces is recorded between them, however the
// network cut them.
type body struct {
	x       *adk.Exchange
	resp    *http.Response
	from    io.ReadCloser
	form    httpform.Form
	split   httpform.Splitter
	rest    []byte // read beyond the end of a piece
	restErr error  // the error that follows rest
	failed  error  // the error that ended the reading
	left    int64  // bytes still to come by Content-Length; -1 if unknown

	mu    sync.Mutex // Close may run concurrently with Read
	piece holder     // the current piece
	held  int64      // bytes of the pieces reported so far
	most  int64
	told  bool // the end was reported
}

func newBody(x *adk.Exchange, resp *http.Response, most int64) io.ReadCloser {
	b := &body{x: x, resp: resp, from: resp.Body, form: httpform.FormOf(resp.Header.Get("Content-Type")), left: resp.ContentLength, most: most, piece: holder{most: most}}
	b.split.Form = b.form
	if b.left == 0 { // a length of 0 that was not announced, see hasNoBody
		b.left = -1
	}
	return b
}

// Read reads at most up to the end of a piece. After an error it returns the same error again, as
// bodies of the network do.
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
		n, err = b.more(p) // the end belonged to bytes handed out before
	}
	b.take(p[:n])
	if b.left == 0 && b.restErr == nil && (err == nil || err == io.EOF) && len(b.resp.Trailer) == 0 {
		b.tellEnd(io.EOF) // not every client reads on to EOF; trailers come with EOF
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

// more returns bytes that were read but not handed out yet, or reads.
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

// keepRest keeps what lies behind the end of a piece, ahead of what was kept already.
func (b *body) keepRest(rest []byte, err error) {
	if len(rest) > 0 {
		b.rest = append(append([]byte(nil), rest...), b.rest...)
	}
	if err != nil {
		b.restErr = err
	}
}

// take adds bytes to the current piece. The caller holds mu.
func (b *body) take(data []byte) {
	if b.told {
		return
	}
	if b.left > 0 {
		b.left -= int64(len(data))
	}
	_, _ = b.piece.Write(data) // never fails
}

// tellPiece reports the current piece. The caller holds mu.
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

// tellEnd reports the last piece and the end, once. The caller holds mu.
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

// errStopped is reported for an answer that is not read to its end.
var errStopped = &adk.Error{Code: adk.E_ASK_STOPPED, Message: "the body was closed before its end"}

// Close closes the body, and reports E_ASK_STOPPED if its end was not reported yet.
func (b *body) Close() error {
	b.mu.Lock()
	b.tellEnd(errStopped)
	b.mu.Unlock()
	defer b.x.Release()
	return b.from.Close()
}
