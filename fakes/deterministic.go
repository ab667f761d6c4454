package fakes

import "github.com/adkreplay/adkreplay/adk"

// Deterministic is a copy of the config for one run that makes the same
// crossings every time (DET-2): with a scheduler before the probes, its clock,
// and ids that count from 1. Call it again for the next run.
//
// What the config has already is kept where it serves: a *Scheduler as Probe
// (and with it its order), a *Clock, any IDs. Another clock is replaced, since
// time that moves by itself is never the same twice.
//
// The clock that it makes stands still while anything runs: what a turn makes has one time,
// and where records are sorted by theirs, as in prompts, messages come before tool calls that
// are older. Give the config NewTickingClock(time.Millisecond) where that matters.
//
// When all strands wait, time goes on to what is due next. The scheduler does not know a
// goroutine that no Fork started: a gate that one settles may have timed out by then. Have the
// listener of TurnGateOpen settle it before it returns, or an Approver.
func Deterministic(c adk.Config, extra ...adk.Probe) adk.Config {
	c, _ = scheduled(c, extra...)
	return c
}

// scheduled is Deterministic, and the scheduler of the run.
func scheduled(c adk.Config, extra ...adk.Probe) (adk.Config, *Scheduler) {
	scheduler, given := c.Probe.(*Scheduler)
	if !given {
		clock, ok := c.Clock.(*Clock)
		if !ok {
			clock = NewClock()
		}
		scheduler = NewSchedulerOn(clock, RunInOrder())
		extra = append([]adk.Probe{c.Probe}, extra...)
	}
	c.Clock = scheduler.Clock()
	c.Probe = adk.MultiProbe(append([]adk.Probe{scheduler}, extra...)...)
	if c.IDs == nil {
		c.IDs = NewIDs()
	}
	return c, scheduler
}
