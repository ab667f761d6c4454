package atrest

// MostLooked is how many goroutines are looked at.
const MostLooked = mostLooked

// Pay counts what a look has cost.
func (q *Queue) Pay(looked int) bool { return q.locked(func() bool { return q.pay(looked) }) }

// Vain is how many looks have seen no rest.
func (q *Queue) Vain() int { return q.vain }

// MostRestless is how many such there are to be.
const MostRestless = mostRestless
