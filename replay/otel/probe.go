package otel

import (
	"context"
	"maps"
	"slices"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/trace"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/spans"
)

// Config says what spans tell, and to whom.
type Config struct {
	// Provider makes the tracer; nil is the global one, as it is when the probe is made.
	Provider trace.TracerProvider
	// Agent is the name of the agent, gen_ai.agent.name; empty where it has none. Dispatches
	// that are called in a turn have their own.
	Agent string
	// Content has spans hold what was said, which the conventions leave out by default: it
	// is whatever users wrote, and may be long.
	Content bool
	// Logs makes the logger that is told the conventions' event of each time that a model was
	// asked, gen_ai.client.inference.operation.details, in the context of its span. nil is none:
	// the event says what the span says, and is for those who keep what was said apart from
	// spans, or longer.
	Logs log.LoggerProvider
	// WithoutHTTP leaves out the spans of what is asked over HTTP of anybody but a model: for
	// programs whose transports make their own, as otelhttp's do.
	WithoutHTTP bool
}

// NewProbe makes a probe whose spans go where the config says. It may be used by many runs at
// once.
func NewProbe(c Config) adk.Probe {
	provider := c.Provider
	if provider == nil {
		provider = otel.GetTracerProvider()
	}
	p := &probe{
		tracer:  provider.Tracer(spans.ScopeName, trace.WithSchemaURL(spans.SchemaURL)),
		options: spans.Options{Agent: c.Agent, Content: c.Content, WithoutHTTP: c.WithoutHTTP, Events: c.Logs != nil},
	}
	if c.Logs != nil {
		p.logger = c.Logs.Logger(spans.ScopeName, log.WithSchemaURL(spans.SchemaURL))
	}
	return p
}

type probe struct {
	tracer  trace.Tracer
	logger  log.Logger // nil where nobody is told of events
	options spans.Options
}

// Observe begins the spans of a run.
func (p *probe) Observe(adk.RunInfo) adk.Observer {
	o := &observer{tracer: p.tracer, logger: p.logger, above: context.Background(), open: map[int]*openSpan{}}
	o.spans = spans.NewBuilder(o, p.options)
	return o
}

// observer makes the spans of one run.
type observer struct {
	tracer trace.Tracer
	logger log.Logger
	above  context.Context // of the run

	mu    sync.Mutex // Context asks while others tell
	spans *spans.Builder
	open  map[int]*openSpan // by their numbers
}

type openSpan struct {
	span  trace.Span
	known int // how many attributes it began with
}

// Begin does nothing: nobody is held back.
func (*observer) Begin(adk.Step) {}

// Park does nothing.
func (*observer) Park(int, func() bool) {}

// Resume does nothing.
func (*observer) Resume(int) {}

// Tell makes of a crossing what it says of spans.
func (o *observer) Tell(x *adk.Crossing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spans.Take(x)
}

// Context has user code find the span that it runs in, and notes the one of the run's caller.
func (o *observer) Context(call int, beneath context.Context) context.Context {
	o.mu.Lock()
	defer o.mu.Unlock()
	if call == 0 {
		o.above = beneath
	}
	s := o.spans.SpanOf(call)
	if s == nil {
		return beneath
	}
	open := o.open[s.Number]
	if open == nil || trace.SpanFromContext(beneath) == open.span {
		return beneath
	}
	return trace.ContextWithSpan(beneath, open.span)
}

// Start starts a span of the tracer.
func (o *observer) Start(s *spans.Span) {
	ctx := o.above
	if above := o.open[s.Parent]; above != nil {
		ctx = trace.ContextWithSpan(ctx, above.span)
	}
	kind := trace.SpanKindInternal
	if s.Kind == spans.Client {
		kind = trace.SpanKindClient
	}
	_, span := o.tracer.Start(ctx, s.Name, trace.WithTimestamp(s.Begin), trace.WithSpanKind(kind), trace.WithAttributes(keyValues(s.Attributes)...))
	o.open[s.Number] = &openSpan{span, len(s.Attributes)}
}

// End ends a span with all that is known of it.
func (o *observer) End(s *spans.Span) {
	open := o.open[s.Number]
	if open == nil {
		return
	}
	delete(o.open, s.Number)
	open.span.SetAttributes(keyValues(s.Attributes[open.known:])...)
	for _, event := range s.Events {
		open.span.AddEvent(event.Name, trace.WithTimestamp(event.At), trace.WithAttributes(keyValues(event.Attributes)...))
	}
	if s.Failed {
		open.span.SetStatus(codes.Error, "")
	}
	open.span.End(trace.WithTimestamp(s.End))
}

// Emit tells the logger of an event, in the context of its span.
func (o *observer) Emit(within *spans.Span, e spans.Event) {
	open := o.open[within.Number]
	if open == nil {
		return
	}
	ctx := trace.ContextWithSpan(o.above, open.span)
	if !o.logger.Enabled(ctx, log.EnabledParameters{EventName: e.Name}) {
		return
	}
	var record log.Record
	record.SetEventName(e.Name)
	record.SetTimestamp(e.At)
	record.SetObservedTimestamp(e.At)
	record.AddAttributes(keyValues(e.Attributes)...)
	o.logger.Emit(ctx, record)
}

func keyValues(attributes []spans.Attribute) (all []attribute.KeyValue) {
	for _, one := range attributes {
		all = append(all, attribute.KeyValue{Key: attribute.Key(one.Key), Value: valueOf(one.Value)})
	}
	return all
}

// valueOf is a value as the tracer and the logger have it; null is the empty one.
func valueOf(value any) attribute.Value {
	switch value := value.(type) {
	case string:
		return attribute.StringValue(value)
	case bool:
		return attribute.BoolValue(value)
	case int64:
		return attribute.Int64Value(value)
	case float64:
		return attribute.Float64Value(value)
	case []string:
		return attribute.StringSliceValue(value)
	case []any:
		all := make([]attribute.Value, 0, len(value))
		for _, one := range value {
			all = append(all, valueOf(one))
		}
		return attribute.SliceValue(all...)
	case map[string]any:
		all := make([]attribute.KeyValue, 0, len(value))
		for _, name := range slices.Sorted(maps.Keys(value)) {
			all = append(all, attribute.KeyValue{Key: attribute.Key(name), Value: valueOf(value[name])})
		}
		return attribute.MapValue(all...)
	}
	return attribute.Value{}
}
