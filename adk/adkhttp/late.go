package adkhttp

import (
	"context"
	"io"
	"net/http"
	"time"
)

// These are the texts that http.Client adds to a transport's error when its Timeout has passed.
const (
	awaitingHead = " (Client.Timeout exceeded while awaiting headers)"
	readingBody  = " (Client.Timeout or context cancellation while reading body)"
)

// clientTimeout is an error in the form in which http.Client returns it after its Timeout. A replay
// takes no time, so the client does not add its text there; therefore the recording has the error
// with the text.
type clientTimeout struct {
	error
	during string
}

func (e *clientTimeout) Error() string    { return e.error.Error() + e.during }
func (e *clientTimeout) Is(as error) bool { return as == context.DeadlineExceeded }
func (e *clientTimeout) Timeout() bool    { return true }
func (e *clientTimeout) Temporary() bool  { return true }

// asClientSays returns the error to record: with what http.Client adds if the client's Timeout has
// passed. Around a custom transport, the client then closes the request's Cancel, while a deadline
// of the caller leaves it open. Which of the two a transport sees first, the end of the context or
// Cancel, varies from run to run.
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
