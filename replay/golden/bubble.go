package golden

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// InBubble plays one trace again with live seams in a testing/synctest bubble, and fails
// the test where that is another turn. In a bubble the time of live code is made up:
// time.Now begins where the recorded turn did, two hours of time.Sleep or of a client's
// back-off take none, and where all of its goroutines wait for each other the test fails
// and says where each of them stands. replay.Verify leaves time in live code as it is.
//
// live makes everything inside the bubble, and fresh, as it is called again where live code
// is run a second time. What was made outside, a pool of connections say, must not be used
// there, nor may sockets: the world's answers come from the trace. Nor must anything outlive the
// turn in there, and nobody closes it: sql.Open has a goroutine until Close, and no Close from
// outside may end it. Code whose asks are answered needs no pool: give it none (DB: nil). The
// options say how the trace is read.
func InBubble(t *testing.T, file string, live func() replay.Live, options ...trace.Options) {
	t.Helper()
	Claim(t, file)
	recorded, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("golden: %v", err)
		return
	}
	defer func() {
		t.Helper()
		switch left := recover(); {
		case left == nil:
		case strings.Contains(fmt.Sprint(left), "main bubble goroutine has exited"):
			t.Errorf("golden: the turn is over, and goroutines that began in the bubble are left, as one of sql.Open is until Close: " +
				"what live makes must begin none that outlives the turn. Code whose asks are answered from the trace needs no pool of connections (DB: nil)")
		default:
			panic(left)
		}
	}()
	synctest.Test(t, func(t *testing.T) { verifyInBubble(t, recorded, live, options) })
}

// verifyInBubble is InBubble inside.
func verifyInBubble(t TB, recorded []byte, live func() replay.Live, options []trace.Options) {
	t.Helper()
	read, err := trace.Read(bytes.NewReader(recorded), options...)
	if err == nil && read.Len() > 0 {
		time.Sleep(time.Until(read.Lines()[0].At))
	}
	chosen := live()
	if chosen.Again == nil {
		chosen.Again = live
	}
	report, err := replay.Verify(context.Background(), bytes.NewReader(recorded), chosen, options...)
	switch {
	case err != nil:
		t.Errorf("golden: %v", safetext.WithoutPackage(err))
	case report.Divergence != nil:
		t.Errorf("golden: %s", report)
	case len(report.Live) == 0 || len(report.Unreached) == len(report.Live):
		t.Errorf("golden: no live code ran: %s", report)
	}
}
