package watchdog

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// Goroutines that wait for each other are at rest. A goroutine that waits for the system will go on, so it is
// waited for, unless the caller is impatient. In a bubble, waiting for time counts as rest.
func TestAtRest(t *testing.T) {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	connection := silent(t)
	for name, c := range map[string]struct {
		run             func()
		state           string
		patient, hasted bool
	}{
		"a channel": {func() { <-never }, "chan receive", true, true},
		"a system":  {func() { _, _ = connection.Read(make([]byte, 1)) }, "IO wait", false, true},
		"runs":      {spinUntil(never), "runnable", false, false},
	} {
		label := begin(c.run)
		if c.state != "runnable" { // its state may also be running
			arrives(t, c.state, of(label, 1))
		}
		for patient, rests := range map[bool]bool{true: c.patient, false: c.hasted} {
			looked, rest := AtRest(label, patient)
			assert.Equal(t, rests, rest, "%s, patient %v", name, patient)
			assert.GreaterOrEqual(t, looked, 2, name)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		label := begin(func() { time.Sleep(time.Hour) })
		_, rest := AtRest(label, true)
		assert.True(t, rest)
		assert.Zero(t, time.Since(began))
		time.Sleep(2 * time.Hour) // until it has ended
	})
}

// A Moment takes none of a bubble's time.
func TestMomentsTakeNoTimeInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		Moment()
		assert.Zero(t, time.Since(began))
	})
}

// AtRestUnless stops looking if the run makes progress.
func TestWhoGoesOnIsNotLookedAt(t *testing.T) {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	label := begin(spinUntil(never))
	looks := 0
	_, rest := AtRestUnless(label, true, func() bool { looks++; return looks == 2 })
	assert.False(t, rest)
	assert.Equal(t, 2, looks)
}

func spinUntil(end <-chan struct{}) func() {
	return func() {
		for {
			select {
			case <-end:
				return
			default:
			}
		}
	}
}

// The goroutine that ends a transaction, or a result, with its context waits for nothing else. So a strand that has
// one open, and waits for its turn, is not blocked by it.
func TestWhoEndsATransactionIsIdle(t *testing.T) {
	for _, function := range []string{"database/sql.(*Tx).awaitDone", "database/sql.(*Rows).awaitDone"} {
		assert.Equal(t, Locked, conditionOf(Goroutine{State: "select", Stack: []Frame{{Function: "runtime.gopark"}, {Function: function}}}), function)
	}
	assert.Equal(t, Waiting, conditionOf(Goroutine{State: "select", Stack: []Frame{{Function: "database/sql.(*driverConn).query"}}}))
}

// A connection that a server keeps alive waits for the next request, and is idle. If its handler reads, it
// waits for the current one, and is not.
func TestAConnectionThatIsKeptAliveIsIdle(t *testing.T) {
	stack := func(functions ...string) (frames []Frame) {
		for _, function := range functions {
			frames = append(frames, Frame{Function: function})
		}
		return frames
	}
	kept := Goroutine{State: "IO wait", Stack: stack("internal/poll.(*FD).Read", "bufio.(*Reader).fill", "bufio.(*Reader).Peek", "net/http.(*conn).serve")}
	read := Goroutine{State: "IO wait", Stack: stack("internal/poll.(*FD).Read", "bufio.(*Reader).Peek", "main.handle", "net/http.(*conn).serve")}
	assert.Equal(t, Locked, conditionOf(kept))
	assert.Equal(t, Waiting, conditionOf(read))
	locked := Goroutine{State: "sync.Mutex.Lock", Stack: stack("sync.(*Mutex).Lock", "main.book")}
	assert.Equal(t, locked.String(), Describe([]Goroutine{kept, locked}), "who asks nobody is in nobody's way")
	assert.Contains(t, Describe([]Goroutine{kept}), "conn")
}

// A goroutine of a library is reported with the call of user code that started it, as long as that call is
// running, and with no other line of the goroutine that started it.
func TestWhoStartedAGoroutine(t *testing.T) {
	served := Goroutine{ID: 3, parent: 2, Origin: Frame{Function: "net/http.(*Server).Serve"}}
	user := Frame{Function: "example.com/shop.serve", Place: "shop.go:7"}
	alive := func(stack ...Frame) map[int]Goroutine { return map[int]Goroutine{2: {ID: 2, Stack: stack}} }
	assert.Contains(t, starterOf(served, alive(Frame{Function: "net/http.(*Server).Serve"}, user)), "shop.serve")
	assert.Empty(t, starterOf(served, alive(Frame{Function: "sync.(*Mutex).Lock"}, user)))
	assert.Empty(t, starterOf(served, nil))
}
