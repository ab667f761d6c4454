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

// InBubble replays one trace with live seams in a testing/synctest bubble, and fails the test if
// the turn differs. In a bubble, live code sees artificial time: time.Now starts at the time of the
// recorded turn, and two hours of time.Sleep or of a client's back-off take no time. If all
// goroutines of the bubble wait for each other, the test fails and shows where each of them waits.
// replay.Verify, in contrast, leaves the time of live code as it is.
//
// live must make everything inside the bubble, and afresh, because InBubble calls it again if live
// code is run a second time. The live code must not use anything made outside, such as a pool of
// connections, nor sockets: answers from outside come from the trace. No goroutine may outlive the
// turn, and InBubble closes nothing: sql.Open, for example, starts a goroutine that runs until
// Close, and code outside the bubble must not close it. Code whose asks are answered from the trace
// needs no pool: give it none (DB: nil). The options say how the trace is read.
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

// verifyInBubble is the part of InBubble that runs inside the bubble.
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
