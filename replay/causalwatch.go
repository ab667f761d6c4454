package replay

import (
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/internal/watchdog"
)

// oftenWatched is how long to wait at first before a look at a replay with live seams.
const oftenWatched = 10 * time.Millisecond

// watchedNext is when to look again at a replay that did nothing for so long. Looks get
// rare as the silence grows: a bubble makes up each of them, and with 720,000 of them two
// hours of a sleep are no longer free.
func watchedNext(silence time.Duration) time.Duration { return max(oftenWatched, silence/16) }

// watch looks at the goroutines of the new run where no crossing comes of it. Live code
// may wait where nobody sees it, at a lock above all, for a strand that waits for its
// step: with all of them blocked, what comes next is made. Without live code nobody
// waits so. unwatch ends it.
func (p *causal) watch(label watchdog.Label) (unwatch func()) {
	if !p.live.any() {
		return func() {}
	}
	stop := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		timer := time.NewTimer(oftenWatched)
		defer timer.Stop()
		var dog watchdog.Dog
		for {
			select {
			case <-stop:
				return
			case now := <-timer.C:
				found := dog.Visit(p.progress.Load(), now, label)
				if found.Action >= watchdog.Cancel { // those who wait for others have had their time
					p.passBlocked()
				}
				if found.Silence > 2*watchdog.Bubbled {
					return // a bubble tells who waits for whom once no timer runs
				}
				timer.Reset(watchedNext(found.Silence))
			}
		}
	})
	return func() {
		close(stop)
		watcher.Wait()
	}
}
