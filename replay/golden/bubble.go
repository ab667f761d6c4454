package golden

import (
	"bytes"
	"context"
	"os"
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
// there, nor may sockets: the world's answers come from the trace. The options say how it is
// read.
func InBubble(t *testing.T, file string, live func() replay.Live, options ...trace.Options) {
	t.Helper()
	Claim(t, file)
	recorded, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("golden: %v", err)
		return
	}
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
