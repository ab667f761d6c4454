package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// Value is plain data that keeps its Go types when it is written as JSON: the kinds of numbers,
// records, and results of tools.
type Value struct{ V any }

// ValueOf returns a pointer to a Value.
func ValueOf(v any) *Value { return &Value{v} }

// Get returns a copy of the data, so that user code cannot change it; nil if there is none.
func (v *Value) Get() any {
	if v == nil {
		return nil
	}
	return plain.Copy(v.V)
}

// MarshalJSON writes the data as traces do.
func (v Value) MarshalJSON() ([]byte, error) {
	switch r := v.V.(type) {
	case adk.Bytes:
		return appendMarked(nil, tagBytes, []byte(r)), nil
	case adk.MediaList:
		media := make([]any, len(r))
		for i, m := range r {
			media[i] = m
		}
		return appendMarked(nil, tagMedia, media), nil
	}
	return plain.AppendJSON(nil, v.V), nil
}

// The marks of tool results that are not records.
const (
	tagBytes = "$toolBytes"
	tagMedia = "$toolMedia"
)

func appendMarked(dst []byte, tag string, v any) []byte {
	dst = append(dst, `{"`+tag+`":`...)
	return append(plain.AppendJSON(dst, v), '}')
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (v *Value) UnmarshalJSON(data []byte) (err error) {
	v.V, err = plain.Parse(data, resolve)
	return err
}

// resolve reads marked values in plain data: records, and results of tools.
func resolve(tag string, raw []byte) (any, error) {
	switch "$" + tag {
	case tagBytes:
		v, err := plain.Parse(raw, nil)
		bytes, ok := v.([]byte)
		if err == nil && !ok {
			err = fmt.Errorf("%s marks a %T: bytes were meant", tag, v)
		}
		return adk.Bytes(bytes), err
	case tagMedia:
		v, err := plain.Parse(raw, resolve)
		if err != nil {
			return nil, err
		}
		all, _ := v.([]any)
		list := make(adk.MediaList, 0, len(all))
		for _, one := range all {
			m, ok := one.(*adk.Media)
			if !ok {
				return nil, fmt.Errorf("%s marks a list with a %T: media were meant", tag, one)
			}
			list = append(list, m)
		}
		return list, nil
	}
	return adk.ParseRecord(adk.RecordKind(tag), raw)
}

// Record is a record of any kind that can be written as JSON.
type Record struct{ adk.Record }

// RecordOf returns a pointer to a Record.
func RecordOf(r adk.Record) *Record { return &Record{r} }

// Get returns the record, or nil.
func (r *Record) Get() adk.Record {
	if r == nil {
		return nil
	}
	return r.Record
}

// MarshalJSON writes the record with its kind as a mark.
func (r Record) MarshalJSON() ([]byte, error) { return Value{r.Record}.MarshalJSON() }

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Record) UnmarshalJSON(data []byte) error {
	var v Value
	if err := v.UnmarshalJSON(data); err != nil {
		return err
	}
	record, ok := v.V.(adk.Record)
	if !ok {
		return fmt.Errorf("turn: %T is no record", v.V)
	}
	r.Record = record
	return nil
}

// Failure is an error as plain data.
type Failure struct {
	// Text is the text of the error, or the message of an error with a code.
	Text string `json:"text,omitempty"`
	// Code makes it an *adk.Error; E_TURN_ABORTED is the abort error (ABT-3).
	Code  adk.Code `json:"code,omitempty"`
	Stage string   `json:"stage,omitempty"`
	Name  string   `json:"name,omitempty"`
	// Faults are the faults that an error with a code lists.
	Faults []adk.Fault `json:"faults,omitempty"`
	// Known makes it one of the sentinel errors with which code compares, by its name in
	// KnownErrors.
	Known string `json:"known,omitempty"`
	// Panic makes it an *adk.PanicError.
	Panic bool `json:"panic,omitempty"`
	// Causes are the errors that it wraps or, if there are several, joins.
	Causes []Failure `json:"causes,omitempty"`
}

// KnownErrors are the sentinel errors that a Failure can name.
var KnownErrors = map[string]error{
	"context.Canceled":         context.Canceled,
	"context.DeadlineExceeded": context.DeadlineExceeded,
	"io.EOF":                   io.EOF,
	"io.ErrUnexpectedEOF":      io.ErrUnexpectedEOF,
	"adk.E_TURN_ABORTED":       adk.E_TURN_ABORTED, // the bare sentinel aborts like an error made by Aborted (ABT-2)
}

// Failing returns a Failure that is only a text.
func Failing(text string) *Failure { return &Failure{Text: text} }

// Err returns the failure as a new error, or nil.
func (f *Failure) Err() error {
	if f == nil {
		return nil
	}
	switch {
	case f.Known != "":
		return cmp.Or(KnownErrors[f.Known], errors.New(f.Known))
	case f.Code != "":
		return &adk.Error{Code: f.Code, Message: f.Text, Stage: f.Stage, Name: f.Name, Faults: f.Faults, Cause: f.cause()}
	case f.Panic:
		return &adk.PanicError{Value: f.PanicValue()}
	case len(f.Causes) == 0:
		return errors.New(f.Text)
	case len(f.Causes) == 1:
		return &wrapping{f.Text, f.cause()}
	}
	all := make([]error, len(f.Causes))
	for i := range f.Causes {
		all[i] = f.Causes[i].Err()
	}
	return &joining{f.Text, all}
}

func (f *Failure) cause() error {
	switch len(f.Causes) {
	case 0:
		return nil
	case 1:
		return f.Causes[0].Err()
	}
	return (&Failure{Text: f.Text, Causes: f.Causes}).Err()
}

// PanicValue returns the value with which code that fails by this failure panics.
func (f *Failure) PanicValue() any {
	switch {
	case f == nil:
		return "panic"
	case f.Panic && len(f.Causes) > 0:
		return f.cause()
	case f.Known == "" && f.Code == "" && len(f.Causes) == 0:
		return f.Text
	}
	return f.Err()
}

// wrapping is an error with one cause.
type wrapping struct {
	text  string
	cause error
}

func (e *wrapping) Error() string { return e.text }
func (e *wrapping) Unwrap() error { return e.cause }

// joining is an error with several causes.
type joining struct {
	text   string
	causes []error
}

func (e *joining) Error() string   { return e.text }
func (e *joining) Unwrap() []error { return e.causes }

var (
	_ json.Marshaler   = Value{}
	_ json.Unmarshaler = (*Value)(nil)
	_ json.Marshaler   = Record{}
	_ json.Unmarshaler = (*Record)(nil)
)
