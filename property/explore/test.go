package explore

import (
	"context"
	"errors"

	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/internal/subtests"
	"github.com/adkreplay/adkreplay/property/turn"
)

// Test explores a subject in go test. Each violation fails a subtest that is named after the
// simplest schedule that shows it, so that -run selects it. The log has the summary, what was not
// covered (for example because the budget was used up or the timeout of go test came near), and a
// line for each hint. go test shows the log of a passing test only with -v: to require full
// coverage, call Explore and check that NotCovered is empty. Test fails if no schedule was run at
// all.
//
//	func TestAgent(t *testing.T) { explore.Test(t, agent, explore.Options{Bound: 2}) }
func Test[Self property.T[Self]](t Self, subject turn.Subject, options Options) {
	t.Helper()
	ctx, cancel := subtests.Within(t)
	defer cancel()
	result, err := Explore(ctx, subject, options)
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	t.Logf("%s", result.logged())
	if result.Schedules == 0 && len(result.Violations) == 0 {
		t.Errorf("%s: nothing was explored: no schedule was run", subject.Name)
	}
	for _, b := range result.Violations {
		subtests.Fail(t, b.Schedule.String(), options.known.meet(b, subject.Name))
	}
}

// known maps each bug that was seen (Breach.bug) to the subject and schedule that showed it first.
type known map[string]string

// meet returns a violation as it is reported for a subject. If an earlier subject has shown the
// same bug, it refers to that subject instead of showing the run again.
func (k known) meet(b Breach, subject string) Breach {
	if k == nil {
		return b
	}
	bug := b.bug()
	if first, met := k[bug]; met {
		b.Strands, b.Stretch, b.Code = "", "", []string{"the same as in " + first}
	} else {
		k[bug] = subject + ", " + b.Schedule.String()
	}
	return b
}

// Reproduce runs one schedule of a subject in go test, as a violation names it, and fails for each
// violation of it. If the code has changed and the schedule cannot happen any more, Reproduce logs
// that and does not fail.
func Reproduce(t property.TB, subject turn.Subject, schedule string) {
	t.Helper()
	s, err := turn.ParseSchedule(schedule)
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	result, err := RunSchedule(context.Background(), subject, s, Options{})
	switch {
	case errors.As(err, &impossible{}):
		t.Logf("%v: explore again", err)
	case err != nil:
		t.Errorf("%v", err)
	case len(result.Violations) == 0:
		t.Logf("%s", result.brief())
	default:
		for _, b := range result.Violations {
			t.Errorf("%s", b)
		}
	}
}
