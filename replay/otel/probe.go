package otel

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
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
	return &probe{
		tracer:  provider.Tracer(spans.ScopeName, trace.WithSchemaURL(spans.SchemaURL)),
		options: spans.Options{Agent: c.Agent, Content: c.Content, WithoutHTTP: c.WithoutHTTP},
	}
}

type probe struct {
	tracer  trace.Tracer
	options spans.Options
}

// Observe begins the spans of a run.
func (p *probe) Observe(adk.RunInfo) adk.Observer {
	o := &observer{tracer: p.tracer, above: context.Background(), open: map[int]*openSpan{}}
	o.spans = spans.NewBuilder(o, p.options)
	return o
}

// observer makes the spans of one run.
type observer struct {
	tracer trace.Tracer
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

func keyValues(attributes []spans.Attribute) (all []attribute.KeyValue) {
	for _, one := range attributes {
		key := attribute.Key(one.Key)
		switch value := one.Value.(type) {
		case string:
			all = append(all, key.String(value))
		case bool:
			all = append(all, key.Bool(value))
		case int64:
			all = append(all, key.Int64(value))
		case float64:
			all = append(all, key.Float64(value))
		case []string:
			all = append(all, key.StringSlice(value))
		}
	}
	return all
}
