package explore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// ledger is the body that the questions are about.
const ledger = "ada 4\nbob 2\nada 7\n"

// questioning returns a subject that makes an artifact of the ledger, asks it a question through open, and
// logs the answer.
func questioning(open func(ctx context.Context, dc *adk.DispatchContext, media *adk.Media) (string, error)) turn.Subject {
	return executing("asks a ledger", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		result, err := artifact.Text(ctx, adk.Text(ledger))
		if err != nil {
			return err
		}
		said, err := open(ctx, dc, result.(*adk.Media))
		if err != nil {
			said = err.Error()
		}
		h.Log(adk.LevelInfo, "said", said, nil)
		return dc.Ack()
	})
}

// greps returns a function that asks the ledger for lines: through the context or, for a body above limit, by an ask.
func greps(limit int64) func(context.Context, *adk.DispatchContext, *adk.Media) (string, error) {
	return func(ctx context.Context, dc *adk.DispatchContext, media *adk.Media) (string, error) {
		spool := artifact.NewMemorySpool()
		if _, err := spool.Write(ctx, "k", strings.NewReader(ledger)); err != nil {
			return "", err
		}
		asked, err := artifact.Open(dc, media, artifact.Config{RecordLimit: limit, Spool: spool})
		if err != nil {
			return "", err
		}
		lines, err := asked.Tail(ctx, 2)
		return strings.Join(lines, ","), err
	}
}

// ART-26: whatever faults a reader has, a question is answered from the right bytes, or it fails.
func TestQuestionsToBrokenReaders(t *testing.T) {
	kinds := []turn.FaultKind{turn.MediaFails, turn.MediaShort, turn.MediaOther}
	for _, kind := range kinds {
		var came []string
		s := checked(questioning(greps(0)), func(r turn.Run) error {
			for x := range r.Crossings {
				if x.Kind == adk.KindReportLog && len(r.Schedule.Faults) > 0 {
					came = append(came, x.Text)
				}
			}
			return nil
		})
		result := explored(t, s, explore.Options{Workers: 1, Faults: []turn.FaultKind{kind}})
		assert.Empty(t, result.Violations, result)
		require.Len(t, came, 1, kind)
		if kind == turn.MediaFails {
			assert.Contains(t, came[0], "broken by the explorer")
		} else {
			assert.Contains(t, came[0], string(adk.E_ARTIFACT_CHANGED), kind)
		}
	}
}

// ART-26: a question recorded as a crossing is never answered from another body, nor with an empty answer.
func TestQuestionsOfBodiesAreAnsweredOrFail(t *testing.T) {
	s := checked(questioning(greps(1)), func(r turn.Run) error {
		for x := range r.Crossings {
			if x.Kind == adk.KindReportLog && x.Text != "ada 7," && !strings.Contains(x.Text, "refused") && !strings.Contains(x.Text, "timeout") {
				return errors.New(x.Text)
			}
		}
		return nil
	})
	kinds := []turn.FaultKind{turn.AskRefused, turn.AskTimeout, turn.AskEmpty, turn.AskOther, turn.AskDown}
	result := explored(t, s, explore.Options{Faults: kinds})
	assert.Empty(t, result.Violations, result)
	assert.Greater(t, result.Schedules, 3)
}

// ART-26: code that believes everything a reader returns is found, by what the mark in the text says.
func TestBelieversAreFound(t *testing.T) {
	s := questioning(func(ctx context.Context, dc *adk.DispatchContext, media *adk.Media) (string, error) {
		data, err := dc.OpenMedia(ctx, media)
		return string(data), err
	})
	for _, kind := range []turn.FaultKind{turn.MediaShort, turn.MediaOther} {
		result := explored(t, s, explore.Options{Faults: []turn.FaultKind{kind}})
		require.Len(t, result.Violations, 1, result)
		assert.Equal(t, "bodies-as-marked", result.Violations[0].Invariant)
	}
}
