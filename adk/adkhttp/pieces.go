package adkhttp

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/internal/canonical"
)

// headJSON returns the head of an answer in the form that httpform.ReadHead reads.
func headJSON(resp *http.Response) json.RawMessage {
	headers := valuesOf(resp.Header, unheldAnswerHeader)
	headers.set("location", withoutSecrets)
	headers.set("content-location", withoutSecrets)
	if len(resp.Trailer) > 0 {
		names := strings.Join(slices.Sorted(maps.Keys(resp.Trailer)), ", ")
		headers = append(toldValues{{"trailer", []string{names}}}, headers...)
		headers.sort()
	}
	o := canonical.Open(nil)
	o.Field("status")
	o.Out = strconv.AppendInt(o.Out, int64(resp.StatusCode), 10)
	headers.write(&o, "headers")
	return o.Close()
}

// trailersJSON returns the trailers that have arrived; nil if there are none to record.
func trailersJSON(resp *http.Response) json.RawMessage {
	came := maps.Clone(resp.Trailer)
	maps.DeleteFunc(came, func(_ string, values []string) bool { return len(values) == 0 }) // announced, but not sent
	trailers := valuesOf(came, unheldAnswerHeader)
	if len(trailers) == 0 {
		return nil
	}
	o := canonical.Open(nil)
	trailers.write(&o, "trailers")
	return o.Close()
}
