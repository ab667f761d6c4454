package replay

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// If no goroutine can continue, the replay ends and reports who waits for what, even if the engine
// is wrong about the strand that a goroutine belongs to.
func TestNobodyGoesOn(t *testing.T) {
	p := newPlayer(&linesSource{[]trace.Line{
		{Crossing: adk.Crossing{Seq: 1, Kind: adk.KindNow, Strand: 1}},
		{Crossing: adk.Crossing{Seq: 2, Kind: adk.KindNow, Strand: 2}},
	}}, wire.Comparer{Sentinels: wire.OnlyCommon})
	p.cancel = func(_, _ error) {}
	p.note(&adk.Crossing{Kind: adk.KindFork, ID: 1})
	p.note(&adk.Crossing{Kind: adk.KindFork, ID: 2})
	p.Park(0, func() bool { return false })
	ended := make(chan bool)
	go func() { // the goroutine of strand 1, under another number
		p.Begin(adk.Step{Kind: adk.KindNow, Strand: 0})
		ended <- true
	}()
	p.Begin(adk.Step{Kind: adk.KindNow, Strand: 2})
	<-ended
	require.NotNil(t, p.found)
	assert.Equal(t, Missing, p.found.Class)
	assert.Equal(t, []string{"strand 0 inside the engine", "strand 0 for a crossing of its own", "strand 2 for a crossing of its own"}, p.found.Waiting)
	assert.Contains(t, p.found.String(), "nobody goes on: strand 0 inside the engine, ")
}
