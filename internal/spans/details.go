package spans

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// said are the attributes that hold what was said. Spans have them as JSON, which every backend can
// show; in events, the conventions require structured values.
var said = []string{inputMessages, outputMessages, systemInstruction, toolDefinitions}

// detailsOf returns the event of an ask that has ended, with those attributes of its span that
// describe the request, the model and the failure. Attributes of this project, and of HTTP, belong
// only to the span.
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

// structured decodes JSON for the value of an attribute. Whole numbers are int64 if they fit, and
// others float64.
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
		return v.String() // too large for 64 bits
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
