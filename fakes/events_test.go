package fakes

import (
	"slices"
	"testing"
)

func TestSplitEvents(t *testing.T) {
	for name, want := range map[string][]string{
		"nothing":          nil,
		"two":              {"data: 1\n\n", "data: 2\n\n"},
		"carriage returns": {"data: 1\r\n\r\n", "data: 2\r\n\r\n"},
		"comments":         {": WAIT\n\n", "event: x\ndata: 1\n\n"},
		"blank lines":      {"\n\ndata: 1\n\n", "\n\ndata: 2\n\n", "\n"},
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
