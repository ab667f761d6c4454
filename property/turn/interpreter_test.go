package turn_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// GAT-5: if two strands wait for the same gate, the wait that opens the gate decides how it is settled,
// in whichever order the strands come.
func TestAGateIsSettledAsItsOwnWaitPlanned(t *testing.T) {
	t.Parallel()
	asks := func(strand, settler string) turn.Op {
		return turn.Op{Kind: "fork", Name: strand, Do: &turn.Body{Ops: []turn.Op{{Kind: "wait-for", Name: "g", Text: "may I?",
			Settle: []turn.Settlement{{By: settler, Result: adk.GateResolved}}}}}}
	}
	settlers := []string{"", "ann", "bob"} // by strand
	first := map[int]bool{}
	for choice := 1; choice <= 6; choice++ {
		for strand := range settlers {
			one := turn.Turn{Prompt: "p", Order: []turn.Decision{{Choice: choice, Strand: strand}, {Choice: choice + 1, Strand: 1}},
				Scripts: []turn.Script{{Seam: "executor/model#0", Body: turn.Body{Ops: []turn.Op{asks("s", "ann"), asks("t", "bob"), {Kind: "ack"}}}}}}
			recorded, _, err := one.Trace()
			require.NoError(t, err)
			settled := 0
			for _, x := range tracetest.Must(trace.Read(bytes.NewReader(recorded))).Lines() {
				if x.Kind == adk.KindSettle {
					settled++
					first[x.Strand] = first[x.Strand] || settled == 1
					assert.Equal(t, settlers[x.Strand], x.Key, "%d: %s", x.Strand, one.GoString())
				}
			}
			assert.NotZero(t, settled)
		}
	}
	assert.Len(t, first, 2, "either came first")
}
