// Package beside knows of the replays with live code that are under way in this process,
// and has them refuse what is asked of the world beside every handle: no recording has the
// answer to it, and a replay that asks a network is none.
package beside

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Replay is a replay that is under way.
type Replay struct {
	allows func(of string) bool
	asked  map[string]int // who was to be asked, and how often; 0 is not known
}

// Ask is who was to be asked, and how often that was refused: 0 where another replay was under
// way, whose code it may have been.
type Ask struct {
	Of    string
	Times int
}

var (
	mu       sync.Mutex
	underWay = map[*Replay]bool{}
	some     atomic.Bool // one is under way: what production asks takes no lock
)

// Begin says that a replay begins. Who is asked beside every handle may be asked for real
// where allows reports it. End is to be called when the replay is over.
func Begin(allows func(of string) bool) *Replay {
	r := &Replay{allows: allows, asked: map[string]int{}}
	mu.Lock()
	defer mu.Unlock()
	underWay[r] = true
	some.Store(true)
	return r
}

// End says that the replay is over, and gives what it has refused, in the order of names.
// It may be called again.
func (r *Replay) End() (refused []Ask) {
	mu.Lock()
	defer mu.Unlock()
	delete(underWay, r)
	some.Store(len(underWay) > 0)
	for _, of := range slices.Sorted(maps.Keys(r.asked)) {
		refused = append(refused, Ask{of, r.asked[of]})
	}
	return refused
}

// Refuses reports whether a replay that is under way refuses that somebody is asked beside
// every handle. Whose code it is that asks nobody can know: each that refuses notes it, and counts it
// where it is alone.
func Refuses(who func() string) (refused bool) {
	if !some.Load() {
		return false
	}
	of := who()
	mu.Lock()
	defer mu.Unlock()
	for r := range underWay {
		if !r.allows(of) {
			times, before := r.asked[of]
			if r.asked[of] = 0; len(underWay) == 1 && (times > 0 || !before) {
				r.asked[of] = times + 1
			}
			refused = true
		}
	}
	return refused
}
