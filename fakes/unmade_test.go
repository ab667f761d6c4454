package fakes_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// RUN-12: what no constructor made is no seed of a storage.
func TestStorageRefusesUnmadeSeeds(t *testing.T) {
	for _, seed := range []adk.Record{nil, &adk.Message{}, (*adk.ToolCall)(nil), &adk.Tool{}, struct{ *adk.Message }{}} {
		assert.Panics(t, func() { fakes.NewStorage(seed) }, "%T", seed)
	}
}
