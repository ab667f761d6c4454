package adkhttp

import (
	"context"
	"io"
	"net/http"
	"time"
)

// What http.Client adds to the error of a transport when its Timeout has passed.
const (
	awaitingHead = " (Client.Timeout exceeded while awaiting headers)"
	readingBody  = " (Client.Timeout or context cancellation while reading body)"
)

// clientTimeout is an error as the caller of an http.Client is given it whose Timeout has
// passed. A replay takes no time, so that the client itself does not say it there: it is
// told in the place of the error without.
type clientTimeout struct {
	error
	during string
}

func (e *clientTimeout) Error() string    { return e.error.Error() + e.during }
func (e *clientTimeout) Is(as error) bool { return as == context.DeadlineExceeded }
func (e *clientTimeout) Timeout() bool    { return true }
func (e *clientTimeout) Temporary() bool  { return true }

// asClientSays is what is told of an error: with what an http.Client adds, where it is the
// client's Timeout that has passed. Around a transport that is not its own, a client
// closes the request's Cancel then; a deadline of the caller's leaves it open. Which of
// the context's end and Cancel a transport sees first differs from time to time.
func asClientSays(req *http.Request, err error, during string) error {
	if req == nil || req.Cancel == nil || err == io.EOF {
		return err
	}
	until, has := req.Context().Deadline()
	select {
	case <-req.Cancel:
		if has && !time.Now().Before(until) {
			return &clientTimeout{err, during}
		}
	default:
	}
	return err
}
