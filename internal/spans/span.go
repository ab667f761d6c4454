package spans

import "time"

// Span is one span.
type Span struct {
	// Number counts the spans of a run from 1 in the order in which they begin. Parent is the
	// number of the span around it, or 0 for the outermost.
	Number, Parent int
	// Name and Kind follow the conventions.
	Name string
	Kind Kind
	// Begin and End are the times of the crossings that begin and end the span.
	Begin, End time.Time
	// Attributes are in the order in which they became known. Each key occurs once.
	Attributes []Attribute
	Events     []Event
	// Failed says that the status is an error.
	Failed bool
}

// Kind says on which side of an exchange a span is.
type Kind string

// The kinds.
const (
	Internal Kind = "internal"
	Client   Kind = "client"
)

// Attribute is a key and its value: a string, a bool, an int64, a float64 or a []string. In events
// outside of spans, what was said is a []any of these, of map[string]any, of []any and of nil.
type Attribute struct {
	Key   string
	Value any
}

// Event is something that happened within a span. It is a part of the span, or emitted outside of
// spans.
type Event struct {
	Name       string
	At         time.Time
	Attributes []Attribute
}

// Sink receives the spans of a run, in the order of the crossings that make them.
type Sink interface {
	// Start receives a span that begins, with the attributes that are known. End receives the same
	// span.
	Start(*Span)
	// End receives the complete span.
	End(*Span)
	// Emit receives an event outside of spans, and the open span in which it happened. It is called
	// only if Options.Events is set.
	Emit(within *Span, e Event)
}

// set sets an attribute, unless its value is empty.
func (s *Span) set(key string, value any) {
	switch v := value.(type) {
	case string:
		if v == "" {
			return
		}
	case []string:
		if len(v) == 0 {
			return
		}
	}
	for i := range s.Attributes {
		if s.Attributes[i].Key == key {
			s.Attributes[i].Value = value
			return
		}
	}
	s.Attributes = append(s.Attributes, Attribute{key, value})
}

// count sets a numeric attribute, unless it is not positive.
func (s *Span) count(key string, n int) {
	if n > 0 {
		s.set(key, int64(n))
	}
}

// fail marks the span as failed, with the kind of the failure.
func (s *Span) fail(kind string) {
	if kind != "" {
		s.Failed = true
		s.set(errorType, kind)
	}
}

// happened adds an event to the span.
func (s *Span) happened(at time.Time, name string, attributes ...Attribute) {
	s.Events = append(s.Events, Event{name, at, attributes})
}
