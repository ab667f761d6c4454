// Package varying finds out whether live code does the same each time it is run. If it does not,
// its trace cannot be accepted, since the next check would find another difference.
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

// Err is the reason why a new trace is not accepted if it differs each time.
var Err = errors.New("it is not the same each time it is run")

// Advice says what to do about that.
const Advice = "take the time from the context's Now and ids from its NewID; draw what is random, as a jitter, with adk.Ask, " +
	"or from a source that the test fixes; look for the order of a map, for goroutines that no Fork started, and for what two " +
	"runs share, of which the first used something up"

// Is reports whether an error is Err, or has its text: what is kept for a review has only the text.
func Is(err error) bool {
	return err != nil && strings.Contains(err.Error(), Err.Error())
}

// Rerecord is replay.Rerecord, and then verifies the new trace against live code once more. afresh
// makes that live code again, since it may be what differs: a prompt with the time in it is the
// same in all runs that are given it. Where code may write, or must not run again unasked
// (replay.Live.Twice), only what a run is given is checked. A time of the machine's clock differs
// each time, even if two runs come within one second; it is found in the trace alone, whatever is
// run again.
func Rerecord(ctx context.Context, recorded io.Reader, made *bytes.Buffer, afresh func() (replay.Live, error), reading trace.Options) (*replay.Report, error) {
	live, err := afresh()
	if err != nil {
		return nil, err
	}
	second := live.Twice && !live.Writes
	live.Twice = false // the second run is the one below
	var was bytes.Buffer
	while := span{from: time.Now()}
	if len(live.Seams) == 0 { // scripted code has no clock, and replay.Rerecord has verified it
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

// given returns the live seams that run no code in a turn.
func given(live replay.Live) []string {
	return slices.DeleteFunc([]string{replay.Prompt, replay.Stash, replay.Tools}, func(seam string) bool { return !live.Takes(seam) })
}
