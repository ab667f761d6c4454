// Package collecting tests that collectors understand the exported spans: with an OTLP receiver on
// loopback, and with the library by which collectors read OTLP's JSON. It is a module of its own, since
// these need gRPC and protocol buffers.
package collecting

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	logscollector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/otlp"
	"github.com/adkreplay/adkreplay/internal/spans"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/otel"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/scenarios"
)

// received is the part of a span that a test looks at.
type received struct {
	name, parent string
	begin, end   uint64
	kind, status int
	attributes   []string
	events       []string
}

// receiver keeps what is exported to it.
type receiver struct {
	mu      sync.Mutex
	asked   []*collector.ExportTraceServiceRequest
	logged  []*logscollector.ExportLogsServiceRequest
	refused []error
}

// ServeHTTP accepts one export request.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil && req.URL.Path == "/v1/traces":
		var asked collector.ExportTraceServiceRequest
		err = proto.Unmarshal(body, &asked)
		r.asked = append(r.asked, &asked)
	case err == nil && req.URL.Path == "/v1/logs":
		var logged logscollector.ExportLogsServiceRequest
		err = proto.Unmarshal(body, &logged)
		r.logged = append(r.logged, &logged)
	case err == nil:
		err = errors.New("asked at " + req.URL.Path)
	}
	if err != nil {
		r.refused = append(r.refused, err)
		w.WriteHeader(http.StatusBadRequest)
	}
}

// names returns the names of the received spans, by their ids.
func (r *receiver) names() map[string]string {
	names := map[string]string{}
	for _, asked := range r.asked {
		for _, s := range asked.ResourceSpans[0].ScopeSpans[0].Spans {
			names[hex.EncodeToString(s.SpanId)] = s.Name
		}
	}
	return names
}

// events returns the received log records, each with the name of the span that it belongs to.
func (r *receiver) events() (all []received) {
	names := r.names()
	for _, logged := range r.logged {
		for _, e := range logged.ResourceLogs[0].ScopeLogs[0].LogRecords {
			all = append(all, received{name: e.EventName, parent: names[hex.EncodeToString(e.SpanId)], begin: e.TimeUnixNano, end: e.ObservedTimeUnixNano,
				attributes: texts(e.Attributes)})
		}
	}
	return all
}

// spans returns the received spans in the order in which they ended.
func (r *receiver) spans() (all []received) {
	names := r.names()
	for _, asked := range r.asked {
		for _, s := range asked.ResourceSpans[0].ScopeSpans[0].Spans {
			one := received{name: s.Name, parent: names[hex.EncodeToString(s.ParentSpanId)], begin: s.StartTimeUnixNano, end: s.EndTimeUnixNano,
				kind: int(s.Kind), status: int(s.Status.GetCode()), attributes: texts(s.Attributes)}
			for _, e := range s.Events {
				one.events = append(one.events, e.Name+strings.Join(texts(e.Attributes), " "))
			}
			all = append(all, one)
		}
	}
	return all
}

func texts(attributes []*common.KeyValue) (all []string) {
	for _, kv := range attributes {
		all = append(all, kv.Key+"="+textOf(kv.Value))
	}
	slices.Sort(all)
	return all
}

func textOf(value *common.AnyValue) string {
	switch v := value.GetValue().(type) {
	case *common.AnyValue_ArrayValue:
		text := ""
		for _, one := range v.ArrayValue.Values {
			text += textOf(one) + ","
		}
		return "[" + text + "]"
	case *common.AnyValue_KvlistValue:
		return "{" + strings.Join(texts(v.KvlistValue.Values), ",") + "}"
	}
	return value.String() // with the name of its member
}

func scenario(t *testing.T, name string) scenarios.Scenario {
	s, ok := scenarios.Named(name)
	require.True(t, ok)
	return s
}

// recorded runs a turn whose spans are exported to r, and returns its trace.
func recorded(t *testing.T, name string, r *receiver) []byte {
	server := httptest.NewServer(r)
	defer server.Close()
	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(server.URL+"/v1/traces"))
	require.NoError(t, err)
	logExporter, err := otlploghttp.New(t.Context(), otlploghttp.WithEndpointURL(server.URL+"/v1/logs"))
	require.NoError(t, err)
	provider, logs := sdk.NewTracerProvider(sdk.WithBatcher(exporter)), sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(logExporter)))
	var written bytes.Buffer
	require.NoError(t, scenario(t, name).Run(t.Context(), adk.MultiProbe(replay.Record(&written), otel.NewProbe(otel.Config{Provider: provider, Logs: logs, Content: true}))))
	require.NoError(t, provider.Shutdown(t.Context()))
	require.NoError(t, logs.Shutdown(t.Context()))
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Empty(t, r.refused)
	return written.Bytes()
}

// The JSON that is exported from a trace can be read as OTLP, spans and log records, and says the same as
// the receiver got while the turn ran.
func TestReceivers(t *testing.T) {
	for _, name := range []string{"asks-a-model", "asks-again", "sub-agents-side-by-side", "tool-failure", "abort-from-outside", "gate-denied", "parallel-tools"} {
		t.Run(name, func(t *testing.T) {
			var live receiver
			content := recorded(t, name, &live)
			all, err := otlp.Export(bytes.NewReader(content), trace.Options{}, spans.Options{Content: true, Events: true})
			require.NoError(t, err)
			var document bytes.Buffer
			require.NoError(t, all.Document().Write(&document))
			lines := bytes.SplitAfter(document.Bytes(), []byte("\n"))

			read, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(lines[0])
			require.NoError(t, err)
			require.Equal(t, len(all.Spans), read.SpanCount())
			told := &receiver{}
			told.asked = []*collector.ExportTraceServiceRequest{inProtocol(t, read)}
			assert.Equal(t, sorted(live.spans()), sorted(told.spans()))
			if name == "asks-a-model" {
				require.NotEmpty(t, all.Events)
				told.logged = []*logscollector.ExportLogsServiceRequest{logsInProtocol(t, lines[1], len(all.Events))}
			}
			assert.Equal(t, sorted(live.events()), sorted(told.events()))

			// What the library writes is read here as the same spans.
			again, err := (&ptrace.JSONMarshaler{}).MarshalTraces(read)
			require.NoError(t, err)
			back, err := otlp.Read(bytes.NewReader(again))
			require.NoError(t, err)
			assert.Equal(t, all.Spans, back.ResourceSpans[0].ScopeSpans[0].Spans)
		})
	}
}

func sorted(all []received) []received {
	slices.SortStableFunc(all, func(a, b received) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.name, b.name)) })
	return all
}

func inProtocol(t *testing.T, traces ptrace.Traces) *collector.ExportTraceServiceRequest {
	content, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(traces)
	require.NoError(t, err)
	var asked collector.ExportTraceServiceRequest
	require.NoError(t, proto.Unmarshal(content, &asked))
	return &asked
}

// logsInProtocol reads a document of log records as the library of collectors reads it.
func logsInProtocol(t *testing.T, document []byte, records int) *logscollector.ExportLogsServiceRequest {
	read, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs(document)
	require.NoError(t, err)
	require.Equal(t, records, read.LogRecordCount())
	content, err := (&plog.ProtoMarshaler{}).MarshalLogs(read)
	require.NoError(t, err)
	var logged logscollector.ExportLogsServiceRequest
	require.NoError(t, proto.Unmarshal(content, &logged))
	return &logged
}
