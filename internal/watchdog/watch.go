package watchdog

import (
	"sync"
	"time"
)

// oftenWatched is how long to wait before the first looks at a run.
const oftenWatched = 10 * time.Millisecond

// watchedNext returns the time until the next look at a run that has been silent for the given
// time. Looks become rarer as the silence grows: in a bubble, time jumps from look to look, and
// 720,000 looks within two hours of sleep would be slow.
func watchedNext(silence time.Duration) time.Duration { return max(oftenWatched, silence/16) }

// Watch looks at the goroutines of a run while it makes no progress; progress must change with
// everything that the run does. User code may wait where the engine does not see it, for example at
// a lock whose holder waits for it in turn. Watch calls blocked with Cancel if all goroutines are
// blocked, and with Deadlock or Hang if that did not help. unwatch ends the watching and waits
// until it has ended.
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
				if found.Action >= Cancel { // strands that wait for others have had their time
					blocked(found.Action)
				}
				if found.Silence > 2*Bubbled {
					return // a bubble itself detects a deadlock once no timer runs
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
