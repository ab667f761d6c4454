package model

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
)

// Every field of a payload is compared with the model, or is left out on purpose.
func TestPayloadsHaveWords(t *testing.T) {
	for _, kind := range adk.Kinds() {
		if payload := kind.Payload(); payload != nil {
			assert.NotPanics(t, func() { eventLine(&adk.Crossing{Kind: kind, Payload: payload}) }, "%s", kind)
		}
	}
	of := func(payload any) string { return eventLine(&adk.Crossing{Kind: adk.KindLogEvent, Payload: payload}) }
	assert.Equal(t, `log Names=["a" "b"] Counts=[1 2] None=[]`, of(struct {
		Names  []string
		Counts []int
		None   []bool
	}{Names: []string{"a", "b"}, Counts: []int{1, 2}}))
	assert.PanicsWithValue(t, "model: there are no words for Share, a float64: fieldText needs a case for it, or isLeftOut",
		func() { of(struct{ Share float64 }{}) })
}
