package wire_test

import (
	"bufio"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// throughTrace returns an error after a round trip through a trace, and the line that contains it.
func throughTrace(t *testing.T, err error) (error, string) {
	t.Helper()
	data := tracetest.WriteTrace(t, adk.Crossing{Kind: adk.KindReturn, At: tracetest.TestStart, Outcome: adk.OutcomeError, Err: err})
	read := tracetest.ReadTrace(t, data)
	tracetest.RequireSameAgain(t, read, data)
	return read.Lines()[0].Err, strings.Split(string(data), "\n")[1]
}

// customError is an error of a type that only its own program knows.
type customError struct{ cause error }

func (e customError) Error() string { return "custom: " + e.cause.Error() }
func (e customError) Unwrap() error { return e.cause }

// uncomparable errors would panic as keys of a map.
type uncomparable []string

func (e uncomparable) Error() string { return strings.Join(e, ",") }

func TestAnErrorAnswersAsItDid(t *testing.T) {
	_, missing := os.Open("/does/not/exist")
	for _, c := range []struct {
		err error
		is  []error
	}{
		{io.EOF, []error{io.EOF}},
		{fmt.Errorf("read: %w", io.ErrUnexpectedEOF), []error{io.ErrUnexpectedEOF}},
		{&adk.Error{Code: adk.E_TOOL_DOWNSTREAM_ERROR, Message: "x", Cause: context.Canceled}, []error{adk.E_TOOL_DOWNSTREAM_ERROR, context.Canceled}},
		{errors.Join(context.DeadlineExceeded, tracetest.ErrSoldOut), []error{context.DeadlineExceeded, tracetest.ErrSoldOut}},
		{fmt.Errorf("%w, %w", adk.E_TURN_ABORTED, adk.Aborted(io.EOF)), []error{adk.E_TURN_ABORTED, io.EOF}},
		{customError{cause: customError{cause: tracetest.ErrSoldOut}}, []error{tracetest.ErrSoldOut}},
		{&adk.PanicError{Value: fmt.Errorf("x: %w", io.EOF)}, []error{io.EOF}},
		{missing, []error{fs.ErrNotExist, os.ErrNotExist}},
		{tracetest.ClaimsToBe{Target: tracetest.ErrSoldOut}, []error{tracetest.ErrSoldOut}},
		{adk.Code("E_OF_USERS"), []error{adk.Code("E_OF_USERS")}},
		{uncomparable{"a", "b"}, nil},
		{errors.New("half a rune \xe2\x82"), nil},
	} {
		read, _ := throughTrace(t, c.err)
		assert.Equal(t, c.err.Error(), read.Error())
		for _, target := range c.is {
			assert.ErrorIs(t, read, target)
		}
		assert.NotErrorIs(t, read, io.ErrClosedPipe)
		var e *adk.Error
		assert.Equal(t, errors.As(c.err, new(*adk.Error)), errors.As(read, &e), "%v", c.err)
		assert.Equal(t, errors.As(c.err, new(*adk.PanicError)), errors.As(read, new(*adk.PanicError)), "%v", c.err)
	}
}

func TestErrorsReadAsDocumented(t *testing.T) {
	for want, err := range map[string]error{
		`{"sentinel":"io.EOF"}`:                                        io.EOF,
		`{"sentinel":"adk.E_TURN_ABORTED"}`:                            adk.E_TURN_ABORTED,
		`{"sentinel":"shop.ErrSoldOut","text":"sold out"}`:             tracetest.ErrSoldOut,
		`{"text":"a: EOF","cause":{"sentinel":"io.EOF"}}`:              fmt.Errorf("a: %w", io.EOF),
		`{"text":"x\ny","causes":[{"text":"x"},{"text":"y"}]}`:         errors.Join(errors.New("x"), errors.New("y")),
		`{"panic":"boom"}`:                                             &adk.PanicError{Value: "boom"},
		`{"panic":"EOF","cause":{"sentinel":"io.EOF"}}`:                &adk.PanicError{Value: io.EOF},
		`{"text":"claims","is":["shop.ErrSoldOut"]}`:                   tracetest.ClaimsToBe{Target: tracetest.ErrSoldOut},
		`{"code":"E_X","message":"m","stage":"turn-input","name":"n"}`: &adk.Error{Code: "E_X", Message: "m", Stage: "turn-input", Name: "n"},
		`{"code":"E_X","faults":[{"path":"/a","keyword":"type","message":"m"},{}]}`: &adk.Error{Code: "E_X", Faults: []adk.Fault{
			{Path: "/a", Keyword: "type", Message: "m"}, {}}},
		`{"code":"E_INPUT_PIPELINE_ERROR","cause":{"panic":"7"}}`: &adk.Error{Code: adk.E_INPUT_PIPELINE_ERROR, Cause: &adk.PanicError{Value: 7}},
		`{"text":"<nil>"}`: (*adk.Error)(nil),
		`{"text":"%!v(PANIC=Error method: no text)"}`: silent{},
	} {
		_, line := throughTrace(t, err)
		assert.Contains(t, line, `"err":`+want+"}")
	}
}

// silent panics when its Error method is called.
type silent struct{}

func (silent) Error() string { panic("no text") }

// A trace can be read where the sentinels of its program are not known.
func TestASentinelThatNobodyKnowsKeepsItsName(t *testing.T) {
	data := tracetest.WriteTrace(t, adk.Crossing{Kind: adk.KindReturn, At: tracetest.TestStart, Outcome: adk.OutcomeError, Err: fmt.Errorf("buy: %w", errors.Join(tracetest.ErrSoldOut, tracetest.ClaimsToBe{Target: tracetest.ErrSoldOut}))})
	read, err := trace.Read(strings.NewReader(string(data)))
	require.NoError(t, err)
	assert.Equal(t, "buy: sold out\nclaims", read.Lines()[0].Err.Error())
	assert.NotErrorIs(t, read.Lines()[0].Err, tracetest.ErrSoldOut)
	tracetest.RequireSameAgain(t, read, data)
	renamed, err := trace.Read(strings.NewReader(string(data)), trace.Options{Sentinels: map[string]error{"shop.ErrSoldOut": errors.New("nothing left")}})
	require.NoError(t, err)
	tracetest.RequireSameAgain(t, renamed, data)
}

func TestAnErrorWithoutEndIsCut(t *testing.T) {
	loop := &adk.Error{Code: "E_LOOP", Message: "round"}
	loop.Cause = customError{cause: loop}
	_, line := throughTrace(t, loop)
	assert.Contains(t, line, `"err":{"code":"E_LOOP","message":"round","cause":{"text":"wire_test.customError","cause":{"cut":"E_LOOP: round"}}}`)

	panics := &adk.PanicError{}
	panics.Value = errors.Join(panics)
	_, line = throughTrace(t, panics)
	assert.Contains(t, line, `{"cut":"panic"}`)
}

func TestADeepErrorIsCutAndABroadOneToo(t *testing.T) {
	var deep, broad error = io.EOF, io.EOF
	for range 200 {
		deep = fmt.Errorf("w: %w", deep)
	}
	for range 12 {
		broad = errors.Join(broad, broad)
	}
	read, line := throughTrace(t, deep)
	assert.Equal(t, deep.Error(), read.Error())
	assert.Contains(t, line, `{"cut":"*fmt.wrapError"}`)
	_, line = throughTrace(t, broad)
	assert.Contains(t, line, `"cut":`)
	assert.Less(t, strings.Count(line, "{"), 2*wire.MaxErrorNodes)
}

// Readers and writers know the sentinels of the standard library with which code usually compares errors.
func TestSentinelsOfTheStandardLibrary(t *testing.T) {
	for name, err := range map[string]error{
		"bufio.ErrTooLong": bufio.ErrTooLong, "driver.ErrBadConn": driver.ErrBadConn, "driver.ErrSkip": driver.ErrSkip,
		"exec.ErrNotFound": exec.ErrNotFound, "io.ErrShortBuffer": io.ErrShortBuffer, "net.ErrWriteToConnected": net.ErrWriteToConnected,
		"os.ErrNoDeadline": os.ErrNoDeadline, "sql.ErrConnDone": sql.ErrConnDone, "sql.ErrNoRows": sql.ErrNoRows,
		"sql.ErrTxDone": sql.ErrTxDone, "strconv.ErrRange": strconv.ErrRange, "strconv.ErrSyntax": strconv.ErrSyntax,
	} {
		read, line := throughTrace(t, fmt.Errorf("row 7: %w", err))
		assert.ErrorIs(t, read, err)
		assert.Contains(t, line, fmt.Sprintf(`{"sentinel":%q,"text":%q}`, name, err.Error()), "older programs read it, too")
	}
}

// A trace that was written before a sentinel was known, or for which a user had named it, is still read
// correctly.
func TestSentinelsThatBecameKnown(t *testing.T) {
	own := trace.Options{Sentinels: map[string]error{"sql.ErrNoRows": sql.ErrNoRows, "z.ErrDone": sql.ErrTxDone}}
	known, err := wire.NewSentinels(own.Sentinels, own.ErrorTypes)
	require.NoError(t, err, "that one is named which is known without says nothing new")
	rows, done := fmt.Errorf("x: %w", sql.ErrNoRows), errors.Join(sql.ErrTxDone, strconv.ErrRange)
	text := func(known *wire.Sentinels, err error) string {
		return wire.Comparer{Sentinels: known}.Text(adk.FieldErr, &adk.Crossing{Err: err})
	}
	assert.Equal(t, text(wire.OnlyCommon, rows), text(known, rows))
	assert.Contains(t, text(known, done), `{"sentinel":"z.ErrDone",`, "the user's name counts before")
	assert.Contains(t, text(wire.OnlyCommon, done), `{"sentinel":"sql.ErrTxDone",`)

	// As a program that did not know them wrote them.
	namedByNobody := fmt.Errorf("x: %w", errors.New(sql.ErrNoRows.Error()))
	namedByUser := errors.Join(sql.ErrTxDone, errors.New(strconv.ErrRange.Error()))
	everybody, ours := wire.Comparer{Sentinels: wire.OnlyCommon}, wire.Comparer{Sentinels: known}
	assert.True(t, everybody.SameError(namedByNobody, rows))
	assert.True(t, ours.SameError(namedByUser, done))
	assert.False(t, ours.SameError(namedByNobody, rows), "the user's were known to the trace")
	assert.False(t, everybody.SameError(rows, namedByNobody), "what the trace says counts")
	assert.False(t, everybody.SameError(errors.New(rows.Error()), rows), "it led to nothing")
	assert.False(t, everybody.SameError(errors.New("EOF"), io.EOF), "that was known always")
}

func TestBadSentinelsAreAllNamed(t *testing.T) {
	bad := trace.Options{Sentinels: map[string]error{"io.EOF": io.EOF, "adk.E_X": io.EOF, "": io.EOF, "a": nil, "b": uncomparable{}}}
	_, err := trace.NewReader(strings.NewReader(""), bad)
	for _, want := range []string{`"io.EOF" is the name`, `"adk.E_X" is the name`, `"" is no name`, `"a" names no error`, `"b" names a wire_test.uncomparable`} {
		assert.ErrorContains(t, err, want)
	}
	assert.Equal(t, err, trace.NewWriter(io.Discard, trace.Header{}, bad).Write(&adk.Crossing{Kind: adk.KindNow}))
}

// ERR-1: an error that a replay serves has the same faults as the recorded one.
func TestAServedErrorHasItsFaults(t *testing.T) {
	refused := &adk.Error{Code: adk.E_INVALID_TOOL_ARGS, Message: "/days: is no number", Faults: []adk.Fault{{Path: "/days", Keyword: "type", Message: "is no number"}}}
	served, _ := throughTrace(t, fmt.Errorf("ask: %w", refused))
	var got *adk.Error
	require.ErrorAs(t, served, &got)
	assert.Equal(t, refused.Faults, got.Faults)
}

// Before version 3 of the format, errors have no faults. Faults are not written, not read, and not compared
// if one side has such a version.
func TestFormerVersionsHaveNoFaults(t *testing.T) {
	listed := &adk.Error{Code: adk.E_INVALID_TOOL_ARGS, Message: "m", Faults: []adk.Fault{{Path: "/a"}}}
	other, none := *listed, *listed
	other.Faults, none.Faults = []adk.Fault{{Path: "/b"}}, nil
	today, former := wire.Comparer{Sentinels: wire.OnlyCommon}, wire.Comparer{Sentinels: wire.OnlyCommon, Format: 2}
	for _, b := range []*adk.Error{&other, &none} {
		assert.False(t, today.SameError(listed, b))
		assert.True(t, former.SameError(listed, b))
	}

	x := &adk.Crossing{Kind: adk.KindReturn, At: tracetest.TestStart, Outcome: adk.OutcomeError, Err: listed}
	written := func(version int) string {
		var file strings.Builder
		w := trace.NewWriter(&file, trace.Header{Version: version})
		require.NoError(t, w.Write(x))
		return file.String()
	}
	const faults = `"faults":[{"path":"/a"}]`
	assert.NotContains(t, written(2), faults)
	assert.Contains(t, written(3), faults)
	r, err := trace.NewReader(strings.NewReader(strings.Replace(written(3), `"version":3`, `"version":2`, 1)))
	require.NoError(t, err)
	_, err = r.Next()
	assert.ErrorContains(t, err, "faults: is no member of an error")
}
