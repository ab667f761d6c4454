package saying

import (
	"fmt"
	"strings"
)

// candidate is a piece of an answer of Gemini, the last or one before.
func candidate(parts []string, isLast bool) string {
	end := ""
	if isLast {
		end = `,"finishReason":"STOP"`
	}
	return fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[%s]}%s,"index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2},"modelVersion":%q,"responseId":"fake"}`,
		strings.Join(parts, ","), end, model)
}

// parts are those of texts, and behind them those of the calls, which Gemini says whole.
func (a Answer) parts(texts []string) (parts []string, err error) {
	for _, text := range texts {
		parts = append(parts, `{"text":`+quoted(text)+`}`)
	}
	for _, call := range a.Calls {
		args, err := call.object()
		if err != nil {
			return nil, err
		}
		parts = append(parts, fmt.Sprintf(`{"functionCall":{"name":%s,"args":%s}}`, quoted(call.Name), args))
	}
	return parts, nil
}

// gemini is the answer as Gemini says it whole.
func (a Answer) gemini() (Body, error) {
	texts := []string{a.text()}
	if texts[0] == "" {
		texts = nil
	}
	parts, err := a.parts(texts)
	return Body{ofJSON, candidate(parts, true)}, err
}

// geminiStream is the answer as Gemini streams it, a part in each piece.
func (a Answer) geminiStream() (Body, error) {
	parts, err := a.parts(a.Text)
	if err != nil {
		return Body{}, err
	}
	var e events
	for i, part := range parts {
		e.data("%s", candidate([]string{part}, i == len(parts)-1))
	}
	if len(parts) == 0 {
		e.data("%s", candidate(nil, true))
	}
	return e.body(), nil
}

// inList is a stream of events as Gemini writes it where nobody asks for events: a list.
func inList(stream Body) Body {
	all := strings.Split(strings.TrimSuffix(strings.TrimPrefix(stream.Text, "data: "), "\n\n"), "\n\ndata: ")
	return Body{ofJSON, "[" + strings.Join(all, ",\n") + "]"}
}
