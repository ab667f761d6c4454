package otlp

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/spans"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Exported is the result of exporting traces.
type Exported struct {
	Spans []Span
	// Events are events outside of spans. There are none unless they were asked for.
	Events []LogRecord
}

// Export returns the spans of a trace, and the events. If the trace breaks off, they end there, and
// the error says why.
func Export(content io.Reader, reading trace.Options, o spans.Options) (Exported, error) {
	r, err := trace.NewReader(content, reading)
	if err != nil {
		return Exported{}, err
	}
	e := &exporter{digest: sha256.New()}
	b := spans.NewBuilder(e, o)
	w := trace.NewWriter(e.digest, r.Header(), r.Options()) // the digest is of the lines, whatever the file's compression
	line, err := r.Next()
	for ; err == nil; line, err = r.Next() {
		b.Take(&line.Crossing)
		if err := w.WriteLine(line); err != nil {
			return Exported{}, err
		}
	}
	b.Close()
	if err == io.EOF {
		err = nil
	}
	return e.exported(), err
}

// exporter collects spans that have ended, and events.
type exporter struct {
	digest hash.Hash
	ended  []*spans.Span
	events []emitted
}

// emitted is an event, and the number of the span in which it happened.
type emitted struct {
	spans.Event
	within int
}

// Start does nothing: a span is exported when it has ended.
func (*exporter) Start(*spans.Span) {}

// End keeps the span.
func (e *exporter) End(s *spans.Span) { e.ended = append(e.ended, s) }

// Emit keeps the event.
func (e *exporter) Emit(within *spans.Span, event spans.Event) {
	e.events = append(e.events, emitted{event, within.Number})
}

// exported returns what was collected, with ids that are computed from the digest of the trace.
func (e *exporter) exported() (all Exported) {
	sum := e.digest.Sum(nil)
	traceID := hex.EncodeToString(sum[:16])
	id := func(number int) string {
		of := sha256.Sum256(binary.BigEndian.AppendUint64(sum, uint64(number)))
		return hex.EncodeToString(of[:8])
	}
	for _, s := range e.ended {
		one := Span{TraceID: traceID, SpanID: id(s.Number), Name: valid(s.Name), Kind: kindInternal,
			Start: Nanos(s.Begin.UnixNano()), End: Nanos(s.End.UnixNano()), Attributes: keyValues(s.Attributes)}
		if s.Parent != 0 {
			one.ParentID = id(s.Parent)
		}
		if s.Kind == spans.Client {
			one.Kind = kindClient
		}
		if s.Failed {
			one.Status.Code = statusError
		}
		for _, event := range s.Events {
			one.Events = append(one.Events, Event{Nanos(event.At.UnixNano()), event.Name, keyValues(event.Attributes)})
		}
		all.Spans = append(all.Spans, one)
	}
	for _, event := range e.events {
		at := Nanos(event.At.UnixNano())
		all.Events = append(all.Events, LogRecord{Time: at, Observed: at, EventName: event.Name, Attributes: keyValues(event.Attributes), TraceID: traceID, SpanID: id(event.within)})
	}
	return all
}

// valid returns a text as OTLP allows it.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func keyValues(attributes []spans.Attribute) (all []KeyValue) {
	for _, one := range attributes {
		all = append(all, KeyValue{one.Key, valueOf(one.Value)})
	}
	return all
}

func valueOf(value any) (v Value) {
	switch value := value.(type) {
	case string:
		text := valid(value)
		v.String = &text
	case bool:
		v.Bool = &value
	case int64:
		n := Int(value)
		v.Int = &n
	case float64:
		v.Double = &value
	case []string:
		v.Array = &ArrayValue{}
		for _, one := range value {
			v.Array.Values = append(v.Array.Values, valueOf(one))
		}
	case []any:
		v.Array = &ArrayValue{Values: []Value{}}
		for _, one := range value {
			v.Array.Values = append(v.Array.Values, valueOf(one))
		}
	case map[string]any:
		v.List = &ListValue{Values: []KeyValue{}}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			v.List.Values = append(v.List.Values, KeyValue{valid(name), valueOf(value[name])})
		}
	}
	return v
}

// Add appends the spans and events of another trace.
func (e *Exported) Add(other Exported) {
	e.Spans, e.Events = append(e.Spans, other.Spans...), append(e.Events, other.Events...)
}

// Document returns a document with all spans and events.
func (e *Exported) Document() *Document {
	name := "adkreplay"
	resource, scope := Resource{[]KeyValue{{"service.name", Value{String: &name}}}}, Scope{Name: spans.ScopeName}
	d := &Document{ResourceSpans: []ResourceSpans{{resource, []ScopeSpans{{Scope: scope, Spans: e.Spans, SchemaURL: spans.SchemaURL}}, ""}}}
	if len(e.Events) > 0 {
		d.ResourceLogs = []ResourceLogs{{resource, []ScopeLogs{{Scope: scope, Records: e.Events, SchemaURL: spans.SchemaURL}}}}
	}
	return d
}
