package ties_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/replay/internal/ties"
)

// asked is an ask that was answered at the crossing done, the given time after the call's beginning.
func asked(done int, after time.Duration) *calls.Step {
	s := &calls.Step{X: &adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, Seq: 1}}
	if done > 0 {
		s.Done = &adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, Seq: done, At: time.Time{}.Add(after)}
	}
	return s
}

// In each order, one answer comes before those that closely preceded it, the closest first.
// Unanswered asks, and other steps, are ignored.
func TestOrders(t *testing.T) {
	in := &calls.Call{Script: []*calls.Step{
		asked(20, 11*time.Millisecond), asked(10, 10*time.Millisecond), asked(0, 0), asked(30, 12*time.Millisecond), asked(40, 20*time.Millisecond),
		{X: &adk.Crossing{Kind: adk.KindSleep, Phase: adk.Begin}, Done: &adk.Crossing{Kind: adk.KindSleep, Phase: adk.Done, Seq: 41, At: time.Time{}.Add(20 * time.Millisecond)}},
	}}
	assert.Equal(t, []map[int]int{{10: 21}, {10: 31, 20: 31}}, ties.Orders(in))
	assert.Empty(t, ties.Orders(&calls.Call{Script: []*calls.Step{asked(10, 0), asked(20, time.Second)}}))
}

// The same words in another order count as the same; another number, or one word more, does not.
func TestSameWords(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"tools":["a","b"]}`, `{"tools":["b","a"]}`, true},
		{`{"text":"nut: 6\nbolt: 8. Well."}`, `{"text":"bolt: 8. Well.\nnut: 6"}`, true},
		{`{"text":"{\"of\":\"nut\\nbolt\"}"}`, `{"text":"{\"of\":\"bolt\\nnut\"}"}`, true},
		{`{"id":"01a22c54-282c-7aeb-8f84-ffbf96aaa47a"}`, `{"id":"01a22c54-282c-4aeb-8f84-000000000000"}`, true},
		{`{"temperature":0}`, `{"temperature":1}`, false},
		{`{"temperature":0.5}`, `{"temperature":-0.5}`, false},
		{`{"tools":["a","b"]}`, `{"tools":["a","b","b"]}`, false},
	} {
		assert.Equal(t, c.same, ties.SameWords(c.a, c.b), "%s %s", c.a, c.b)
	}
}

// If many answers came together, only some of their orders are returned.
func TestFewOrders(t *testing.T) {
	in := &calls.Call{}
	for n := range 100 {
		in.Script = append(in.Script, asked(n+2, 0))
	}
	assert.Len(t, ties.Orders(in), 8)
}
