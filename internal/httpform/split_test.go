package httpform_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/httpform"
)

// ends returns the lengths of the events of a stream that arrives in these portions.
func ends(form httpform.Form, portions ...string) (all []int) {
	s, n := httpform.Splitter{Form: form}, 0
	for _, data := range portions {
		for end := s.End([]byte(data)); end >= 0; end = s.End([]byte(data)) {
			all, n, data = append(all, n+end), 0, data[end:]
		}
		n += len(data)
	}
	return all
}

// SSE-1: an event ends with a blank line, whatever its line endings are, and wherever the
// portions are cut.
func TestEndsOfEvents(t *testing.T) {
	for text, want := range map[string][]int{
		"data: a\n\ndata: b\n\n":                {9, 9},
		"data: a\r\n\r\ndata: b\r\n\r\ndata: c": {11, 11},
		"data: a\r\rdata: b\r\rx":               {9, 9},
		"data: a\n\r\ndata: b\r\n\nx":           {10, 10},
		"\n\n\r\n\rx":                           {1, 1, 2, 1},
		"data: a\n":                             nil,
		"a\nb\n\nc":                             {5},
	} {
		assert.Equal(t, want, ends(httpform.Events, text), "%q", text)
		assert.Equal(t, want, ends(httpform.Events, strings.Split(text, "")...), "%q", text)
	}
	assert.Equal(t, []int{2, 1}, ends(httpform.Lines, "a\n\nb"))
	assert.Nil(t, ends(httpform.Whole, "a\n\nb"))
}

// The form of a body follows from its media type, whatever parameters come after it, even invalid ones.
func TestFormOf(t *testing.T) {
	for header, want := range map[string]httpform.Form{
		"text/event-stream": httpform.Events, "Text/Event-Stream ; charset=utf-8": httpform.Events, "text/event-stream; charset": httpform.Events,
		"text/event-stream; charset=utf-8; charset=latin1": httpform.Events, "application/jsonl;": httpform.Lines,
		"": httpform.Whole, ";": httpform.Whole, "text/event-streams": httpform.Whole, "text/plain, text/event-stream": httpform.Whole,
	} {
		assert.Equal(t, want, httpform.FormOf(header), "%q", header)
	}
}

// The splitter is far faster than the code that reads what it has split.
func BenchmarkSplitter(b *testing.B) {
	for name, event := range map[string]string{"small": "data: {\"choices\":[{\"delta\":{\"content\":\" cold\"}}]}\n\n", "large": "data: " + strings.Repeat("x", 4000) + "\n\n"} {
		b.Run(name, func(b *testing.B) {
			data := []byte(strings.Repeat(event, 1+(64<<10)/len(event)))
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				s := httpform.Splitter{Form: httpform.Events}
				for rest := data; ; {
					n := s.End(rest)
					if n < 0 {
						break
					}
					rest = rest[n:]
				}
			}
		})
	}
}
