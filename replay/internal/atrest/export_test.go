package atrest

// MostLooked is how many goroutines are looked at.
const MostLooked = mostLooked

// Pay counts what a look has cost.
func (q *Queue) Pay(looked int) bool { return q.locked(func() bool { return q.pay(looked, true) }) }

// Vain is how many looks have seen no rest.
func (q *Queue) Vain() int { return q.vain }

// What looks there are to be at most that have seen no rest.
const (
	MostRestless = mostRestless
	MostBusy     = mostBusy
)
