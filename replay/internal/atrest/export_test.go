package atrest

// MostLooked is how many goroutines are looked at.
const MostLooked = mostLooked

// Pay counts what a look has cost.
func (q *Queue) Pay(looked int) bool { return q.locked(func() bool { return q.pay(looked) }) }
