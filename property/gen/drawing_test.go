package gen

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/internal/draws"
	"github.com/adkreplay/adkreplay/internal/turntest"
	"github.com/adkreplay/adkreplay/property/turn"
)

// RUN-11: drawn strands use only their own handles, wherever they call a
// dispatch.
func TestDrawnStrandsUseTheirOwnHandles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &drawing{t: t, Knobs: Knobs{}.withDefaults(), turnSeams: []string{"turn-output/a"}}
		var body turn.Body
		for range 20 {
			body.Ops = append(body.Ops, d.op("fork", 0))
		}
		drawn := turn.Turn{TurnOutput: []string{"a"}, Scripts: []turn.Script{{Seam: "turn-output/a", Body: body}}}
		if turntest.UsesOthersHandles(drawn) {
			t.Fatalf("a strand uses the handle of another: %#v", drawn)
		}
	})
}

// An event with a chance of one in n does occur, and does not always occur. A chance below one is an error.
func TestOnceInAnyNumberOfTimes(t *testing.T) {
	defer draws.Checks(15)() // each draws twenty, and the chance of one in 33 has to come up
	for n := 1; n <= 33; n++ {
		done, left := false, n == 1
		rapid.Check(t, func(t *rapid.T) {
			d := &drawing{t: t}
			for range 20 {
				once := d.once(n)
				done, left = done || once, left || !once
			}
		})
		assert.True(t, done && left, n)
	}
	for _, n := range []int{0, -1} {
		assert.PanicsWithValue(t, fmt.Sprintf("gen: once in %d times: want 1 or more", n), func() { new(drawing).once(n) })
	}
}
