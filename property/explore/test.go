package explore

import (
	"context"
	"errors"

	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/internal/subtests"
	"github.com/adkreplay/adkreplay/property/turn"
)

// Test explores a subject in go test. Each violation fails a subtest that is called for the
// simplest schedule that shows it, so that -run takes it; the log has the summary, what was not
// covered, as where the budget was used up or the timeout of go test was about to come, and a
// line for each hint. Of a test that passes go test shows the log with -v only: one that has
// to cover all asks Explore, and that NotCovered is empty. A test fails where not even one
// schedule was run.
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

// known are the subjects that show a bug first, by what shows of it.
type known map[string]string

// meet is a violation as it is told of a subject: where one before has shown the same, that is
// named, and what the run did stands there.
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

// Reproduce runs one schedule of a subject in go test, as a violation names it, and
// fails for each thing that it violates. A schedule that cannot happen any more, since
// the code has changed, fails nothing, and the log says so.
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
