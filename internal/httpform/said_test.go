package httpform_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/httpform"
)

// The data of a piece is found in any form of event and line, and replacing it does not change what surrounds
// it.
func TestWhatPiecesSay(t *testing.T) {
	for _, c := range []struct {
		form             httpform.Form
		text, said, half string
		other            string
	}{
		{httpform.Events, "data: {\"a\":1}\n\n", `{"a":1}`, "data: {\"a\n\n", "data: []\n\n"},
		{httpform.Events, "event: x\r\ndata: {\"a\": 1}\r\n\r\n", `{"a": 1}`, "event: x\r\ndata: {\"a\"\r\n\r\n", "event: x\r\ndata: []\r\n\r\n"},
		{httpform.Events, "id: 7\ndata:{\"a\":1}\nretry: 5\n\n", `{"a":1}`, "id: 7\ndata:{\"a\nretry: 5\n\n", "id: 7\ndata:[]\nretry: 5\n\n"},
		{httpform.Events, ":\ndata:{}\n\n", "{}", ":\ndata:{\n\n", ":\ndata:[]\n\n"},
		{httpform.Events, "data: [DONE]\n\n", "[DONE]", "", "data: []\n\n"},
		{httpform.Events, "data: {\ndata: }\n\n", "", "", "data: {\ndata: }\n\n[]"},
		{httpform.Events, ": wait\n\n", "", "", ": wait\n\n[]"},
		{httpform.Lines, "{\"a\":1}\n", `{"a":1}`, `{"a`, "[]\n"},
		{httpform.Whole, `{"a":1}`, `{"a":1}`, `{"a`, "[]"},
		{httpform.Whole, " {\n \"a\": 1}\n", "{\n \"a\": 1}", " {\n \"a", " []\n"},
		{httpform.Whole, "no: JSON", "no: JSON", "", "[]"},
		{httpform.Whole, "\xff", "\xff", "", "[]"},
		{httpform.Whole, "", "", "", "[]"},
	} {
		p := httpform.PieceOf(c.form, []byte(c.text))
		assert.Equal(t, c.said, string(p.Said()), "%q", c.text)
		other := p.Saying([]byte("[]"))
		assert.Equal(t, c.other, string(other.Bytes()), "%q", c.text)
		half, ok := httpform.HalfOf(p.JSON())
		assert.Equal(t, c.half != "", ok, "%q", c.text)
		assert.Equal(t, c.half, string(httpform.BytesOf(half)), "%q", c.text)
	}
}

// JSON that is no piece has no data.
func TestNoPieces(t *testing.T) {
	for _, told := range []string{``, `[]`, `{"text":1}`, `{"base64":[]}`} {
		assert.Empty(t, httpform.BytesOf(json.RawMessage(told)), told)
		_, ok := httpform.HalfOf(json.RawMessage(told))
		assert.False(t, ok, told)
	}
}

func TestLengthOfHead(t *testing.T) {
	says := `{"status":200,"headers":{"content-length":"9","x":["1","2"]}}`
	assert.JSONEq(t, `{"status":200,"headers":{"content-length":"4","x":["1","2"]}}`, string(httpform.WithLength(json.RawMessage(says), 4)))
	for _, head := range []string{`{"status":200}`, `{"status":200,"headers":{"x":"1"}}`, `[]`} {
		assert.Equal(t, head, string(httpform.WithLength(json.RawMessage(head), 4)))
	}
}

// A request over HTTP has a method and a path; the path may be empty.
func TestRequests(t *testing.T) {
	for request, ok := range map[string]bool{
		`{"method":"GET","path":""}`: true, `{"method":"GET","path":"/x"}`: true,
		`{"method":"GET"}`: false, `{"path":"/x"}`: false, `{"method":"","path":""}`: false, `[]`: false, `"GET"`: false,
	} {
		assert.Equal(t, ok, httpform.IsRequest(json.RawMessage(request)), request)
	}
}

// Cut takes a request apart as this module writes it. Any other JSON, or another spelling, is not taken apart.
func TestCut(t *testing.T) {
	for request, want := range map[string][3]string{
		`{"method":"POST","path":"/v1/x","headers":{"a":"b"},"body":{}}`: {"POST", "/v1/x", `{"headers":{"a":"b"},"body":{}}`},
		`{"method":"GET","path":"/a?b=\"c\"&d"}`:                         {"GET", `/a?b="c"&d`, ""},
		`{"method":"GET","path":""}`:                                     {"GET", "", ""},
		`{"method":"","path":"/"}`:                                       {},
		`{"path":"/","method":"GET"}`:                                    {},
		`{"method":"GET","path":"/"`:                                     {},
		`{"method":"GET","path":1}`:                                      {},
		`[]`:                                                             {},
	} {
		method, path, rest := httpform.Cut(json.RawMessage(request))
		assert.Equal(t, want, [3]string{method, path, rest}, request)
	}
}

// Two HTTP requests have the same line if their methods and paths are equal, however they are spelled and whatever
// follows. Two values that are no HTTP requests count as having the same line.
func TestSameLine(t *testing.T) {
	paid, turned := `{"method":"POST","path":"/pay","body":1}`, `{"path":"/pay","method":"POST"}`
	for b, want := range map[string]bool{
		paid: true, `{"method":"POST","path":"/pay"}`: true, turned: true, `{"method":"PUT","path":"/pay","body":1}`: false,
		`{"method":"POST","path":"/pay/1","body":1}`: false, `"pay"`: false, ``: false,
	} {
		assert.Equal(t, want, httpform.SameLine(json.RawMessage(paid), json.RawMessage(b)), b)
		assert.Equal(t, want, httpform.SameLine(json.RawMessage(b), json.RawMessage(turned)), b)
	}
	assert.True(t, httpform.SameLine(json.RawMessage(`"pay"`), json.RawMessage(`{"n":1}`)))
}
