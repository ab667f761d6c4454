package watchdog

import (
	"sync"
	"time"
)

// oftenWatched is how long to wait at first before a look at a run.
const oftenWatched = 10 * time.Millisecond

// watchedNext is when to look again at a run that did nothing for so long. Looks get
// rare as the silence grows: a bubble makes up each of them, and with 720,000 of them two
// hours of a sleep are no longer free.
func watchedNext(silence time.Duration) time.Duration { return max(oftenWatched, silence/16) }

// Watch looks at the goroutines of a run where nothing comes of it: progress changes with
// all that the run does. User code may wait where nobody sees it, at a lock above all, for
// somebody who waits for it: blocked is called where all goroutines are blocked, and with
// Deadlock where that was of no use, or with Hang. unwatch ends it.
func Watch(label Label, progress func() int64, blocked func(Action)) (unwatch func()) {
	stop := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		timer := time.NewTimer(oftenWatched)
		defer timer.Stop()
		dog := Dog{rarely: true}
		for {
			select {
			case <-stop:
				return
			case now := <-timer.C:
				found := dog.Visit(progress(), now, label)
				if found.Action >= Cancel { // those who wait for others have had their time
					blocked(found.Action)
				}
				if found.Silence > 2*Bubbled {
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
