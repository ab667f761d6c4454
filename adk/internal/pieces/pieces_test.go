package pieces_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/internal/pieces"
)

var (
	errBroken = errors.New("broken")
	errTwice  = errors.New("twice")
)

// count hands out the numbers below n until the loop is left.
func count(n int, end error) func(*pieces.Loop[int]) error {
	return func(l *pieces.Loop[int]) error {
		for i := range n {
			if !l.Hand(i) {
				return nil
			}
		}
		return end
	}
}

// WLD-4: the last round has the error and no piece. A second loop over the same stream gets an
// error of its own.
func TestLoop(t *testing.T) {
	for _, end := range []error{nil, errBroken} {
		stream := pieces.Seq(count(2, end), errTwice)
		var got []int
		var last error
		for piece, err := range stream {
			if last = err; err == nil {
				got = append(got, piece)
			}
		}
		assert.Equal(t, []int{0, 1}, got)
		assert.Equal(t, end, last)
		for piece, err := range stream {
			assert.Zero(t, piece)
			assert.Equal(t, errTwice, err)
		}
	}
}

// WLD-4: a loop that is left gets nothing more, in whichever way it is left.
func TestLoopThatIsLeft(t *testing.T) {
	var loop *pieces.Loop[int]
	stubborn := func(l *pieces.Loop[int]) error {
		loop = l
		l.Hand(1)
		assert.True(t, l.Left())
		assert.False(t, l.InBody())
		return errBroken
	}
	rounds := 0
	for range pieces.Seq(stubborn, errTwice) {
		assert.True(t, loop.InBody())
		rounds++
		break
	}
	assert.Equal(t, 1, rounds)

	assert.PanicsWithError(t, "broken", func() {
		for range pieces.Seq(func(l *pieces.Loop[int]) error {
			defer func() { assert.True(t, l.InBody()) }()
			l.Hand(1)
			return nil
		}, errTwice) {
			panic(errBroken)
		}
	})
}
