package wire_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Errors like those of drivers: refusal has its code in a field, and keeps a part of its text in fields that
// are not exported.
type (
	refusal struct {
		Code    string
		Line    int
		Hints   []string
		At      time.Time
		Answer  func() // JSON cannot represent it
		Err     error
		private string
	}
	status  int
	quota   struct{ Left int }
	within  struct{ err error }
	codes   interface{ Grade() int }
	hidden  struct{ code int }
	strange struct{ Of fmt.Stringer }
	blunt   struct {
		Code int
		of   fmt.Stringer
	}
	veiled struct {
		Code int
		err  error
	}
)

func (e *refusal) Error() string { return strings.TrimSpace("refused " + e.Code + e.private) }
func (e *refusal) Unwrap() error { return e.Err }
func (e status) Error() string   { return fmt.Sprint("status ", int(e)) }
func (e status) Grade() int      { return int(e) / 100 }
func (e quota) Error() string    { return fmt.Sprintf("%d left", e.Left) }
func (e *within) Error() string  { return "within: " + e.err.Error() }
func (e *within) Unwrap() error  { return e.err }
func (e *hidden) Error() string  { return fmt.Sprint("code ", e.code) }
func (e strange) Error() string  { return e.Of.String() }
func (e blunt) Error() string    { return e.of.String() }
func (e veiled) Error() string   { return fmt.Sprint("veiled ", e.Code) }
func (e veiled) Unwrap() error   { return e.err }

var usersTypes = trace.Options{ErrorTypes: map[string]trace.ErrorType{
	"shop.Refusal": trace.ErrorOf[*refusal](),
	"shop.Status":  trace.ErrorOf[status](),
	"shop.Quota":   trace.ErrorOf[quota](),
	"shop.Strange": trace.ErrorOf[strange](),
	"shop.Blunt":   trace.ErrorOf[blunt](),
	"shop.Veiled":  trace.ErrorOf[veiled](),
	"shop.Within": {
		Split: func(err error) map[string]string {
			if _, ok := err.(*within); !ok {
				return nil
			}
			return map[string]string{}
		},
		Build: func(_ map[string]string, cause error) error { return &within{cause} },
	},
}}

// throughUsers is throughTrace for a reader that has named types of errors.
func throughUsers(t *testing.T, err error, reading trace.Options) (read error, line string) {
	var out strings.Builder
	w := trace.NewWriter(&out, tracetest.TestHeader, usersTypes)
	require.NoError(t, w.Write(&adk.Crossing{Kind: adk.KindReturn, At: tracetest.TestStart, Outcome: adk.OutcomeError, Err: err}))
	require.NoError(t, w.Close())
	recorded, readErr := trace.Read(strings.NewReader(out.String()), reading)
	require.NoError(t, readErr)
	var again strings.Builder
	_, writeErr := recorded.WriteTo(&again)
	require.NoError(t, writeErr)
	require.Equal(t, out.String(), again.String())
	return recorded.Lines()[0].Err, strings.Split(out.String(), "\n")[1]
}

// WLD-3: errors of types that the user has named are read from a trace as they were.
func TestErrorsOfUsersTypes(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	whole := &refusal{Code: "23505", Line: 7, Hints: []string{"a", "b"}, At: at, Err: fs.ErrExist}
	for _, err := range []error{whole, &refusal{}, status(404), status(0), quota{3}, quota{}, &within{&within{whole}}} {
		read, line := throughUsers(t, err, usersTypes)
		assert.Equal(t, err, read, line)
		assert.Contains(t, line, `"type":"shop.`)
		text, _ := throughUsers(t, err, trace.Options{})
		assert.EqualError(t, text, err.Error(), "who has not named them has the text")
	}

	read, line := throughUsers(t, fmt.Errorf("order: %w", whole), usersTypes)
	assert.Contains(t, line, `"with":{"At":"\"2026-01-02T03:04:05.000000006Z\"","Code":"23505","Hints":"[\"a\",\"b\"]","Line":"7"}`)
	var refused *refusal
	require.ErrorAs(t, read, &refused)
	assert.Equal(t, whole, refused)
	assert.ErrorIs(t, read, fs.ErrExist)

	var grade codes
	read, _ = throughUsers(t, fmt.Errorf("get: %w", status(503)), usersTypes)
	require.ErrorAs(t, read, &grade)
	assert.Equal(t, 5, grade.Grade())
	assert.Equal(t, status(503), errors.Unwrap(read))
}

// What the JSON of a type does not contain is not lost if the trace has it: the text and the causes are as
// recorded, and errors.As finds the rest.
func TestErrorsOfWhichATypeKeepsAPart(t *testing.T) {
	read, _ := throughUsers(t, &refusal{Code: "40001", private: ": serialization", Answer: func() {}, Err: io.EOF}, usersTypes)
	assert.EqualError(t, read, "refused 40001: serialization")
	assert.ErrorIs(t, read, io.EOF)
	var refused *refusal
	require.ErrorAs(t, read, &refused)
	assert.Equal(t, &refusal{Code: "40001", Err: io.EOF}, refused)
	assert.NotErrorAs(t, read, new(status))

	read, _ = throughUsers(t, veiled{7, io.EOF}, usersTypes)
	assert.EqualError(t, read, "veiled 7")
	assert.ErrorIs(t, read, io.EOF)
	var covered veiled
	require.ErrorAs(t, read, &covered)
	assert.Equal(t, veiled{Code: 7}, covered)

	read, _ = throughUsers(t, strange{at(time.Second)}, usersTypes)
	assert.EqualError(t, read, "1s")
	assert.NotErrorAs(t, read, new(strange), "its part is not given back")
	read, _ = throughUsers(t, blunt{7, at(time.Second)}, usersTypes)
	assert.EqualError(t, read, "1s")
	assert.NotErrorAs(t, read, new(blunt), "one without its part would panic")
}

func at(d time.Duration) fmt.Stringer { return d }

// A trace that was recorded before a type was named, or known, is still read correctly.
func TestTypesThatBecameKnown(t *testing.T) {
	known, err := wire.NewSentinels(nil, usersTypes.ErrorTypes)
	require.NoError(t, err)
	everybody, ours := wire.Comparer{Sentinels: wire.OnlyCommon}, wire.Comparer{Sentinels: known}
	untyped := fmt.Errorf("x: %w", errors.New("refused 1"))
	assert.True(t, ours.SameError(untyped, fmt.Errorf("x: %w", &refusal{Code: "1"})))
	assert.False(t, ours.SameError(untyped, fmt.Errorf("x: %w", &refusal{Code: "2"})))
	assert.False(t, ours.SameError(&refusal{Code: "1"}, errors.New("refused 1")), "what the trace says counts")
	assert.False(t, ours.SameError(&refusal{Code: "1", Line: 1}, &refusal{Code: "1"}), "what the trace says counts")
	missing := tracetest.ReadTrace(t, tracetest.Seal([]string{tracetest.HeaderLine,
		`{"kind":"return","outcome":"error","err":{"text":"open x: file does not exist","timeout":false,"cause":{"sentinel":"fs.ErrNotExist"}}}`}, ""))
	assert.True(t, everybody.SameError(missing.Lines()[0].Err, &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}))
	assert.False(t, everybody.SameError(missing.Lines()[0].Err, &fs.PathError{Op: "open", Path: "y", Err: fs.ErrNotExist}))
}

func TestBadTypesAreAllNamed(t *testing.T) {
	bad := trace.Options{ErrorTypes: map[string]trace.ErrorType{
		"net.OpError": trace.ErrorOf[*refusal](), "fs.PathError": trace.ErrorOf[status](), "": trace.ErrorOf[quota](), "half": {Split: usersTypes.ErrorTypes["shop.Within"].Split},
		"hidden": trace.ErrorOf[*hidden](), "codes": trace.ErrorOf[interface {
			error
			codes
		}](),
	}}
	_, err := trace.NewReader(strings.NewReader(""), bad)
	for _, want := range []string{
		`Options.ErrorTypes: "net.OpError" is the name of a type that is known`, `"fs.PathError" is the name`, `"" is no name`, `"half" wants Split and Build`,
		`"hidden" is a type without an exported field, *wire_test.hidden, which nobody but its package can make again`, `"codes" is an interface, interface {`,
	} {
		assert.ErrorContains(t, err, want)
	}
}
