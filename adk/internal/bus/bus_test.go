package bus_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/internal/bus"
)

func listeners(b *bus.Bus[string]) (all []string) {
	for _, e := range b.All() {
		all = append(all, e.Listeners)
	}
	return all
}

// EVT-2: listeners are kept in the order of their registration.
func TestListenersStandInOrder(t *testing.T) {
	var b bus.Bus[string]
	assert.Empty(t, b.All())
	b.Add("first", false)
	off := b.Add("second", false)
	b.Add("third", false)
	assert.Equal(t, []string{"first", "second", "third"}, listeners(&b))
	off()
	off() // a second call changes nothing
	assert.Equal(t, []string{"first", "third"}, listeners(&b))
}

// EVT-1: a list that was read stays the same, whatever listeners are added and removed
// meanwhile.
func TestASnapshotStays(t *testing.T) {
	var b bus.Bus[string]
	off := b.Add("first", false)
	b.Add("second", false)
	before := b.All()
	off()
	b.Add("third", false)
	assert.Equal(t, "first", before[0].Listeners)
	assert.Equal(t, "second", before[1].Listeners)
	assert.Equal(t, []string{"second", "third"}, listeners(&b))
}

// EVT-1: a once listener takes one event of each kind.
func TestOnceForEachKind(t *testing.T) {
	var b bus.Bus[string]
	b.Add("once", true)
	b.Add("always", false)
	once, always := b.All()[0], b.All()[1]
	for _, kind := range []uint8{0, 7, 63} {
		assert.True(t, once.Takes(kind))
		assert.False(t, once.Takes(kind))
		assert.True(t, always.Takes(kind))
		assert.True(t, always.Takes(kind))
	}
}

// EVT-2: an event that arrives while another is emitted is emitted after it, in order, by the goroutine
// that is emitting already.
func TestRelayKeepsTheOrder(t *testing.T) {
	var (
		mu sync.Mutex
		y  bus.Relay[string, int]
	)
	send := func(from string, event int) bool {
		mu.Lock()
		return y.UnlockToEmit(&mu, from, &event)
	}
	assert.True(t, send("a", 1))
	assert.False(t, send("b", 2))
	assert.False(t, send("c", 3))
	for _, want := range []struct {
		from  string
		event int
	}{{"b", 2}, {"c", 3}} {
		from, event := y.Next(&mu)
		assert.Equal(t, want.from, from)
		assert.Equal(t, want.event, *event)
	}
	_, event := y.Next(&mu)
	assert.Nil(t, event)
	assert.True(t, send("d", 4), "the one that was at it has gone")
}
