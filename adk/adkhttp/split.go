package adkhttp

import (
	"mime"
	"net/http"

	"github.com/adkreplay/adkreplay/internal/httpform"
)

// formOf is the form of an answer's body.
func formOf(resp *http.Response) httpform.Form {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch kind {
	case "text/event-stream":
		return httpform.Events
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines", "application/jsonlines", "application/stream+json":
		return httpform.Lines
	}
	return httpform.Whole
}
