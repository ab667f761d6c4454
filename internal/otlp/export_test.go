package otlp_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/otlp"
	"github.com/adkreplay/adkreplay/internal/spans"
	"github.com/adkreplay/adkreplay/replay/trace"
)

func fixture(t *testing.T, name string) []byte {
	content, err := fixtures.Traces.ReadFile(name + ".jsonl")
	require.NoError(t, err)
	return content
}

func exported(t *testing.T, content []byte, o spans.Options) []otlp.Span {
	all, err := otlp.Export(bytes.NewReader(content), trace.Options{}, o)
	require.NoError(t, err)
	return all.Spans
}

func documentOf(all []otlp.Span) *otlp.Document {
	return (&otlp.Exported{Spans: all}).Document()
}

// closing is a writer whose Close does nothing.
type closing struct{ io.Writer }

func (closing) Close() error { return nil }

// Ids are derived from the trace: every export gives the same ids, another trace has others, and each span
// has its own.
func TestIds(t *testing.T) {
	content := fixture(t, "sub-agents-side-by-side")
	all := exported(t, content, spans.Options{})
	assert.Equal(t, all, exported(t, content, spans.Options{}))
	var packed bytes.Buffer
	w := trace.NewCompressor(closing{&packed})
	_, err := w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	assert.Equal(t, all, exported(t, packed.Bytes(), spans.Options{}), "compressed or not")
	assert.NotEqual(t, all[0].TraceID, exported(t, fixture(t, "sub-agents"), spans.Options{})[0].TraceID)
	ids, above := map[string]bool{}, 0
	for _, s := range all {
		assert.Len(t, s.TraceID, 32)
		assert.Len(t, s.SpanID, 16)
		assert.False(t, ids[s.SpanID])
		ids[s.SpanID] = true
	}
	for _, s := range all {
		if s.ParentID == "" {
			above++
		} else {
			assert.True(t, ids[s.ParentID], s.Name)
		}
	}
	assert.Equal(t, 1, above)
}

// For a trace that breaks off, the spans up to there are exported, all of them ended, and the error
// says why there are no more.
func TestBrokenOff(t *testing.T) {
	content := fixture(t, "tool-round-trip")
	lines := bytes.SplitAfter(content, []byte("\n"))
	for n := 1; n < len(lines)-1; n++ {
		all, err := otlp.Export(bytes.NewReader(bytes.Join(lines[:n], nil)), trace.Options{}, spans.Options{})
		require.Error(t, err)
		for _, s := range all.Spans {
			assert.GreaterOrEqual(t, s.End, s.Start)
		}
		if n > 1 {
			assert.Equal(t, "invoke_agent", all.Spans[len(all.Spans)-1].Name, "the outermost ends last")
		}
	}
	_, err := otlp.Export(strings.NewReader("{}"), trace.Options{}, spans.Options{})
	assert.Error(t, err)
}

// Events are exported as log records on a line of their own, each with the ids of the span it belongs to, and with
// its texts as OTLP values. A reader of spans skips them. A trace without any spans is
// an error.
func TestEvents(t *testing.T) {
	all, err := otlp.Export(bytes.NewReader(fixture(t, "asks-a-model")), trace.Options{}, spans.Options{Events: true, Content: true})
	require.NoError(t, err)
	require.NotEmpty(t, all.Events)
	asks := map[string]otlp.Span{}
	for _, s := range all.Spans {
		asks[s.TraceID+s.SpanID] = s
	}
	for _, e := range all.Events {
		of := asks[e.TraceID+e.SpanID]
		assert.True(t, strings.HasPrefix(of.Name, "chat "), of.Name)
		assert.Equal(t, []otlp.Nanos{of.End, of.End}, []otlp.Nanos{e.Time, e.Observed})
	}
	var out bytes.Buffer
	require.NoError(t, all.Document().Write(&out))
	lines := strings.SplitAfter(out.String(), "\n")
	require.Len(t, lines, 3)
	assert.True(t, strings.HasPrefix(lines[0], `{"resourceSpans":[{`))
	assert.True(t, strings.HasPrefix(lines[1], `{"resourceLogs":[{`))
	assert.Contains(t, lines[1], `"eventName":"gen_ai.client.inference.operation.details"`)
	assert.Contains(t, lines[1], `{"key":"gen_ai.input.messages","value":{"arrayValue":{"values":[{"kvlistValue":{"values":[{"key":"parts","value":{"arrayValue":`)
	for _, document := range []string{out.String(), lines[1] + lines[0], `{"resourceMetrics":null,"resourceProfiles":7}` + lines[0] + lines[1]} {
		read, err := otlp.Read(strings.NewReader(document))
		require.NoError(t, err)
		assert.Equal(t, all.Document().ResourceSpans, read.ResourceSpans)
	}
	_, err = otlp.Read(strings.NewReader(lines[1]))
	assert.ErrorContains(t, err, "other signals of OpenTelemetry, and no spans")
	_, err = otlp.Read(strings.NewReader(lines[0] + "{}"))
	assert.ErrorContains(t, err, "document 2 has no spans")

	none, err := otlp.Export(bytes.NewReader(fixture(t, "asks-a-model")), trace.Options{}, spans.Options{Content: true})
	require.NoError(t, err)
	assert.Empty(t, none.Events)
	assert.Equal(t, all.Spans, none.Spans)
}

// An error event without an error, which an edited trace may have, is exported without one.
func TestErrorThatIsNotSaid(t *testing.T) {
	lines := bytes.SplitAfter(fixture(t, "hello"), []byte("\n"))
	edited := append(bytes.Join(lines[:3], nil), "{\"kind\":\"error\",\"in\":1}\n"...)
	all, err := otlp.Export(bytes.NewReader(edited), trace.Options{}, spans.Options{Content: true})
	require.ErrorContains(t, err, "truncated")
	require.NotEmpty(t, all.Spans)
	assert.Empty(t, all.Spans[0].Events)
}
