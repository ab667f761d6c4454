package fakes

// Work is how many strands the scheduler has looked at or moved in the run that began last.
func (s *Scheduler) Work() int { return s.last.Load().able.work }
