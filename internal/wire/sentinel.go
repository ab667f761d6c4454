package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// codeSentinel begins the name of a sentinel that is one of the engine's codes.
const codeSentinel = "adk."

// commonSentinels are the values that Go code compares errors with. Their names
// are in traces: they never change.
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

// Sentinels are the error values that are known by name.
type Sentinels struct {
	names  []string // sorted, so that what is written does not depend on a map
	byName map[string]error
	nameOf map[error]string // the first name of each
}

// OnlyCommon are the sentinels of everybody who adds none, sorted once for all
// runs.
var OnlyCommon = sentinelsOf(commonSentinels)

func sentinelsOf(byName map[string]error) *Sentinels {
	s := &Sentinels{names: slices.Sorted(maps.Keys(byName)), byName: byName, nameOf: map[error]string{}}
	for _, name := range slices.Backward(s.names) {
		s.nameOf[byName[name]] = name
	}
	return s
}

// NewSentinels adds the user's sentinels to the common ones.
func NewSentinels(users map[string]error) (*Sentinels, error) {
	if len(users) == 0 {
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
	if wrong != nil {
		return nil, errors.Join(wrong...)
	}
	return sentinelsOf(byName), nil
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

// ofItself is the name of err itself, if it has one. An error that cannot be compared is
// none of those that have.
func (s *Sentinels) ofItself(err error) (name string, has bool) {
	if code, ok := err.(adk.Code); ok {
		return codeSentinel + string(code), true
	}
	defer func() { _ = recover() }()
	name, has = s.nameOf[err]
	return name, has
}

// sameError compares as errors.Is does; a value that has a part which cannot be
// compared equals nothing.
func sameError(a, b error) (same bool) {
	defer func() { _ = recover() }()
	return a == b
}

// claimedBy names the sentinels that err's own Is method says it is.
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

// find is the error of a name, or nil.
func (s *Sentinels) find(name string) error {
	if code, ok := strings.CutPrefix(name, codeSentinel); ok {
		return adk.Code(code)
	}
	return s.byName[name]
}

// needsText reports whether a reader may not know the sentinel of that name.
func needsText(name string) bool {
	return commonSentinels[name] == nil && !strings.HasPrefix(name, codeSentinel)
}
