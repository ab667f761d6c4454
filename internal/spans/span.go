package spans

import "time"

// Span is one span.
type Span struct {
	// Number counts the spans of a run from 1 in the order in which they begin; Parent is the
	// number of the one around it, 0 for that of the run.
	Number, Parent int
	// Name and Kind are as the conventions have them.
	Name string
	Kind Kind
	// Begin and End are the times of the crossings that begin and end it.
	Begin, End time.Time
	// Attributes are in the order in which they came to be known; each key is there once.
	Attributes []Attribute
	Events     []Event
	// Failed is the status error.
	Failed bool
}

// Kind says on which side of an exchange a span is.
type Kind string

// The kinds.
const (
	Internal Kind = "internal"
	Client   Kind = "client"
)

// Attribute is a key and its value: a string, a bool, an int64, a float64 or a []string; what
// was said is in events that stand beside spans a []any, of these, of map[string]any, of []any
// and of nil.
type Attribute struct {
	Key   string
	Value any
}

// Event is something that happened within a span: told as a part of it, or beside it.
type Event struct {
	Name       string
	At         time.Time
	Attributes []Attribute
}

// Sink is told of the spans of a run, in the order of the crossings that make them.
type Sink interface {
	// Start is given a span that begins, with the attributes that are known. It is the
	// same span that End is given.
	Start(*Span)
	// End is given the span with all that it says.
	End(*Span)
	// Emit is given an event that stands beside spans, and the span, which has begun and not
	// ended, in which it happened. It is not called where no events were asked for.
	Emit(within *Span, e Event)
}

// set sets an attribute, unless its value says nothing.
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

// count sets an attribute that is a number, unless nothing is known of it.
func (s *Span) count(key string, n int) {
	if n > 0 {
		s.set(key, int64(n))
	}
}

// fail says of what kind a failure was that ends the span.
func (s *Span) fail(kind string) {
	if kind != "" {
		s.Failed = true
		s.set(errorType, kind)
	}
}

// happened adds an event.
func (s *Span) happened(at time.Time, name string, attributes ...Attribute) {
	s.Events = append(s.Events, Event{name, at, attributes})
}
