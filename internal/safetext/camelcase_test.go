package safetext_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

// What is told in words is a name in Go too.
func TestCamelCase(t *testing.T) {
	for text, want := range map[string]string{
		"the check given": "TheCheckGiven", "order@3=2,error@1": "Order32Error1", "über alles": "ÜberAlles", "—": "", "a": "A",
	} {
		assert.Equal(t, want, safetext.CamelCase(text))
	}
}
