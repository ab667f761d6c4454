package turn

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// Fate says whether what was asked for was done, as far as the asker can know.
type Fate string

// The fates. What is Unknown was done in some runs of an explorer and not done in others: a check
// that counts should accept both.
const (
	// Done means that the ask was answered, over HTTP with a status below 300.
	Done Fate = "done"
	// NotDone means that the ask reached nobody, because the turn was aborted or no connection came
	// about, or that a status refused it.
	NotDone Fate = "not done"
	// Unknown means any other failure, a status such as 500, or an ask that has not ended.
	Unknown Fate = "unknown"
)

// Ask is an ask of the world in a run, with its answer.
type Ask struct {
	// Of names the party that was asked.
	Of string
	// Request is the JSON of the request.
	Request json.RawMessage
	// Method and Path are those of a request over HTTP, and empty otherwise.
	Method, Path string
	// Effect is the effect that the ask declared: adk.EffectWrites, adk.EffectReads, or none.
	Effect adk.Effect
	// Status is the status of an answer over HTTP; 0 if none has begun or the ask is not HTTP.
	Status int
	// Answered says that an answer came, to its end, whatever its status.
	Answered bool
	// Err is the error with which the ask ended, or nil.
	Err error
	// Fate says whether what was asked for was done.
	Fate Fate
	// Crossing is the number of the crossing that begins the ask.
	Crossing int
}

// Asks returns the asks of the run, in the order in which they were made, except for fault points.
// Like Crossings, it may be called only during the check.
func (r Run) Asks() []Ask {
	if r.Crossings == nil {
		return nil
	}
	var all []Ask
	at := map[int]int{} // index in all of the asks that have not ended, by operation
	aborted := false
	for x := range r.Crossings {
		i, known := at[x.Op]
		switch {
		case wire.IsCancel(x):
			aborted = true
		case wire.Asks(x) && !strings.HasPrefix(x.Name, adk.FaultPoints):
			one := Ask{Of: x.Name, Request: x.JSON, Effect: adk.Effect(x.Status), Fate: Unknown, Crossing: x.Seq}
			one.Method, one.Path, _ = httpform.RequestLine(x.JSON)
			if aborted && !x.Flag {
				one.Fate = NotDone
			}
			at[x.Op] = len(all)
			all = append(all, one)
		case !known:
		case wire.IsPiece(x) && all[i].Method != "" && all[i].Status == 0:
			if status, _, err := httpform.ReadHead(x.JSON); err == nil {
				all[i].Status, all[i].Fate = status, fateBy(status)
			}
		case wire.EndsAsk(x):
			delete(at, x.Op)
			all[i].end(x.Err)
		}
	}
	return all
}

// end records how the ask has ended.
func (a *Ask) end(err error) {
	a.Err, a.Answered = err, err == nil
	switch {
	case a.Status != 0: // the status has decided it
	case err == nil:
		a.Fate = Done
	case isUnreached(err):
		a.Fate = NotDone
	}
}

// fateBy returns the fate that an HTTP status implies.
func fateBy(status int) Fate {
	switch {
	case status < http.StatusMultipleChoices:
		return Done
	case status == http.StatusRequestTimeout, status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable && status != http.StatusNotImplemented:
		return Unknown
	}
	return NotDone
}

// isUnreached reports whether no connection came about.
func isUnreached(err error) bool {
	var failed *net.OpError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &failed) && failed.Op == "dial"
}
