package errtree_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/internal/errtree"
)

var (
	errSought = errors.New("sought")
	errOther  = errors.New("other")
)

// careless is an error whose methods panic on a nil pointer.
type careless struct{ text string }

func (c *careless) Error() string { return c.text }
func (c *careless) Unwrap() error { return errors.New(c.text) }

type none struct{}

func (none) Error() string   { return "none" }
func (none) Unwrap() []error { return nil }

// ABT-2: every part of a joined error has to be the sought error, and an error that is not decided on is not.
func TestEvery(t *testing.T) {
	decide := func(err error) (ok, decided bool) { return err == errSought, err == errSought || err == errOther }
	for _, c := range []struct {
		err error
		is  bool
	}{
		{nil, false},
		{errSought, true},
		{errOther, false},
		{errors.New("undecided"), false},
		{fmt.Errorf("a: %w", fmt.Errorf("b: %w", errSought)), true},
		{errors.Join(errSought, fmt.Errorf("again: %w", errSought)), true},
		{errors.Join(errSought, errOther), false},
		{errors.Join(errOther, errSought), false},
		{none{}, false},
		{(*careless)(nil), false},
	} {
		assert.Equal(t, c.is, errtree.Every(c.err, decide), "%T", c.err)
	}
}
