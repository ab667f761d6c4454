package safetext_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

// A name that is written in words is also a valid name in Go.
func TestCamelCase(t *testing.T) {
	for text, want := range map[string]string{
		"the check given": "TheCheckGiven", "order@3=2,error@1": "Order32Error1", "über alles": "ÜberAlles", "—": "", "a": "A",
	} {
		assert.Equal(t, want, safetext.CamelCase(text))
	}
}
