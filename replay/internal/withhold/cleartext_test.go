package withhold

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What a recording says is found in it however often it was asked before, and nothing that
// goes across two of its texts.
func TestWhatIsClearIsFoundWhenAskedMuch(t *testing.T) {
	var clear clearText
	for n := range 100 {
		clear.add(fmt.Sprintf("<text %d>", n))
	}
	for n := range 2 * askedMuch {
		assert.Equal(t, n < 100, clear.has(fmt.Sprintf("text %d>", n)))
		assert.False(t, clear.has("><text"))
	}
	assert.NotNil(t, clear.index)
}
