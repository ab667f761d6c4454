package turn_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
	"github.com/adkreplay/adkreplay/property/turn"
)

// A schedule that is written and parsed again is the same.
func TestScheduleRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s turn.Schedule
		at := 0
		for _, k := range rapid.SliceOfN(rapid.SampledFrom(turn.FaultKinds()), 0, 4).Draw(t, "kinds") {
			at += rapid.IntRange(1, 50).Draw(t, "gap")
			f := turn.Fault{Kind: k, At: at}
			if k.Repeats() {
				f.Times = rapid.SampledFrom([]int{0, 1, 3, turn.EachTime}).Draw(t, "times")
			}
			if k.OfOne() {
				f.Member = rapid.SampledFrom([]string{"", "customer", "body.user", "id/", "a:"}).Draw(t, "member")
			}
			s.Faults = append(s.Faults, f)
		}
		for n := range rapid.IntRange(0, 3).Draw(t, "without") {
			s.Without = append(s.Without, 2*n+1)
		}
		at = 0
		for _, strand := range rapid.SliceOfN(rapid.IntRange(0, 9), 0, 4).Draw(t, "strands") {
			at += rapid.IntRange(1, 9).Draw(t, "gap")
			s.Order = append(s.Order, turn.Decision{Choice: at, Strand: strand})
		}
		read, err := turn.ParseSchedule(s.String())
		require.NoError(t, err)
		assert.Equal(t, s, read)
		assert.Equal(t, s, turn.MustSchedule(s.String()))
		text, err := json.Marshal(s)
		require.NoError(t, err)
		var again turn.Schedule
		require.NoError(t, json.Unmarshal(text, &again))
		assert.Equal(t, s, again)
	})
}

func TestScheduleText(t *testing.T) {
	s := turn.Schedule{
		Faults: []turn.Fault{{Kind: turn.Cancel, At: 7}, {Kind: turn.Panic, At: 12}},
		Order:  []turn.Decision{{Choice: 3, Strand: 2}},
	}
	assert.Equal(t, "cancel@7,panic@12,order@3=2", s.String())
	assert.Equal(t, "undisturbed", turn.Schedule{}.String())
	for text, f := range map[string]turn.Fault{
		"flaky@13*3":         {Kind: turn.Flaky, At: 13, Times: 3},
		"flaky@13*3-each":    {Kind: turn.Flaky, At: 13, Times: 3, Each: true},
		"ask-429@5*all":      {Kind: turn.AskBusy, At: 5, Times: turn.EachTime},
		"down-one@4=body.id": {Kind: turn.DownOne, At: 4, Member: "body.id"},
	} {
		assert.Equal(t, text, f.String())
		assert.Equal(t, []turn.Fault{f}, turn.MustSchedule(text).Faults)
	}
}

func TestParseScheduleRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                    `schedule "": "": want a kind of fault and the number of a crossing, as in cancel@7, or order@3=2`,
		"cancel":              `schedule "cancel": "cancel": want a kind of fault and the number of a crossing, as in cancel@7, or order@3=2`,
		"cancl@7":             `there is no kind of fault "cancl": there are cancel, cancel-after, deadline, `,
		"@7":                  `there is no kind of fault ""`,
		"cancel@07":           `"cancel@07": want the number of a crossing after @`,
		"cancel@0":            `"cancel@0": want the number of a crossing after @`,
		"panic@12,cancel@7":   `"cancel@7" stands behind 12: faults are in the order of their crossings, each crossing once`,
		"cancel@7,panic@7":    `"panic@7" stands behind 7: faults are in the order of their crossings, each crossing once`,
		"cancel@7*2":          `"cancel@7*2": want how often after *, or all, and a kind that can be repeated before it`,
		"flaky@7*0":           `"flaky@7*0": want how often after *, or all, and a kind that can be repeated before it`,
		"flaky@7*":            `"flaky@7*": want how often after *`,
		"flaky@7*-each":       `"flaky@7*-each": want how often after *`,
		"flaky@7*all-each":    `"flaky@7*all-each": want how often after *`,
		"ask-429@7*2-each":    `"ask-429@7*2-each": want flaky or ask-refused before what happens to each`,
		"flaky@7=a":           `"flaky@7=a": want the path of a member after =, and down-one or ask-down-one before it`,
		"down-one@7=":         `"down-one@7=": want the path of a member after =`,
		"without@0":           `"without@0": want the number of an answer after @`,
		"without@2,without@2": `"without@2" stands behind 2: answers are in their order, each once`,
		"order@1":             `"order@1": want the number of a strand after =`,
		"order@x=1":           `"order@x=1": want the number of a choice after @`,
		"order@2=1,order@1=1": `"order@1=1" stands behind choice 2: choices are in their order, each once`,
	} {
		_, err := turn.ParseSchedule(text)
		assert.ErrorContains(t, err, want)
	}
	assert.Panics(t, func() { turn.MustSchedule("cancel") })
}
