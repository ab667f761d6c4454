package chatfault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// message is what counts of a message in a request in the shape of Chat Completions.
type message struct {
	Role      string `json:"role"`
	Answers   string `json:"tool_call_id"`
	ToolCalls []struct {
		ID string `json:"id"`
	} `json:"tool_calls"`
}

// Refused says what providers refuse a request for; it is empty for others, and
// for what is no request of a model.
func Refused(request json.RawMessage) string {
	if !bytes.Contains(request, []byte(`"messages"`)) || !bytes.Contains(request, []byte(`"tool_call`)) { // an id, or calls
		return ""
	}
	var asked struct {
		Messages []message
		Body     struct{ Messages []message }
	}
	if json.Unmarshal(request, &asked) != nil {
		return ""
	}
	var open []string
	for _, m := range append(asked.Messages, asked.Body.Messages...) {
		if m.Role == "tool" {
			at := slices.Index(open, m.Answers)
			if at < 0 {
				return fmt.Sprintf("a result without its call, %q", m.Answers)
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			break
		}
		for _, call := range m.ToolCalls {
			open = append(open, call.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Sprintf("a call without its result, %q", open[0])
	}
	return ""
}
