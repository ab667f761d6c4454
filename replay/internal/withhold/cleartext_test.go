package withhold

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A text in a recording is found however often the recording was searched before, and a text that
// spans two of its texts is not.
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
