// Package varying finds out whether live code does the same each time it is run: what does not
// cannot be accepted, since the next check would find another difference.
package varying

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Err is why a new trace is not accepted which holds what is another each time.
var Err = errors.New("it is not the same each time it is run")

// Advice says what is done about that.
const Advice = "take the time from the context's Now and ids from its NewID; draw what is random, as a jitter, with adk.Ask, " +
	"or from a source that the test fixes; look for the order of a map, for goroutines that no Fork started, and for what two " +
	"runs share, of which the first used something up"

// Is reports whether an error is Err, or says what it says: of what is kept for a
// review the text alone is left.
func Is(err error) bool {
	return err != nil && strings.Contains(err.Error(), Err.Error())
}

// Rerecord is replay.Rerecord, and then holds the new trace against live code once more. That is
// made afresh, since what differs may be made there: a prompt with the time in it is the same in
// all runs that are given it. Where code must not be run again unasked (replay.Live.Twice), or
// writes, only what a run is given is looked at. What has the time of the machine in it is another
// each time, though two runs may come within one second: that is told from the trace alone, whatever
// is run again.
func Rerecord(ctx context.Context, recorded io.Reader, made *bytes.Buffer, afresh func() (replay.Live, error), reading trace.Options) (*replay.Report, error) {
	live, err := afresh()
	if err != nil {
		return nil, err
	}
	second := live.Twice && !live.Writes
	live.Twice = false // it is the one below
	var was bytes.Buffer
	while := span{from: time.Now()}
	if len(live.Seams) == 0 { // what is scripted has no clock, and replay.Rerecord has looked at it
		return replay.Rerecord(ctx, recorded, made, live, reading)
	}
	report, err := replay.Rerecord(ctx, io.TeeReader(recorded, &was), made, live, reading)
	if err != nil {
		return nil, err
	}
	while.to = time.Now()
	what, err := wallTime(&was, bytes.NewReader(made.Bytes()), while, reading)
	if err != nil {
		return nil, fmt.Errorf("replay: the new trace cannot be read: %w", err)
	}
	if what != "" {
		return nil, fmt.Errorf("replay: %w: %s", Err, what)
	}
	if live, err = afresh(); err != nil {
		return nil, err
	}
	if !second {
		live.Seams = given(live)
	}
	if len(live.Seams) == 0 {
		return report, nil
	}
	again, err := replay.Verify(ctx, bytes.NewReader(made.Bytes()), live, reading)
	if err != nil {
		return nil, fmt.Errorf("replay: the new trace cannot be verified: %w", err)
	}
	if again.Divergence != nil {
		what, _, _ := strings.Cut(again.Divergence.String(), "\n")
		return nil, fmt.Errorf("replay: %w: the new trace would diverge too: %s", Err, what)
	}
	return report, nil
}

// given are the live seams of which no code runs in a turn.
func given(live replay.Live) []string {
	return slices.DeleteFunc([]string{replay.Prompt, replay.Stash, replay.Tools}, func(seam string) bool { return !live.Takes(seam) })
}
