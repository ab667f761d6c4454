package fakes

import "github.com/adkreplay/adkreplay/adk"

// Deterministic returns a copy of the config for a run that makes the same crossings every time
// (DET-2): it has a scheduler in front of the probes, the scheduler's clock, and ids that count
// from 1. Call it again for the next run.
//
// It keeps what the config already has, if that is deterministic: a *Scheduler as Probe (and with
// it its order), a *Clock, any IDs. It replaces any other clock, because the time of a clock that
// moves by itself differs from run to run.
//
// The clock that it makes stands still while anything runs, so all records of a turn get the same
// time. Where records are sorted by time, as in prompts, messages then come before older tool
// calls. Give the config NewTickingClock(time.Millisecond) if that matters.
//
// When all strands wait, time moves on to what is due next. The scheduler does not know goroutines
// that were not started by Fork: if such a goroutine settles a gate, the gate may have timed out by
// then. Settle gates with an Approver, or in a listener of TurnGateOpen before it returns.
func Deterministic(c adk.Config, extra ...adk.Probe) adk.Config {
	c, _ = scheduled(c, extra...)
	return c
}

// scheduled is Deterministic that also returns the scheduler of the run.
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
