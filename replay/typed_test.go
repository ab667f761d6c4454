package replay_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// coded is an error like that of a database driver: its meaning is in a field.
type coded struct{ Code int }

func (e *coded) Error() string { return "refused" }

// WLD-3: code that uses errors.As on the error of an ask takes the same branch in a replay if the
// error's type is named. If it is not, the report says that a type may be missing. It does not say
// so if the code failed for another reason.
func TestErrorsThatCodeAsksTheTypeOf(t *testing.T) {
	agent := func(failed error, goesOn func(error) bool) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			_, err := adk.Ask(ctx, "people", "ada", func(context.Context, string) (int, error) { return 0, failed })
			if err != nil && !goesOn(err) {
				return err
			}
			_ = dc.NewID()
			return dc.Ack()
		})
	}
	isTaken := func(err error) bool {
		refused, ok := errors.AsType[*coded](err)
		return ok && refused.Code == 23505
	}
	types := map[string]trace.ErrorType{"people.coded": trace.ErrorOf[*coded]()}
	for name, c := range map[string]struct {
		failed  error
		goesOn  func(error) bool
		today   func(error) bool
		named   map[string]trace.ErrorType
		differs bool
		untyped bool
	}{
		"a type that is named":                                {&coded{23505}, isTaken, isTaken, types, false, false},
		"a type that nobody has named":                        {&coded{23505}, isTaken, isTaken, nil, true, true},
		"an error that is known":                              {io.EOF, func(error) bool { return true }, isTaken, nil, true, false},
		"a type that is named, which code no longer asks for": {&coded{23505}, isTaken, func(error) bool { return false }, types, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			var recorded bytes.Buffer
			runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(agent(c.failed, c.goesOn), replay.Record(&recorded, replay.RecordOptions{ErrorTypes: c.named}))))
			require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Help."}))
			report, err := replay.Verify(t.Context(), &recorded, replay.Live{Config: agent(nil, c.today), Seams: []string{replay.Executor}}, trace.Options{ErrorTypes: c.named})
			require.NoError(t, err)
			require.Equal(t, c.differs, report.Divergence != nil, "%s", report)
			if c.differs {
				assert.Equal(t, c.untyped, report.Divergence.Untyped, "%s", report)
				assert.Equal(t, c.untyped, bytes.Contains([]byte(report.String()), []byte("name its type in")), "%s", report)
			}
		})
	}
}
