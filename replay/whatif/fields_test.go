package whatif_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/whatif"
)

// neverSet are the inputs that no what-if can set, with the reason that is given.
var neverSet = map[string]string{
	"call.seams":      "says which",
	"add.of":          "says which",
	"remove.of":       "says which",
	"fetch.of":        "says which",
	"refresh.of":      "says which",
	"store.of":        "says which",
	"mutate.of":       "says which",
	"delete.of":       "says which",
	"on-ack.name":     "says which",
	"off-ack.handler": "says which",
	"fork.name":       "says which",
	"wait.name":       "says which",
	"wait-for.gate":   "says which",
	"settle.gate":     "says which",
	"return.records":  "gives no", // this seam returns none
	"return.result":   "gives no",
	"cancel.by":       "a crossing of its own",
	"cancel.cause":    "a crossing of its own",
	"cancel.err":      "a crossing of its own",
	"settle.by":       "the engine settled",
	"settle.result":   "the engine settled",
	"settle.value":    "the engine settled",
	"settle.err":      "the engine settled",
	"call.ended":      "gives no",
}

// DET-4: every field of a crossing that comes from user code or from outside can be set by a
// what-if, or is refused with a reason. A field that comes from the engine can never be set.
func TestEveryFieldIsSetOrRefused(t *testing.T) {
	known := wire.Comparer{Sentinels: wire.OnlyCommon}
	refused := map[string]bool{}
	tracetest.EachUse(t, func(t *testing.T, x adk.Crossing, use adk.FieldUse) {
		field := x.Kind.String() + "." + use.Label
		before, after := tracetest.Saying(t, x.Kind, use.Field, "first"), tracetest.Saying(t, x.Kind, use.Field, "second")
		switch field {
		case "call.records":
			x.Seam = adk.Seam{Label: adk.LabelRun} // the engine calls the other seams
		case "open-media.bytes":
			before, after = before[:1], after[:1]
			before[0].Value, after[0].Value = []byte("first"), []byte("second")
		}
		for i := range before {
			was, want := tracetest.With(x, use.Field, before[i].Value), tracetest.With(x, use.Field, after[i].Value)
			got, err := whatif.Put(t, tracetest.WriteTrace(t, was), "1."+use.Label, after[i].Value)
			reason, never := neverSet[field]
			switch {
			case !use.Input:
				require.ErrorIs(t, err, whatif.ErrOverride)
				assert.ErrorContains(t, err, "the engine's own")
			case never:
				require.ErrorIs(t, err, whatif.ErrOverride, field)
				assert.ErrorContains(t, err, reason, field)
				refused[field] = true
			case use.Field == adk.FieldJSON && before[i].Where == "broken": // a body that is no JSON, which an override cannot express
				require.ErrorContains(t, err, "the value is not JSON", field)
			default:
				require.NoError(t, err, "%s %s", field, before[i].Where)
				assert.True(t, known.Same(use.Field, &want, &got), "%s %s: %s", field, before[i].Where, known.Text(use.Field, &got))
			}
		}
	})
	for field := range neverSet {
		assert.True(t, refused[field], "%s is set now", field)
	}
}
