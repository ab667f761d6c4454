package wire

import (
	"bufio"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// codeSentinel is the prefix of the names of sentinels that are codes of the engine.
const codeSentinel = "adk."

// commonSentinels are the values that Go code commonly compares errors with. Their names are in
// traces, so they never change.
var commonSentinels = map[string]error{
	"context.Canceled":         context.Canceled,
	"context.DeadlineExceeded": context.DeadlineExceeded,
	"errors.ErrUnsupported":    errors.ErrUnsupported,
	"fs.ErrClosed":             fs.ErrClosed,
	"fs.ErrExist":              fs.ErrExist,
	"fs.ErrInvalid":            fs.ErrInvalid,
	"fs.ErrNotExist":           fs.ErrNotExist,
	"fs.ErrPermission":         fs.ErrPermission,
	"io.EOF":                   io.EOF,
	"io.ErrClosedPipe":         io.ErrClosedPipe,
	"io.ErrNoProgress":         io.ErrNoProgress,
	"io.ErrShortWrite":         io.ErrShortWrite,
	"io.ErrUnexpectedEOF":      io.ErrUnexpectedEOF,
	"net.ErrClosed":            net.ErrClosed,
	"os.ErrDeadlineExceeded":   os.ErrDeadlineExceeded,
	"os.ErrProcessDone":        os.ErrProcessDone,
}

// laterSentinels are known by default too, but older traces do not name them, and some users have
// named some of them themselves. A user's name for the same value therefore takes precedence, their
// texts are written as those of a user's sentinels are, and what an older trace does not say about
// them is no difference (Comparer.SameError).
var laterSentinels = map[string]error{
	"bufio.ErrAdvanceTooFar":     bufio.ErrAdvanceTooFar,
	"bufio.ErrBadReadCount":      bufio.ErrBadReadCount,
	"bufio.ErrBufferFull":        bufio.ErrBufferFull,
	"bufio.ErrFinalToken":        bufio.ErrFinalToken,
	"bufio.ErrInvalidUnreadByte": bufio.ErrInvalidUnreadByte,
	"bufio.ErrInvalidUnreadRune": bufio.ErrInvalidUnreadRune,
	"bufio.ErrNegativeAdvance":   bufio.ErrNegativeAdvance,
	"bufio.ErrNegativeCount":     bufio.ErrNegativeCount,
	"bufio.ErrTooLong":           bufio.ErrTooLong,
	"driver.ErrBadConn":          driver.ErrBadConn,
	"driver.ErrRemoveArgument":   driver.ErrRemoveArgument,
	"driver.ErrSkip":             driver.ErrSkip,
	"exec.ErrDot":                exec.ErrDot,
	"exec.ErrNotFound":           exec.ErrNotFound,
	"exec.ErrWaitDelay":          exec.ErrWaitDelay,
	"io.ErrShortBuffer":          io.ErrShortBuffer,
	"net.ErrWriteToConnected":    net.ErrWriteToConnected,
	"os.ErrNoHandle":             os.ErrNoHandle,
	"os.ErrNoDeadline":           os.ErrNoDeadline,
	"sql.ErrConnDone":            sql.ErrConnDone,
	"sql.ErrNoRows":              sql.ErrNoRows,
	"sql.ErrTxDone":              sql.ErrTxDone,
	"strconv.ErrRange":           strconv.ErrRange,
	"strconv.ErrSyntax":          strconv.ErrSyntax,
}

// Sentinels holds the error values and the types of errors that are known by name.
type Sentinels struct {
	names  []string // sorted, so that the output does not depend on the order of a map
	byName map[string]error
	nameOf map[error]string // the first name of each
	forms  forms
	former *Sentinels // the same without what older traces may not know; nil in former itself
}

// OnlyCommon is used by everyone who adds no sentinels. It is built once for all runs.
var OnlyCommon = sentinelsOf(commonSentinels, nil)

// sentinelsOf adds laterSentinels and the later and the user's types to the named sentinels.
func sentinelsOf(named map[string]error, types map[string]ErrorForm) *Sentinels {
	former := sentinelsIn(named, formsOf(errorForms))
	byName := maps.Clone(laterSentinels)
	maps.Copy(byName, named)
	s := sentinelsIn(byName, formsOf(errorForms, laterErrorForms, types))
	maps.Copy(s.nameOf, former.nameOf)
	s.former = former
	return s
}

func sentinelsIn(byName map[string]error, known forms) *Sentinels {
	s := &Sentinels{names: slices.Sorted(maps.Keys(byName)), byName: byName, nameOf: map[error]string{}, forms: known}
	for _, name := range slices.Backward(s.names) {
		s.nameOf[byName[name]] = name
	}
	return s
}

// NewSentinels returns the default sentinels and types of errors together with the user's.
func NewSentinels(users map[string]error, types map[string]ErrorForm) (*Sentinels, error) {
	if len(users) == 0 && len(types) == 0 {
		return OnlyCommon, nil
	}
	var wrong []error
	byName := maps.Clone(commonSentinels)
	for _, name := range slices.Sorted(maps.Keys(users)) {
		if err := checkSentinel(name, users[name]); err != nil {
			wrong = append(wrong, fmt.Errorf("replay: Options.Sentinels: %q %w", name, err))
		}
		byName[name] = users[name]
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if err := checkForm(name, types[name]); err != nil {
			wrong = append(wrong, fmt.Errorf("replay: Options.ErrorTypes: %q %w", name, err))
		}
	}
	if wrong != nil {
		return nil, errors.Join(wrong...)
	}
	return sentinelsOf(byName, types), nil
}

func checkSentinel(name string, err error) error {
	_, taken := commonSentinels[name]
	switch {
	case taken, strings.HasPrefix(name, codeSentinel):
		return errors.New("is the name of a sentinel that is known already")
	case name == "":
		return errors.New("is no name")
	case err == nil:
		return errors.New("names no error")
	case !reflect.TypeOf(err).Comparable():
		return fmt.Errorf("names a %T, which cannot be compared", err)
	}
	return nil
}

// ofItself returns the name of err itself, if it has one. An error that cannot be compared has
// none.
func (s *Sentinels) ofItself(err error) (name string, has bool) {
	if code, ok := err.(adk.Code); ok {
		return codeSentinel + string(code), true
	}
	defer func() { _ = recover() }()
	name, has = s.nameOf[err]
	return name, has
}

// sameError compares as errors.Is does. A value with a part that cannot be compared equals nothing.
func sameError(a, b error) (same bool) {
	defer func() { _ = recover() }()
	return a == b
}

// claimedBy returns the names of the sentinels for which err's own Is method returns true.
func (s *Sentinels) claimedBy(err error) (names []string) {
	claimer, ok := err.(interface{ Is(error) bool })
	if !ok {
		return nil
	}
	defer func() {
		if recover() != nil {
			names = nil
		}
	}()
	for _, name := range s.names {
		if claimer.Is(s.byName[name]) {
			names = append(names, name)
		}
	}
	return names
}

// find returns the error with a name, or nil.
func (s *Sentinels) find(name string) error {
	if code, ok := strings.CutPrefix(name, codeSentinel); ok {
		return adk.Code(code)
	}
	return s.byName[name]
}

// needsText reports whether a reader may not know the sentinel with that name, so that its text
// must be written.
func needsText(name string) bool {
	return commonSentinels[name] == nil && !strings.HasPrefix(name, codeSentinel)
}
