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

// Config says what spans contain and where they go.
type Config struct {
	// Provider makes the tracer. Nil means the global provider at the time when the probe is made.
	Provider trace.TracerProvider
	// Agent is the name of the agent, gen_ai.agent.name; empty if it has none. Dispatches that are
	// called in a turn have their own names.
	Agent string
	// Content makes spans hold what was said. The conventions leave it out by default, because
	// users write it and it may be long.
	Content bool
	// Logs makes the logger that gets the conventions' event for each request to a model,
	// gen_ai.client.inference.operation.details, in the context of its span. Nil means no events.
	// The event says what the span says. It is for programs that keep what was said apart from
	// spans, or longer.
	Logs log.LoggerProvider
	// WithoutHTTP leaves out the spans of HTTP requests to anything but a model. It is for programs
	// whose transports make their own spans, such as otelhttp's.
	WithoutHTTP bool
}

// NewProbe returns a probe that makes spans as the config says. Many runs may use it concurrently.
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
	logger  log.Logger // nil if there are no events
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
	above  context.Context // the context of the run

	mu    sync.Mutex // Context is called concurrently with Tell
	spans *spans.Builder
	open  map[int]*openSpan // by span number
}

type openSpan struct {
	span  trace.Span
	known int // the number of attributes set at the start
}

// Begin does nothing: this observer blocks no operation.
func (*observer) Begin(adk.Step) {}

// Park does nothing.
func (*observer) Park(int, func() bool) {}

// Resume does nothing.
func (*observer) Resume(int) {}

// Tell updates the spans with a crossing.
func (o *observer) Tell(x *adk.Crossing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spans.Take(x)
}

// Context returns a context in which user code finds the span that it runs in. For the run itself,
// it also records the caller's context.
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

// End ends a span with the rest of its attributes.
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

// Emit sends an event to the logger, in the context of its span.
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

// valueOf returns a value in the form of the tracer and the logger. Null is the empty value.
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
