package redacting

import (
	"fmt"
	"github.com/adkreplay/adkreplay/adk"

	"github.com/adkreplay/adkreplay/internal/streamre"
)

// For the tests of streams.
const MaxHeld = maxHeld

var (
	NewRedactStream = newRedactStream
	NewRedactor     = newRedactor
)

// Redactor is for the tests of streams and secrets.
type Redactor = redactor

// SpansAlone returns the secrets in a text that stands alone.
func (r *redactor) SpansAlone(text string) []streamre.Span { return merged(r.spansAsWritten(text)) }

// Meet makes a line contain secrets under a name.
func (r *redactor) Meet(name string, secrets ...string) {
	for _, secret := range secrets {
		if _, err := r.Line(fmt.Appendf(nil, `{"kind":"report-log","payload":{%q:%q}}`, name, secret), false); err != nil {
			panic(err)
		}
	}
}

// Hunts reports whether the redactor looks for anything that a path has found.
func (r *redactor) Hunts() bool { return r.hunted > 0 }

// Decided returns the position up to which it is known what is secret.
func (s *redactStream) Decided() int { return s.decided }

// Begin begins a run with a call in which a path finds secrets. It returns the secrets that were known of the
// conversation before.
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

// The limits that the tests of conversations reach.
const (
	MostConversations = mostConversations
	MostSecrets       = mostSecrets
)
