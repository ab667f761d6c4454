package fakes

import "github.com/adkreplay/adkreplay/adk"

// Deterministic is a copy of the config for one run that makes the same
// crossings every time (DET-2): with a scheduler before the probes, its clock,
// and ids that count from 1. Call it again for the next run.
//
// What the config has already is kept where it serves: a *Scheduler as Probe
// (and with it its order), a *Clock, any IDs. Another clock is replaced, since
// time that moves by itself is never the same twice.
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
