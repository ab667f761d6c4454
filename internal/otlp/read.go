package otlp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Read reads a document, or several behind one another as collectors write them, a line each.
// Members that say nothing of spans are passed over. The error says what is wrong, and where.
func Read(r io.Reader) (*Document, error) {
	decoder := json.NewDecoder(r)
	all := &Document{}
	for n := 1; ; n++ {
		var next struct {
			ResourceSpans *[]ResourceSpans `json:"resourceSpans"`
		}
		err := decoder.Decode(&next)
		switch {
		case errors.Is(err, io.EOF) && n > 1:
			return all, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("it is empty: want the JSON of OTLP")
		case err != nil:
			return nil, fmt.Errorf("document %d is not the JSON of OTLP: %w", n, err)
		case next.ResourceSpans == nil:
			return nil, fmt.Errorf("document %d has no spans: want a member resourceSpans", n)
		}
		all.ResourceSpans = append(all.ResourceSpans, *next.ResourceSpans...)
	}
}
