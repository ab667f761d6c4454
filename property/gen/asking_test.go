package gen_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/draws"
	"github.com/adkreplay/adkreplay/internal/turntest"
	"github.com/adkreplay/adkreplay/property/gen"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay"
)

// WLD-6: if live code of a drawn turn asks, its recording answers, as a whole or in pieces, with
// success or with an error, and nothing diverges.
func TestTurnsAskTheirRecordings(t *testing.T) {
	asking := rapid.Custom(func(t *rapid.T) turn.Turn {
		return onlyExecutor(gen.Turns(gen.Knobs{Legal: true, NoGoexit: true, OneStrand: true, Middlewares: -1}).Draw(t, "turn"))
	})
	defer draws.Checks(40)() // only some of them ask
	asked := 0
	turntest.CheckTurns(t, asking, func(one turn.Turn) string {
		trace, refused, err := one.Trace()
		if err != nil || refused != nil {
			return turntest.TextOf(err)
		}
		asked += bytes.Count(trace, []byte(`{"kind":"ask","phase":"begin"`))
		config, _ := one.Subject().Build(func(error) {})
		report, err := replay.Verify(context.Background(), bytes.NewReader(trace), replay.Live{Config: config, Seams: []string{replay.Executor}})
		if err != nil {
			return err.Error()
		}
		if report.Divergence != nil {
			return report.String()
		}
		return ""
	})
	require.Greater(t, asked, 10, "they ask")
}

// onlyExecutor returns t with only the executor's scripts, and with only those of their operations that use
// their own handle.
func onlyExecutor(t turn.Turn) turn.Turn {
	kinds := []string{turn.OpAsk, "report-message", "now", "new-id", "stash", "store", "ack"}
	t.Standalone, t.Loud, t.Cancelled, t.Order = nil, nil, nil, nil
	t.Scripts = slices.DeleteFunc(t.Scripts, func(s turn.Script) bool {
		return !strings.HasPrefix(s.Seam, adk.LabelExecutor+"/model#") || s.Occurrence > 0
	})
	for i := range t.Scripts {
		s := &t.Scripts[i]
		s.Ops = slices.DeleteFunc(s.Ops, func(op turn.Op) bool { return op.On != "" || !slices.Contains(kinds, op.Kind) })
	}
	return t
}
