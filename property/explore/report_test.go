package explore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// What one line of user code does wrong with each of many records is one entry, and what
// another line does is another.
func TestOneEntryForOneLine(t *testing.T) {
	s := executing("remembers", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var all []error
		for n := range 3 {
			all = append(all, dc.Memories().Store(ctx, noted(fmt.Sprint("m", n), "x")))
		}
		all = append(all, dc.Memories().Store(ctx, noted("other", "y")))
		return errors.Join(errors.Join(all...), dc.Ack())
	})
	var hints []string
	for _, h := range explored(t, s, explore.Options{Faults: []turn.FaultKind{turn.Cancel}}).Hints {
		if h.Invariant == "a turn that failed leaves no memory" {
			said, _, _ := strings.Cut(h.Text, ",")
			hints = append(hints, said)
		}
	}
	assert.Len(t, hints, 2)
	assert.Equal(t, []string{`memory "m0" was stored`, `memory "other" was stored`}, hints)
}

// A report says where in user code something crashed, also where that is the engine's code
// that was called, from the root of the module; and of what is left behind no crossing.
func TestPlacesInReports(t *testing.T) {
	t.Parallel() // it waits
	crash := explored(t, executing("has no tool", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if _, err := dc.Messages().Fetch(ctx); err != nil {
			var none *adk.Tool
			_ = none.Name()
		}
		return dc.Ack()
	}), explore.Options{Faults: []turn.FaultKind{turn.StorageBefore}})
	found := says(crash, "nil pointer")
	if assert.Len(t, found, 1, crash) {
		assert.Regexp(t, `, in adk\.\(\*Tool\)\.Name at adk/tool\.go:\d+, called by explore_test\.TestPlacesInReports\.\S+ at property/explore/report_test\.go:\d+\n`, found[0].Text)
	}

	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	left := explored(t, executing("leaves one behind", func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		go func() { <-never }()
		return dc.Ack()
	}), explore.Options{Faults: []turn.FaultKind{}, Workers: 1})
	if assert.Len(t, left.Violations, 1, left) {
		assert.True(t, strings.HasPrefix(left.Violations[0].String(), "  undisturbed: nothing is left behind: 1 goroutine"), left)
	}
}
