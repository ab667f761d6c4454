package columns

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
)

// If there are too many strands for a column each, they share a column, so that the text still fits.
func TestManyStrandsBesideEachOther(t *testing.T) {
	rows := []row{{x: &adk.Crossing{Kind: adk.KindFork, Name: strings.Repeat("wide ", 20)}}, {x: &adk.Crossing{Kind: adk.KindAck, Strand: 4}}, {}}
	assert.Equal(t, "strand 0:  fork "+strings.Repeat("wide ", 10)+"w…\nstrand 4:  ack\n", columns(rows, []int{0, 1, 2, 3, 4}, 68))
	for line := range strings.SplitSeq(columns(rows, []int{0, 1, 2, 4}, 68), "\n") {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 68)
	}
}

// If there are too many operations, only those where the orders part and those around the important crossings
// are shown, with the number of operations left out between and after them.
func TestWhatIsLeftOutOfStrands(t *testing.T) {
	run := func(first, second int) (all []adk.Crossing) {
		for i := range 40 {
			all = append(all, adk.Crossing{Seq: i + 1, Kind: adk.KindAsk, Phase: adk.Begin, Name: fmt.Sprint("n", i+1), Strand: 1 + i%2})
		}
		all[2].Strand, all[3].Strand = first, second
		return all
	}
	lines := func(around ...int) []string {
		return strings.Split(strings.TrimSpace(Of(run(1, 2), run(2, 1), 72, around...)), "\n")
	}
	shown := lines()
	assert.Len(t, shown, 1+strandRows+1)
	assert.Equal(t, "… 24 operations", shown[1+strandRows], "all of the beginning")

	shown = lines(30)
	assert.Len(t, shown, 1+strandRows+2)
	text := strings.Join(shown, "\n")
	for _, one := range []string{"ask n1\n", "ask n3\n", "ask n5\n", "ask n28\n", "ask n30\n", "ask n32\n"} {
		assert.Contains(t, text, one)
	}
	assert.NotContains(t, text, "ask n20")
	assert.Regexp(t, `ask n\d+\n… \d+ operations\n +ask n\d+`, text)
	assert.Contains(t, strings.Join(lines(99), "\n"), "ask n40", "what is missing is missing at the end")
	for _, line := range []string{"strand 1:  ask n1\n", "… 24 operations\n"} {
		assert.Contains(t, Of(run(1, 2), run(2, 1), 2*leastColumn), line)
	}
}
