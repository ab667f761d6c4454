package saying

import (
	"fmt"
	"strings"
)

// ollamaLine is a line of an answer of Ollama, the last or one before.
func ollamaLine(message string, isLast bool) string {
	end := `"done":false`
	if isLast {
		end = `"done_reason":"stop","done":true,"prompt_eval_count":1,"eval_count":1`
	}
	return fmt.Sprintf(`{"model":%q,"created_at":"2025-01-01T00:00:00Z","message":{"role":"assistant",%s},%s}`, model, message, end)
}

// ollamaCalls is the member of a message that has the calls, which Ollama says whole.
func (a Answer) ollamaCalls() (string, error) {
	var calls []string
	for _, call := range a.Calls {
		args, err := call.object()
		if err != nil {
			return "", err
		}
		calls = append(calls, fmt.Sprintf(`{"function":{"name":%s,"arguments":%s}}`, quoted(call.Name), args))
	}
	return `"tool_calls":[` + strings.Join(calls, ",") + `]`, nil
}

// ollama is the answer as Ollama says it whole.
func (a Answer) ollama() (Body, error) {
	said := `"content":` + quoted(a.text())
	if len(a.Calls) > 0 {
		calls, err := a.ollamaCalls()
		if err != nil {
			return Body{}, err
		}
		said += "," + calls
	}
	return Body{ofJSON, ollamaLine(said, true)}, nil
}

// ollamaStream is the answer as Ollama streams it.
func (a Answer) ollamaStream() (Body, error) {
	var lines strings.Builder
	for _, piece := range a.Text {
		lines.WriteString(ollamaLine(`"content":`+quoted(piece), false) + "\n")
	}
	if len(a.Calls) > 0 {
		calls, err := a.ollamaCalls()
		if err != nil {
			return Body{}, err
		}
		lines.WriteString(ollamaLine(`"content":"",`+calls, false) + "\n")
	}
	lines.WriteString(ollamaLine(`"content":""`, true) + "\n")
	return Body{ofLines, lines.String()}, nil
}
