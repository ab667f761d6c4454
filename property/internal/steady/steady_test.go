package steady_test

import (
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/internal/steady"
)

// lines returns the crossings of a short run, with the test's own crossings in the middle.
func lines(own ...adk.Crossing) []adk.Crossing {
	all := append([]adk.Crossing{{Kind: adk.KindCall}}, own...)
	return append(all, adk.Crossing{Kind: adk.KindTurnEnd})
}

// DET-2: two runs part at the first crossing in which any field differs.
func TestPartAt(t *testing.T) {
	logs := func(v any) adk.Crossing { return adk.Crossing{Kind: adk.KindReportLog, Text: "again", Value: v} }
	stores := func(text string) adk.Crossing {
		return adk.Crossing{Kind: adk.KindStore, Phase: adk.Begin, Record: adk.NewTokenizable(text)}
	}
	fails := func(port int) adk.Crossing {
		return adk.Crossing{Kind: adk.KindSleep, Phase: adk.Done, Err: &net.OpError{Op: "dial", Net: "tcp",
			Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}, Err: errors.New("refused")}}
	}
	for name, c := range map[string]struct {
		first, second []adk.Crossing
		at            int
		bySystem      bool
	}{
		"the same":          {lines(logs(1), stores("a")), lines(logs(1), stores("a")), -1, false},
		"another value":     {lines(logs(1)), lines(logs(2)), 1, false},
		"another record":    {lines(stores("a")), lines(stores("b")), 1, false},
		"the second ends":   {lines(logs(1), logs(1)), lines(logs(1), logs(1))[:2], 2, false},
		"the first ends":    {lines(logs(1))[:2], lines(logs(1)), 2, false},
		"the system's port": {lines(fails(40001)), lines(fails(40002)), -1, true},
		"one that is told":  {lines(stores("http://127.0.0.1:40001/")), lines(stores("http://127.0.0.1:40002/")), -1, true},
		"one of others":     {lines(stores("http://203.0.113.9:40001/")), lines(stores("http://203.0.113.9:40002/")), 1, false},
	} {
		at, bySystem := steady.PartAt(c.first, c.second)
		assert.Equal(t, c.at, at, name)
		assert.Equal(t, c.bySystem, bySystem, name)
	}
}

// The text about two runs that part has both lines and each differing field, or says which run ended.
func TestBothSides(t *testing.T) {
	logs := func(v any) adk.Crossing {
		return adk.Crossing{Kind: adk.KindReportLog, Key: "info", Text: "rolled", Value: v}
	}
	first, second := lines(logs(1)), lines(logs(2))
	assert.Equal(t, "\n- report-log info \"rolled\" 1\n+ report-log info \"rolled\" 2\n  payload: expected 1, got 2", steady.BothSides(first, second, 1))
	assert.Equal(t, "\n- report-log info \"rolled\" 1\n+ (nothing more)", steady.BothSides(first, second[:1], 1))
}
