package adkhttp

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/httpform"
)

// headJSON is the head of an answer.
func headJSON(resp *http.Response) json.RawMessage {
	held := httpform.Head{Status: resp.StatusCode, Headers: headersOf(resp.Header, unheldAnswerHeader)}
	for _, name := range []string{"location", "content-location"} {
		if text, ok := held.Headers[name].(string); ok {
			held.Headers[name] = withoutSecrets(text)
		}
	}
	if len(resp.Trailer) > 0 {
		held.Headers["trailer"] = strings.Join(slices.Sorted(maps.Keys(resp.Trailer)), ", ")
	}
	raw, _ := httpform.Marshal(held) // texts and numbers always have a JSON
	return raw
}
