package spans

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// said are the attributes that hold what was said. Spans have them as JSON, which every backend
// shows; of events the conventions want them structured.
var said = []string{inputMessages, outputMessages, systemInstruction, toolDefinitions}

// detailsOf is the event of an ask that has ended: what its span says of who was asked, of the
// model, and of how that failed. What is ours, or of HTTP, is the span's alone.
func detailsOf(s *Span, at time.Time) Event {
	e := Event{Name: detailsEvent, At: at}
	for _, one := range s.Attributes {
		if !strings.HasPrefix(one.Key, "gen_ai.") && !strings.HasPrefix(one.Key, "server.") && one.Key != errorType {
			continue
		}
		if text, ok := one.Value.(string); ok && slices.Contains(said, one.Key) {
			one.Value = structured(text)
		}
		e.Attributes = append(e.Attributes, one)
	}
	return e
}

// structured is JSON as the value of an attribute: its whole numbers are int64, as far as they
// are such, and all others float64.
func structured(text string) any {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return text
	}
	return numbered(v)
}

func numbered(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if n, err := v.Float64(); err == nil {
			return n
		}
		return v.String() // beyond every number of 64 bits
	case []any:
		for i := range v {
			v[i] = numbered(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = numbered(v[name])
		}
	}
	return v
}
