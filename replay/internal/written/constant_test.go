package written_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/replay/internal/written"
)

// A number or a duration is located at the constant that the given line uses.
func TestConstant(t *testing.T) {
	s := module("limits.go", `package agent

import "time"

const (
	pause   = 2 * time.Second
	most, _ = (1 + 2), 7
	share   = 0.25
	below   = -4
	again   = 3
	typed   = time.Duration(5)
	text    = "3"
)

var late = time.Minute
`, "tool.go", `package agent

func ask() {
	sleep(pause)
	take(most)
	take(share, below)
	take(again, most)
	take(typed, text, late, x.most)
	take(other)
}
`, "other/limits.go", "package other\n\nconst other = 3\n")
	for _, c := range []struct {
		line int
		now  string
		want string
	}{
		{4, `"2s"`, "limits.go:6 (agent.pause)"}, {4, `"3s"`, ""}, {4, "2000000000", ""}, {5, "3", "limits.go:7 (agent.most)"}, {5, `"3"`, ""}, {5, "7", ""},
		{6, "0.25", "limits.go:8 (agent.share)"}, {6, "-4", "limits.go:9 (agent.below)"}, {7, "3", ""}, {8, `"5ns"`, ""}, {8, `"1m0s"`, ""}, {8, "3", ""},
		{9, "3", ""}, {99, "3", ""},
	} {
		used := fmt.Sprintf("tool.go:%d (agent.ask)", c.line)
		assert.Equal(t, c.want, s.Constant(used, c.now).String(), "%d: %s", c.line, c.now)
		assert.Equal(t, c.want, s.Constant("asked at "+used, c.now).String(), "whatever stands before the place")
	}
	for _, used := range []string{"", "agent.ask", "gone.go:4 (agent.ask)", "../limits.go:6 (agent.pause)"} {
		assert.Empty(t, s.Constant(used, `"2s"`).String(), used)
	}
}

// The constant is located only for fields that are inputs.
func TestConstantOfFields(t *testing.T) {
	taken := compare.FieldDiff{Field: "nights", Want: "2", Got: "41", Of: adk.FieldArgs, Input: true}
	const here = "replay/internal/written/constant_test.go:70 (written_test.takes)"
	assert.Equal(t, "replay/internal/written/constant_test.go:74 (written_test.nightsOfTests)", written.Constant([]compare.FieldDiff{taken}, here))
	taken.Input = false
	assert.Empty(t, written.Constant([]compare.FieldDiff{taken}, here))
	assert.Empty(t, written.Constant(nil, here))
}

func takes() int { return nightsOfTests }

// A number that occurs nowhere else here.
const (
	nightsOfTests = 41
)

var _ = takes
