package compare

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// Whose a crossing is and when it was is compared as its fields are, and each under
// its own name.
func TestCompareWhoseItIs(t *testing.T) {
	known, err := wire.NewSentinels(nil)
	require.NoError(t, err)
	c := wire.Comparer{Sentinels: known}
	want := adk.Crossing{Kind: adk.KindNext, Phase: adk.Begin, At: time.Unix(1, 0), Call: 1, Strand: 2, Op: 3}
	assert.Empty(t, Crossings(c, &want, &want))
	for field, change := range map[string]func(*adk.Crossing){
		"at":     func(x *adk.Crossing) { x.At = x.At.Add(1) },
		"in":     func(x *adk.Crossing) { x.Call++ },
		"strand": func(x *adk.Crossing) { x.Strand++ },
		"op":     func(x *adk.Crossing) { x.Op++ },
		"kind":   func(x *adk.Crossing) { x.Phase = adk.Done },
	} {
		got := want
		change(&got)
		diffs := Crossings(c, &want, &got)
		if assert.Len(t, diffs, 1, field) {
			assert.Equal(t, field, diffs[0].Field)
			assert.NotEqual(t, diffs[0].Want, diffs[0].Got)
		}
	}
}

// Two errors of one text are two errors where one has a code, wraps another, or came
// of a panic: code that asks for them tells them apart.
func TestCompareErrorsByWhatTheyAre(t *testing.T) {
	known, err := wire.NewSentinels(nil)
	require.NoError(t, err)
	coded := &adk.Error{Code: adk.E_TURN_ABORTED, Message: "stop"}
	for _, other := range []error{
		errors.New(coded.Error()),
		fmt.Errorf("%w", coded),
		&adk.PanicError{Value: coded.Error()},
		errors.Join(coded),
	} {
		assert.False(t, wire.Comparer{Sentinels: known}.SameError(coded, other), "%T", other)
		assert.True(t, wire.Comparer{Sentinels: known}.SameError(other, other), "%T", other)
	}
}
