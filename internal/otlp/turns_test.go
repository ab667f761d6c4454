package otlp_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/otlp"
	"github.com/adkreplay/adkreplay/internal/spans"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/stats"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// counted returns the figures of package stats for a trace.
func counted(t *testing.T, content []byte) *stats.Figures {
	source := corpus.Source{Name: "turn", Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
	figures, err := stats.Gather(t.Context(), []corpus.Source{source}, stats.Options{})
	require.NoError(t, err)
	require.Zero(t, figures.Unreadable)
	return figures
}

func turnsOf(t *testing.T, d *otlp.Document) []otlp.Turn {
	turns, _, err := d.Turns()
	require.NoError(t, err)
	return turns
}

// A trace that is exported and read again has the same figures, as far as spans contain them, and it can be
// read and folded.
func TestThereAndBack(t *testing.T) {
	sources, err := corpus.Sources(fixtures.Traces)
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	for _, source := range sources {
		t.Run(source.Name, func(t *testing.T) {
			in, err := source.Open()
			require.NoError(t, err)
			content, err := io.ReadAll(in)
			require.NoError(t, err)
			all := exported(t, content, spans.Options{Content: true})
			turns := turnsOf(t, documentOf(all))
			require.Len(t, turns, 1)
			was, is := counted(t, content), counted(t, turns[0].Trace)
			assert.Equal(t, was.Turns, is.Turns)
			assert.Equal(t, was.Tools, is.Tools)
			assert.Equal(t, was.Stops, is.Stops)
			if was.Tokens.Counted == 0 {
				assert.Equal(t, was.Tokens, is.Tokens)
			}
			read, err := trace.Read(bytes.NewReader(turns[0].Trace))
			require.NoError(t, err)
			fold := state.New()
			for i := range read.Lines() {
				require.NoError(t, fold.Apply(&read.Lines()[i].Crossing), "crossing %d", i+1)
			}
		})
	}
}

// foreign are the spans of another tool: spans of a web server around them, a single chat in a trace of
// its own, structured attributes, and two tools that overlap.
const foreign = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeSpans":[{"scope":{"name":"other"},"spans":[
{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00000000000000a0","name":"POST /ask","kind":"SPAN_KIND_SERVER","startTimeUnixNano":"1000","endTimeUnixNano":"90000"},
{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00000000000000a1","parentSpanId":"00000000000000a0","name":"invoke_agent helper","kind":1,"startTimeUnixNano":"2000","endTimeUnixNano":"80000","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"invoke_agent"}},{"key":"gen_ai.agent.name","value":{"stringValue":"helper"}}],"status":{}},
{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00000000000000a2","parentSpanId":"00000000000000a1","name":"chat large","kind":"SPAN_KIND_CLIENT","startTimeUnixNano":3000,"endTimeUnixNano":20000,"attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.provider.name","value":{"stringValue":"openai"}},{"key":"gen_ai.request.model","value":{"stringValue":"large"}},
 {"key":"gen_ai.input.messages","value":{"arrayValue":{"values":[{"kvlistValue":{"values":[{"key":"role","value":{"stringValue":"user"}},{"key":"parts","value":{"arrayValue":{"values":[{"kvlistValue":{"values":[{"key":"type","value":{"stringValue":"text"}},{"key":"content","value":{"stringValue":"Shoes?"}}]}}]}}}]}}]}}},
 {"key":"gen_ai.response.finish_reasons","value":{"arrayValue":{"values":[{"stringValue":"tool_calls"}]}}},{"key":"gen_ai.usage.input_tokens","value":{"intValue":11}},{"key":"gen_ai.usage.output_tokens","value":{"intValue":"3"}}]},
{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00000000000000a3","parentSpanId":"00000000000000a1","name":"wrapper","startTimeUnixNano":"21000","endTimeUnixNano":"60000"},
{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00000000000000a4","parentSpanId":"00000000000000a3","name":"execute_tool stock","startTimeUnixNano":"22000","endTimeUnixNano":"50000","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}},{"key":"gen_ai.tool.name","value":{"stringValue":"stock"}}]},
{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00000000000000a5","parentSpanId":"00000000000000a3","name":"execute_tool price","startTimeUnixNano":"23000","endTimeUnixNano":"55000","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}},{"key":"gen_ai.tool.name","value":{"stringValue":"price"}}],"status":{"code":"STATUS_CODE_ERROR","message":"sold out"}},
{"traceId":"1af7651916cd43dd8448eb211c80319c","spanId":"00000000000000b1","name":"chat small","startTimeUnixNano":"95000","endTimeUnixNano":"99000","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.system","value":{"stringValue":"anthropic"}}]}
]}]}]}`

// Spans of other tools give turns with the same content, whichever tool wrote them and however it writes numbers
// and structures.
func TestForeignSpans(t *testing.T) {
	d, err := otlp.Read(strings.NewReader(foreign + "\n" + `{"resourceSpans":[]}`))
	require.NoError(t, err)
	turns, left, err := d.Turns()
	require.NoError(t, err)
	assert.Equal(t, 2, left, "of the web")
	require.Len(t, turns, 2)
	assert.Equal(t, "invoke_agent helper 00000000", turns[0].Name)
	first := counted(t, turns[0].Trace)
	assert.Equal(t, stats.Tokens{In: 11, Out: 3}, first.Tokens)
	assert.Equal(t, map[string]stats.Calls{"stock": {Count: 1}, "price": {Count: 1, Failed: 1}}, first.Tools)
	assert.Equal(t, map[string]int{"tool_calls": 1}, first.Stops)
	assert.Contains(t, first.Models, "large")
	assert.Contains(t, string(turns[0].Trace), `"Shoes?"`)
	assert.Contains(t, string(turns[0].Trace), `"kind":"fork"`, "what overlaps is the doing of strands")
	assert.Equal(t, 1, counted(t, turns[1].Trace).Asks.Count)
}

// A span that was sent twice counts once.
func TestSentAgain(t *testing.T) {
	all := exported(t, fixture(t, "tool-use"), spans.Options{})
	assert.Equal(t, turnsOf(t, documentOf(all)), turnsOf(t, documentOf(append(all, all...))))
}

// Spans that are invalid, or whose place in a trace is undefined, are refused with the reason.
func TestBadSpans(t *testing.T) {
	span := func(id, parent, more string) string {
		return fmt.Sprintf(`{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"%s","parentSpanId":"%s","name":"s","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}}]%s}`, id, parent, more)
	}
	document := func(all ...string) string {
		return `{"resourceSpans":[{"scopeSpans":[{"spans":[` + strings.Join(all, ",") + `]}]}]}`
	}
	const a, b = "00000000000000a1", "00000000000000a2"
	for name, c := range map[string]struct{ content, says string }{
		"empty":        {"", "it is empty"},
		"a text":       {"hello", "document 1 is not the JSON of OTLP"},
		"a list":       {"[]", "document 1 is not the JSON of OTLP"},
		"another JSON": {"{}", "document 1 has no spans"},
		"cut":          {document(span(a, "", ""))[:60], "document 1 is not the JSON of OTLP"},
		"the second":   {document() + "\n{", "document 2 is not the JSON of OTLP"},
		"no id":        {document(span("", "", "")), "want 16 hexadecimal digits"},
		"a short id":   {document(span("a1", "", "")), "want 16 hexadecimal digits"},
		"a circle":     {document(span(a, b, ""), span(b, a, "")), "within themselves"},
		"itself":       {document(span(a, a, "")), "within themselves"},
		"a time":       {document(span(a, "", `,"startTimeUnixNano":"soon"`)), "document 1 is not the JSON of OTLP"},
		"before 1970":  {document(span(a, "", `,"startTimeUnixNano":"-5"`)), "before 1970"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := otlp.Read(strings.NewReader(c.content))
			if err == nil {
				_, _, err = d.Turns()
			}
			assert.ErrorContains(t, err, c.says)
		})
	}
}

// FuzzTurns reads any document. This never panics, and never makes a trace that cannot be read.
func FuzzTurns(f *testing.F) {
	f.Add([]byte(foreign))
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00000000000000a1","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}},{"key":"gen_ai.tool.call.arguments","value":{"stringValue":"[1]"}}]}]}]}]}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		d, err := otlp.Read(bytes.NewReader(content))
		if err != nil {
			return
		}
		turns, _, err := d.Turns()
		if err != nil {
			return
		}
		for _, turn := range turns {
			if _, err := trace.Read(bytes.NewReader(turn.Trace)); err != nil {
				t.Fatal(err)
			}
		}
	})
}
