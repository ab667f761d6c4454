package otlp

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
)

// Document contains spans and log records in OTLP.
type Document struct {
	ResourceSpans []ResourceSpans
	ResourceLogs  []ResourceLogs
}

// ResourceSpans are the spans of one program.
type ResourceSpans struct {
	Resource   Resource     `json:"resource"`
	ScopeSpans []ScopeSpans `json:"scopeSpans"`
	SchemaURL  string       `json:"schemaUrl,omitempty"`
}

// ResourceLogs are the log records of one program.
type ResourceLogs struct {
	Resource  Resource    `json:"resource"`
	ScopeLogs []ScopeLogs `json:"scopeLogs"`
}

// ScopeLogs are the log records that one library made.
type ScopeLogs struct {
	Scope     Scope       `json:"scope"`
	Records   []LogRecord `json:"logRecords"`
	SchemaURL string      `json:"schemaUrl,omitempty"`
}

// Resource is a program.
type Resource struct {
	Attributes []KeyValue `json:"attributes,omitempty"`
}

// ScopeSpans are the spans that one library made.
type ScopeSpans struct {
	Scope     Scope  `json:"scope"`
	Spans     []Span `json:"spans"`
	SchemaURL string `json:"schemaUrl,omitempty"`
}

// Scope is a library.
type Scope struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// Span is a span. Its ids are hexadecimal.
type Span struct {
	TraceID    string     `json:"traceId"`
	SpanID     string     `json:"spanId"`
	ParentID   string     `json:"parentSpanId,omitempty"`
	Name       string     `json:"name"`
	Kind       Number     `json:"kind"`
	Start      Nanos      `json:"startTimeUnixNano"`
	End        Nanos      `json:"endTimeUnixNano"`
	Attributes []KeyValue `json:"attributes,omitempty"`
	Events     []Event    `json:"events,omitempty"`
	Status     Status     `json:"status"`
}

// LogRecord is an event outside of spans, with the span in which it happened.
type LogRecord struct {
	Time       Nanos      `json:"timeUnixNano"`
	Observed   Nanos      `json:"observedTimeUnixNano"`
	EventName  string     `json:"eventName"`
	Attributes []KeyValue `json:"attributes,omitempty"`
	TraceID    string     `json:"traceId"`
	SpanID     string     `json:"spanId"`
}

// The kinds of spans, and the status of a span that failed.
const (
	kindInternal Number = 1
	kindClient   Number = 3
	statusError  Number = 2
)

// Event is something that happened within a span.
type Event struct {
	Time       Nanos      `json:"timeUnixNano"`
	Name       string     `json:"name"`
	Attributes []KeyValue `json:"attributes,omitempty"`
}

// Status says whether a span failed. A code of 0 is unset.
type Status struct {
	Code    Number `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// KeyValue is an attribute.
type KeyValue struct {
	Key   string `json:"key"`
	Value Value  `json:"value"`
}

// Value is the value of an attribute. Exactly one member is set.
type Value struct {
	String *string     `json:"stringValue,omitempty"`
	Bool   *bool       `json:"boolValue,omitempty"`
	Int    *Int        `json:"intValue,omitempty"`
	Double *float64    `json:"doubleValue,omitempty"`
	Array  *ArrayValue `json:"arrayValue,omitempty"`
	List   *ListValue  `json:"kvlistValue,omitempty"`
}

// ArrayValue is a list.
type ArrayValue struct {
	Values []Value `json:"values"`
}

// ListValue is a map.
type ListValue struct {
	Values []KeyValue `json:"values"`
}

// Nanos is a time in nanoseconds since 1970, which is a string in JSON.
type Nanos int64

// MarshalJSON writes a string.
func (n Nanos) MarshalJSON() ([]byte, error) { return Int(n).MarshalJSON() }

// UnmarshalJSON reads a string or a number.
func (n *Nanos) UnmarshalJSON(raw []byte) error { return (*Int)(n).UnmarshalJSON(raw) }

// Int is a 64-bit number, which is a string in JSON.
type Int int64

// MarshalJSON writes a string.
func (n Int) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatInt(int64(n), 10)), nil
}

// UnmarshalJSON reads a string or a number.
func (n *Int) UnmarshalJSON(raw []byte) error {
	i, err := strconv.ParseInt(string(bytes.Trim(raw, `"`)), 10, 64)
	if err != nil {
		return err
	}
	*n = Int(i)
	return nil
}

// Number is a value of an enumeration: a number or, from some writers, its name.
type Number int

// enumerated maps names of values to numbers.
var enumerated = map[string]Number{"SPAN_KIND_INTERNAL": kindInternal, "SPAN_KIND_CLIENT": kindClient, "STATUS_CODE_ERROR": statusError}

// UnmarshalJSON reads a number or a name. An unknown name is 0.
func (n *Number) UnmarshalJSON(raw []byte) error {
	if name, err := strconv.Unquote(string(raw)); err == nil {
		*n = enumerated[name]
		return nil
	}
	return json.Unmarshal(raw, (*int)(n))
}

// Write writes spans on one line, and log records, if there are any, on another one, as in OTLP's
// file format: each line is one request for a receiver of one signal.
func (d *Document) Write(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	err := out.Encode(struct {
		ResourceSpans []ResourceSpans `json:"resourceSpans"`
	}{d.ResourceSpans})
	if err != nil || len(d.ResourceLogs) == 0 {
		return err
	}
	return out.Encode(struct {
		ResourceLogs []ResourceLogs `json:"resourceLogs"`
	}{d.ResourceLogs})
}
