package ties_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/replay/internal/ties"
)

// asked is an ask that was answered with a crossing, so long after the call's beginning.
func asked(done int, after time.Duration) *calls.Step {
	s := &calls.Step{X: &adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, Seq: 1}}
	if done > 0 {
		s.Done = &adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, Seq: done, At: time.Time{}.Add(after)}
	}
	return s
}

// In each order one answer comes before those that came just before it, the closest first; what was
// not answered, and what is no ask, has no part in it.
func TestOrders(t *testing.T) {
	in := &calls.Call{Script: []*calls.Step{
		asked(20, 11*time.Millisecond), asked(10, 10*time.Millisecond), asked(0, 0), asked(30, 12*time.Millisecond), asked(40, 20*time.Millisecond),
		{X: &adk.Crossing{Kind: adk.KindSleep, Phase: adk.Begin}, Done: &adk.Crossing{Kind: adk.KindSleep, Phase: adk.Done, Seq: 41, At: time.Time{}.Add(20 * time.Millisecond)}},
	}}
	assert.Equal(t, []map[int]int{{10: 21}, {10: 31, 20: 31}}, ties.Orders(in))
	assert.Empty(t, ties.Orders(&calls.Call{Script: []*calls.Step{asked(10, 0), asked(20, time.Second)}}))
}

// What is asked is told in its order.
func TestAsked(t *testing.T) {
	first, second := asked(4, 0), asked(3, 0)
	first.X.Name, second.X.Name, second.X.JSON = "a", "b", []byte(`1`)
	assert.Equal(t, []string{"a ", "b 1"}, ties.Asked(&calls.Call{Script: []*calls.Step{first, {X: &adk.Crossing{Kind: adk.KindNow}}, second}}))
	assert.Empty(t, ties.Asked(nil))
}

// Of many that came together some orders are enough.
func TestFewOrders(t *testing.T) {
	in := &calls.Call{}
	for n := range 100 {
		in.Script = append(in.Script, asked(n+2, 0))
	}
	assert.Len(t, ties.Orders(in), 8)
}
