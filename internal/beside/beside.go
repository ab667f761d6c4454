// Package beside tracks the replays with live code that are in progress in this process. It makes
// them refuse requests to the world that user code makes without a handle. No recording has the
// answer to such a request, and a replay must not ask a network.
package beside

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Replay is a replay that is in progress.
type Replay struct {
	allows func(of string) bool
	asked  map[string]int // whom code wanted to ask, and how often; 0 is not known
}

// Ask is whom code wanted to ask, and how often that was refused. Times is 0 if another replay was
// in progress, because that replay's code may have asked.
type Ask struct {
	Of    string
	Times int
}

var (
	mu       sync.Mutex
	underWay = map[*Replay]bool{}
	some     atomic.Bool // whether there is any, so that Refuses takes no lock in production
)

// Begin begins a replay. Requests without a handle are let through if allows returns true for whom
// they ask. The caller must call End when the replay is over.
func Begin(allows func(of string) bool) *Replay {
	r := &Replay{allows: allows, asked: map[string]int{}}
	mu.Lock()
	defer mu.Unlock()
	underWay[r] = true
	some.Store(true)
	return r
}

// End ends the replay, and returns what it refused, sorted by name. It may be called again.
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

// Refuses reports whether a replay in progress refuses a request that is made without a handle. It
// cannot know whose code made the request, so each replay that refuses it records it, and counts it
// only if it is the only replay.
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
