package atrest

// MostLooked is how many goroutines the queue looks at.
const MostLooked = mostLooked

// Pay counts the cost of a look.
func (q *Queue) Pay(looked int) bool { return q.locked(func() bool { return q.pay(looked, true) }) }

// Vain returns how many looks have seen no rest.
func (q *Queue) Vain() int { return q.vain }

// The bounds on the number of looks that have seen no rest.
const (
	MostRestless = mostRestless
	MostBusy     = mostBusy
)
