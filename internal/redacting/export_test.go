package redacting

import (
	"fmt"
	"github.com/adkreplay/adkreplay/adk"

	"github.com/adkreplay/adkreplay/internal/streamre"
)

// What the tests of streams look at.
const MaxHeld = maxHeld

var (
	NewRedactStream = newRedactStream
	NewRedactor     = newRedactor
)

// Redactor is what the tests of streams and secrets look at.
type Redactor = redactor

// SpansAlone are the secrets in a text that stands alone.
func (r *redactor) SpansAlone(text string) []streamre.Span { return merged(r.spansAsWritten(text)) }

// Meet has a line say secrets under a name.
func (r *redactor) Meet(name string, secrets ...string) {
	for _, secret := range secrets {
		if _, err := r.Line(fmt.Appendf(nil, `{"kind":"report-log","payload":{%q:%q}}`, name, secret), false); err != nil {
			panic(err)
		}
	}
}

// Hunts reports whether something is looked for that a path has found.
func (r *redactor) Hunts() bool { return r.hunted > 0 }

// Decided is the place up to which it is clear what is secret.
func (s *redactStream) Decided() int { return s.decided }

// Begin has a run begin with a call, in which a path finds secrets, and gives what was known of
// its conversation before.
func (c *Conversations) Begin(first *adk.Crossing, secrets ...string) (known []string) {
	of := c.begun(first)
	if of == nil {
		return nil
	}
	for _, one := range of.Keys() {
		known = append(known, one.secret)
	}
	for _, secret := range secrets {
		of.Add(found{"card", secret}, struct{}{})
	}
	return known
}

// What the tests of conversations fill.
const (
	MostConversations = mostConversations
	MostSecrets       = mostSecrets
)
