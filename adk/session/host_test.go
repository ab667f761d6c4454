package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/session"
)

// SES-10, SES-12, SES-19, SES-20: each delivery counts once, in order, and the next turn finds what a
// turn has set and stored.
func TestDeliveriesCountOnce(t *testing.T) {
	w := newWorld(t)
	h := w.host(w.config(counting))
	first := deliver(t, h, delivery("one", "a"))
	assert.Equal(t, session.Outcome{Delivery: delivery("one", "a").DeliveryID(), Seq: 1, State: session.Committed, Attempt: 1, TurnID: first.TurnID, Revision: 1}, first)
	second := deliver(t, h, delivery("one", "b"))
	assert.EqualValues(t, 2, second.Revision)
	again := deliver(t, h, delivery("one", "a"))
	first.Duplicate = true
	assert.Equal(t, first, again)
	assert.Equal(t, "2", w.counted(h, "one"))
	assert.Equal(t, []string{"a", "that makes 1", "b", "that makes 2"}, w.said("one"))
	assert.Equal(t, []session.StepKind{"accepted", "claimed", "hydrated", "ran", "committed", "notified", "accepted", "claimed", "hydrated", "ran", "committed", "notified"}, w.kinds())
	assert.Len(t, w.told, 2)
}
