package redacting

import (
	"fmt"

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

// Decided is the place up to which it is clear what is secret.
func (s *redactStream) Decided() int { return s.decided }
