package property_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// What a pattern of secrets matches is found, although few texts are held against it: those
// that have its words. A request of many words is held against none.
func TestSecretsAreKnownByTheirWords(t *testing.T) {
	assert.Zero(t, property.TriedOn(strings.Repeat(`{"Model":"small","Prompt":"Is it cold? It is 4 °C in Oslo."}`, 100)))
	for _, p := range redact.UsualSecrets().Patterns {
		matches := regexp.MustCompile(p.Expr)
		t.Run(p.Kind, rapid.MakeCheck(func(t *rapid.T) {
			secret := rapid.StringMatching(strings.ReplaceAll(p.Expr, `\b`, "")).Draw(t, "secret")
			require.True(t, matches.MatchString(secret))
			if p.Kind == "bearer" || p.Kind == "assignment" { // words behind a name are none
				secret = strings.TrimRight(secret, "=") + "0"
			}
			if matches.MatchString(secret) {
				assert.True(t, property.LooksSecret("so "+secret+" so"), "%q", secret)
			}
		}))
	}
}
