package otlp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/adkreplay/adkreplay/internal/jsonfault"
)

// Read reads a document, or several documents after one another, one on each line, as collectors
// write them. It ignores members that do not concern spans, and documents of other signals. The
// error says what is wrong, and in which document.
func Read(r io.Reader) (*Document, error) {
	decoder := json.NewDecoder(r)
	all, others := &Document{}, 0
	for n := 1; ; n++ {
		var next struct {
			ResourceSpans    *[]ResourceSpans `json:"resourceSpans"`
			ResourceLogs     *signal          `json:"resourceLogs"`
			ResourceMetrics  *signal          `json:"resourceMetrics"`
			ResourceProfiles *signal          `json:"resourceProfiles"`
		}
		err := decoder.Decode(&next)
		switch {
		case errors.Is(err, io.EOF) && n > 1 && others == n-1:
			return nil, errors.New("it has other signals of OpenTelemetry, and no spans: want a member resourceSpans")
		case errors.Is(err, io.EOF) && n > 1:
			return all, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("it is empty: want the JSON of OTLP")
		case err != nil:
			return nil, fmt.Errorf("document %d is not the JSON of OTLP: %w", n, jsonfault.Of(err))
		case next.ResourceSpans == nil && (next.ResourceLogs != nil || next.ResourceMetrics != nil || next.ResourceProfiles != nil):
			others++
			continue
		case next.ResourceSpans == nil:
			return nil, fmt.Errorf("document %d has no spans: want a member resourceSpans", n)
		}
		all.ResourceSpans = append(all.ResourceSpans, *next.ResourceSpans...)
	}
}

// signal is a signal that is ignored.
type signal struct{}

// UnmarshalJSON accepts anything.
func (*signal) UnmarshalJSON([]byte) error { return nil }
