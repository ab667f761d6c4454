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

// Fate is what became of what was asked for, as far as who asked can know.
type Fate string

// The fates. Of what is Unknown some was done in the runs of an explorer, and some was not: a check
// that counts takes it for either.
const (
	// Done is what was answered, or over HTTP what a status below 300 has begun to answer.
	Done Fate = "done"
	// NotDone is what reached nobody: in an aborted turn nothing is asked, and no connection came
	// about; or what a status refuses.
	NotDone Fate = "not done"
	// Unknown is all else that failed, has a status such as 500, or has not ended.
	Unknown Fate = "unknown"
)

// Ask is an ask of the world in a run, and its answer.
type Ask struct {
	// Of is who was asked.
	Of string
	// Request is what, as JSON.
	Request json.RawMessage
	// Method and Path are those of a request over HTTP, and empty elsewhere.
	Method, Path string
	// Effect is what was said of it: adk.EffectWrites, adk.EffectReads, or nothing.
	Effect adk.Effect
	// Status is that of an answer over HTTP; 0 where none has begun, and elsewhere.
	Status int
	// Answered says that an answer came, and to its end, whichever status it has.
	Answered bool
	// Err is what the ask has ended with, if it has failed.
	Err error
	// Fate is what became of it.
	Fate Fate
	// Crossing is the number of the crossing that asks.
	Crossing int
}

// Asks are the asks of the run, in the order in which they were made, but for fault points. It is good
// during the check only, as Crossings is.
func (r Run) Asks() []Ask {
	if r.Crossings == nil {
		return nil
	}
	var all []Ask
	at := map[int]int{} // by operation, the places of those that have not ended
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

// end takes in how the ask has ended.
func (a *Ask) end(err error) {
	a.Err, a.Answered = err, err == nil
	switch {
	case a.Status != 0: // which has said it
	case err == nil:
		a.Fate = Done
	case isUnreached(err):
		a.Fate = NotDone
	}
}

// fateBy is what a status over HTTP says of what was asked for.
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
