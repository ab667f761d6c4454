package gen

import (
	"testing"

	"pgregory.net/rapid"

	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
	"github.com/adkreplay/adkreplay/internal/turntest"
	"github.com/adkreplay/adkreplay/property/turn"
)

// RUN-11: strands that are drawn keep to their own handles, wherever they call a
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
