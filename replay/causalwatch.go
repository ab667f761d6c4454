package replay

import (
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/internal/watchdog"
)

// oftenWatched is how often to look whether a replay with live seams goes on.
const oftenWatched = 10 * time.Millisecond

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
		ticker := time.NewTicker(oftenWatched)
		defer ticker.Stop()
		var dog watchdog.Dog
		for {
			select {
			case <-stop:
				return
			case now := <-ticker.C:
				if dog.Visit(p.progress.Load(), now, label).Action >= watchdog.Cancel { // those who wait for others have had their time
					p.passBlocked()
				}
			}
		}
	})
	return func() {
		close(stop)
		watcher.Wait()
	}
}
