package columns

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
)

// Strands that are too many for a column each have one together, which fits as well.
func TestManyStrandsBesideEachOther(t *testing.T) {
	rows := []*adk.Crossing{{Kind: adk.KindFork, Name: strings.Repeat("wide ", 20)}, {Kind: adk.KindAck, Strand: 4}}
	assert.Equal(t, "strand 0:  fork "+strings.Repeat("wide ", 10)+"w…\nstrand 4:  ack\n", columns(rows, []int{0, 1, 2, 3, 4}, 68))
	for line := range strings.SplitSeq(columns(rows, []int{0, 1, 2, 4}, 68), "\n") {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 68)
	}
}
