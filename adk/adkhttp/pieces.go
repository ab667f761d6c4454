package adkhttp

import (
	"encoding/json"
	"net/http"

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
	raw, _ := httpform.Marshal(held) // texts and numbers always have a JSON
	return raw
}
