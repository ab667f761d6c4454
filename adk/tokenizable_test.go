package adk

import (
	"sync"
	"testing"

	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// PRM-1: a text is counted once for each encoding, safely in several goroutines, with the result of EstimateTokens.
func TestTokenizableCountsConcurrently(t *testing.T) {
	text := Text("the same text, counted from many goroutines")
	want := map[Encoding]int{}
	names := []Encoding{EncodingClaude, "", "unknown", EncodingGPT2, EncodingR50kBase, EncodingP50kBase, EncodingP50kEdit, EncodingCL100kBase, EncodingO200kBase}
	for _, name := range names {
		want[name] = EstimateTokens(text.String(), name)
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for _, name := range names {
				assert.Equal(t, want[name], text.EstimateTokens(name), name)
			}
			assert.Equal(t, DigestOf([]byte(`"the same text, counted from many goroutines"`)), text.Digest())
		})
	}
	wg.Wait()
}

// PRM-1: counting a text a second time allocates nothing, and a text that is never counted is one
// allocation.
func TestTokenizableIsCheap(t *testing.T) {
	text := Text("counted once")
	text.EstimateTokens(EncodingClaude)
	allocs.AtMost(t, 0, 100, func() { text.EstimateTokens(EncodingClaude) }, "counting again")
	var sink *Tokenizable
	allocs.AtMost(t, 1, 100, func() { sink = Text("never counted") }, "a text")
	_ = sink
}

// PRM-1: the text is restored from each of its forms.
func TestTokenizableIsARecord(t *testing.T) {
	var record Record = NewTokenizable(`a <b> & "c"`)
	data, err := record.MarshalJSON()
	require.NoError(t, err)
	assert.Equal(t, `"a <b> & \"c\""`, string(data))
	assert.Equal(t, `a <b> & "c"`, record.Key())
	assert.Equal(t, RecordInstruction, record.RecordKind())
	assert.Equal(t, DigestOf(data), record.Digest())
	assert.Equal(t, "instruction", Text("").PlainTag())
}
