package replay

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// spoiling is a source that counts the lines that it allocates, and overwrites those that are
// given back: whoever reads such a line panics, as its kind does not exist.
type spoiling struct {
	*readerSource
	made, spoilt int
}

func (s *spoiling) next() (*trace.Line, error) {
	if len(s.spares) == 0 {
		s.made++
	}
	return s.readerSource.next()
}

func (s *spoiling) spare(line *trace.Line) {
	s.spoilt++
	*line = trace.Line{Crossing: adk.Crossing{Kind: 255, Seq: -1}}
	s.readerSource.spare(line)
}

// playSpoiling verifies a scripted trace, and overwrites its lines once they are given back.
func playSpoiling(t *testing.T, data []byte) (*Report, *spoiling) {
	t.Helper()
	r, err := trace.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	known, err := wire.NewSentinels(nil, nil)
	require.NoError(t, err)
	src := &spoiling{readerSource: &readerSource{r: r}}
	report, err := play(t.Context(), r.Header(), src, known)
	require.NoError(t, err)
	return report, src
}

// A line that was given back is not read any more, neither if everything is as recorded nor for
// the report of a difference.
func TestForgottenLinesAreNotLookedAt(t *testing.T) {
	spoilt := 0
	for _, f := range tracetest.AllFixtures(t) {
		report, src := playSpoiling(t, f.Bytes)
		assert.Nil(t, report.Divergence, f.Name)
		spoilt += src.spoilt

		recorded, err := trace.Read(bytes.NewReader(f.Bytes))
		require.NoError(t, err)
		recorded.Lines()[len(recorded.Lines())*2/3].Op += 1000
		var changed bytes.Buffer
		_, err = recorded.WriteTo(&changed)
		require.NoError(t, err)
		known, err := wire.NewSentinels(nil, nil)
		require.NoError(t, err)
		want, err := play(t.Context(), recorded.Header, &linesSource{recorded.Lines()}, known)
		require.NoError(t, err)
		require.NotNil(t, want.Divergence, f.Name)
		report, _ = playSpoiling(t, changed.Bytes())
		assert.Equal(t, want.String(), report.String(), f.Name)
	}
	assert.Greater(t, spoilt, 100)
}

// However long a stream is, only a few of its lines are in memory at a time.
func TestAStreamIsHeldInFewLines(t *testing.T) {
	var recorded bytes.Buffer
	runner, err := adk.NewRunner(adk.Config{Storage: fakes.NoOpStorage(), Probe: Record(&recorded),
		Executor: adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for i := range 1000 {
				if _, err := h.ReportMessage("m1", "some words ", i == 999); err != nil {
					return err
				}
			}
			return dc.Ack()
		}}})
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "be brief"}))

	report, src := playSpoiling(t, recorded.Bytes())
	assert.Nil(t, report.Divergence)
	assert.Greater(t, report.Crossings, 2000)
	assert.Less(t, src.made, 30)
}

// A line is not reused while a goroutine performs it, however far the cursor is: other strands may
// continue before that goroutine compares the answer with the line.
func TestALineIsKeptWhileItIsPerformed(t *testing.T) {
	lines := make([]trace.Line, 3*linesBefore)
	for i := range lines {
		lines[i].Crossing = adk.Crossing{Seq: i + 1, Kind: adk.KindReportMessage, Name: "m1"}
	}
	back := &keepsSpares{linesSource: linesSource{lines}}
	p := newPlayer(back, wire.Comparer{})
	p.Mu.Lock()
	defer p.Mu.Unlock()
	first := p.head()
	p.performing(first, 1)
	for range linesBefore + 1 {
		p.advance()
	}
	assert.Empty(t, back.spares)
	second := p.head()
	p.performing(second, 1)
	p.advance()
	p.performing(second, -1)
	for range linesBefore {
		p.advance()
	}
	assert.Contains(t, back.spares, &lines[linesBefore+1])
	assert.NotContains(t, back.spares, &lines[0])
}

// keepsSpares keeps the lines that it is given back.
type keepsSpares struct {
	linesSource
	spares []*trace.Line
}

func (s *keepsSpares) spare(line *trace.Line) { s.spares = append(s.spares, line) }
