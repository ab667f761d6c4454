package fakes

import (
	"slices"
	"testing"
)

// SSE-1: replies are sent event by event, whichever line endings they use.
func TestSplitEvents(t *testing.T) {
	for name, want := range map[string][]string{
		"nothing":          nil,
		"two":              {"data: 1\n\n", "data: 2\n\n"},
		"both line ends":   {"data: 1\r\n\r\n", "data: 2\r\n\r\n"},
		"carriage returns": {"data: 1\r\r", "data: 2\r\r"},
		"comments":         {": WAIT\n\n", "event: x\ndata: 1\n\n"},
		"blank lines":      {"\n", "\n", "data: 1\n\n", "\n", "data: 2\n\n", "\n"},
		"cut short":        {"data: 1\n\n", "data: 2"},
	} {
		body := ""
		for _, event := range want {
			body += event
		}
		if got := splitEvents(body); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
