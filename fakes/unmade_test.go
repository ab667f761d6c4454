package fakes_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// RUN-12: NewStorage refuses a record that no constructor made.
func TestStorageRefusesUnmadeSeeds(t *testing.T) {
	for _, seed := range []adk.Record{nil, &adk.Message{}, (*adk.ToolCall)(nil), &adk.Tool{}, struct{ *adk.Message }{}} {
		assert.Panics(t, func() { fakes.NewStorage(seed) }, "%T", seed)
	}
}
