package otlp

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"
	"strings"

	"github.com/adkreplay/adkreplay/internal/spans"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Export gives the spans of a trace. Those of a trace that breaks off end with it, and the error
// says why there are no more.
func Export(content io.Reader, reading trace.Options, o spans.Options) ([]Span, error) {
	r, err := trace.NewReader(content, reading)
	if err != nil {
		return nil, err
	}
	e := &exporter{digest: sha256.New()}
	b := spans.NewBuilder(e, o)
	w := trace.NewWriter(e.digest, r.Header(), r.Options()) // whatever the file's compression is
	line, err := r.Next()
	for ; err == nil; line, err = r.Next() {
		b.Take(&line.Crossing)
		if err := w.WriteLine(line); err != nil {
			return nil, err
		}
	}
	b.Close()
	if err == io.EOF {
		err = nil
	}
	return e.spans(), err
}

// exporter collects spans that have ended.
type exporter struct {
	digest hash.Hash
	ended  []*spans.Span
}

// Start does nothing: a span is written when it has ended.
func (*exporter) Start(*spans.Span) {}

// End keeps the span.
func (e *exporter) End(s *spans.Span) { e.ended = append(e.ended, s) }

// spans are what ended, with ids made of what the trace says.
func (e *exporter) spans() (all []Span) {
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
		all = append(all, one)
	}
	return all
}

// valid is a text as OTLP allows it.
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
	}
	return v
}

// DocumentOf is a document of the spans of some traces.
func DocumentOf(all []Span) *Document {
	name := "adkreplay"
	return &Document{[]ResourceSpans{{
		Resource:   Resource{[]KeyValue{{"service.name", Value{String: &name}}}},
		ScopeSpans: []ScopeSpans{{Scope: Scope{Name: spans.ScopeName}, Spans: all, SchemaURL: spans.SchemaURL}},
	}}}
}
