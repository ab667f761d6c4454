package sessions

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/internal/safetext"
)

// Exploration is the result of exploring a subject.
type Exploration struct {
	Subject string `json:"subject"`
	Seed    uint64 `json:"seed,omitempty"`
	// Schedules is how many schedules were run, without those that shortened others.
	Schedules int `json:"schedules"`
	// Violations are in the order in which they were found.
	Violations []Breach `json:"violations"`
	Table      Table    `json:"table"`
	// NotCovered says in words what was not tried.
	NotCovered []string `json:"notCovered,omitempty"`
	// Elapsed is how long the exploration took.
	Elapsed time.Duration `json:"elapsedNanoseconds"`

	groups map[string]int // index in Violations, by groupOf
}

// Breach is a violation, and how to see it again. Violations that say the same are one Breach,
// however many schedules show them.
type Breach struct {
	// Schedule is the shortest schedule that was found to show the violation.
	Schedule Schedule `json:"schedule"`
	// Found is the number of the first schedule that showed it, and Schedules how many did.
	Found     int `json:"found"`
	Schedules int `json:"schedules"`
	Violation
	// Story says what the schedule does, in a line for each action.
	Story []string `json:"story"`
	// Journal has a line for each step that hosts wrote to their journals.
	Journal []string `json:"journal"`
	// Test is a line of Go that fails until the violation is fixed, given the subject.
	Test string `json:"test"`

	last int // the number of the last schedule that shows it
}

// add adds a violation of a run. Of violations that say the same it keeps that of the shortest
// schedule.
func (x *Exploration) add(r *run, v Violation) {
	key := groupOf(v)
	if at, known := x.groups[key]; known {
		b := &x.Violations[at]
		if b.last != x.Schedules {
			b.Schedules++
			b.last = x.Schedules
		}
		if r.schedule.size() < b.Schedule.size() {
			x.shows(b, r, v)
		}
		return
	}
	x.groups[key] = len(x.Violations)
	x.Violations = append(x.Violations, x.breach(r, v))
}

func (x *Exploration) breach(r *run, v Violation) Breach {
	return Breach{Schedule: r.schedule, Found: x.Schedules, Schedules: 1, Violation: v, Story: r.story(), Journal: r.told(),
		Test: fmt.Sprintf("sessions.Reproduce(t, subject, %q)", r.schedule), last: x.Schedules}
}

// shows replaces the run that shows a breach by another run with the same violation.
func (x *Exploration) shows(b *Breach, r *run, v Violation) {
	found := x.breach(r, v)
	found.Found, found.Schedules, found.last = b.Found, b.Schedules, b.last
	*b = found
}

// groupOf returns a key that is equal for violations that count as one: the invariant, and the
// first line of the text without names and numbers.
func groupOf(v Violation) string {
	return v.Invariant + "\n" + numbers.ReplaceAllString(first(v.Text), "#")
}

// numbers matches what differs in texts that say the same.
var numbers = regexp.MustCompile(`host \w+|"[^"]*"|\d+|nothing|\[.*\]|\{.*\}`)

// story says what was done, and what went wrong in it.
func (r *run) story() (lines []string) {
	for i, a := range r.schedule {
		line := a.says()
		if !r.isLeft && i < len(r.calls) && r.calls[i] != nil && a.Verb != GoOn {
			for _, text := range r.calls[i].hit() {
				line += "; " + text
			}
		}
		lines = append(lines, line)
	}
	return append(lines, "then whatever stands goes on, and another host resumes until nothing is left")
}

// shownSteps is how many steps a report shows.
const shownSteps = 40

// told returns the steps of all processes as lines.
func (r *run) told() (lines []string) {
	if r.isLeft {
		return nil
	}
	steps := r.merged().Steps
	for _, s := range steps[:min(len(steps), shownSteps)] {
		lines = append(lines, sayStep(s))
	}
	if more := len(steps) - len(lines); more > 0 {
		lines = append(lines, "and "+safetext.Counted(more, "more step"))
	}
	return lines
}

func sayStep(s session.Step) string {
	line := fmt.Sprintf("%s: %s %q", s.Host, s.Kind, s.Session)
	if s.Tenant != "" {
		line += fmt.Sprintf(" of %q", s.Tenant)
	}
	if s.Epoch > 0 {
		line += fmt.Sprintf(", epoch %d", s.Epoch)
	}
	if s.Delivery != "" {
		line += fmt.Sprintf(", %q", s.Delivery)
	}
	if s.Attempt > 0 {
		line += fmt.Sprintf(", attempt %d", s.Attempt)
	}
	if s.Kind == session.StepCommitted {
		line += fmt.Sprintf(", revision %d", s.Revision)
	}
	if s.Code != "" {
		line += ", " + string(s.Code)
	}
	return line
}

// hit says which faults were made in a call.
func (t *task) hit() (all []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.faults {
		if !f.fired {
			continue
		}
		where := fmt.Sprintf("its crossing %d", f.At)
		if !isInTurn(f.Kind) && f.At <= len(t.calls) {
			where = fmt.Sprintf("its call %d, %s", f.At, t.calls[f.At-1])
		}
		all = append(all, string(f.Kind)+" at "+where)
	}
	return all
}

// unmet says which faults of the schedule did not happen.
func (r *run) unmet() (all []string) {
	met := map[*plannedFault]bool{}
	for _, t := range r.calls {
		if t == nil {
			continue
		}
		for _, f := range t.faults {
			if !f.fired && !met[f] {
				all = append(all, fmt.Sprintf("%s@%d, which was not met: explore again", f.Kind, f.At))
			}
			met[f] = true
		}
	}
	return all
}

func isInTurn(k FaultKind) bool { return strings.HasPrefix(string(k), inTurn) }

// Table says what went wrong where.
type Table struct {
	// Rows are the calls of hosts, in the order in which they first occurred, and the turns.
	Rows []TableRow `json:"rows"`
}

// TableRow counts the faults that were made at calls of one name.
type TableRow struct {
	Point  string            `json:"point"`
	Faults map[FaultKind]int `json:"faults"`
}

// add counts the faults of a run.
func (t *Table) add(r *run) {
	for _, call := range r.calls {
		if call == nil {
			continue
		}
		call.mu.Lock()
		for _, name := range call.calls {
			t.row(name)
		}
		for _, f := range call.faults {
			point := "a turn"
			if !isInTurn(f.Kind) && f.At <= len(call.calls) {
				point = call.calls[f.At-1]
			}
			if f.fired && !f.counted {
				f.counted = true
				t.row(point).Faults[f.Kind]++
			}
		}
		call.mu.Unlock()
	}
}

func (t *Table) row(point string) TableRow {
	for _, row := range t.Rows {
		if row.Point == point {
			return row
		}
	}
	t.Rows = append(t.Rows, TableRow{point, map[FaultKind]int{}})
	return t.Rows[len(t.Rows)-1]
}

// String returns the table as text.
func (t Table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %-10s", "")
	kinds := slices.DeleteFunc(FaultKinds(), isInTurn)
	for _, k := range kinds {
		fmt.Fprintf(&b, "  %s", k)
	}
	within := 0
	for _, row := range t.Rows {
		if row.Point == "a turn" {
			for _, n := range row.Faults {
				within += n
			}
			continue
		}
		fmt.Fprintf(&b, "\n  %-10s", row.Point)
		for _, k := range kinds {
			fmt.Fprintf(&b, "  %*d", len(k), row.Faults[k])
		}
	}
	fmt.Fprintf(&b, "\n  and %d within turns\n", within)
	return b.String()
}

// Summary returns one line that can be quoted, such as chat: 500 schedules, 0 violations, 1.20 s.
func (x *Exploration) Summary() string {
	line := fmt.Sprintf("%s: %s, %s, %.2f s", x.Subject, safetext.Counted(x.Schedules, "schedule"), safetext.Counted(len(x.Violations), "violation"), x.Elapsed.Seconds())
	if len(x.NotCovered) > 0 {
		line += ", not all of it"
	}
	return line
}

// brief returns the summary and what was not covered.
func (x *Exploration) brief() string {
	text := x.Summary() + "\n"
	for _, what := range x.NotCovered {
		text += "  not covered: " + what + "\n"
	}
	return text
}

// String returns the summary, followed by what was not covered and the violations. Table has what
// was tried.
func (x *Exploration) String() string {
	var b strings.Builder
	b.WriteString(x.brief())
	for _, f := range x.Violations {
		b.WriteString(f.String())
	}
	return b.String()
}

// String says what is violated, by which schedule, and how to see it again.
func (b Breach) String() string {
	var text strings.Builder
	rule := ""
	if b.Rule != "" {
		rule = " (" + b.Rule + ")"
	}
	fmt.Fprintf(&text, "  %s%s: %s\n", b.Invariant, rule, safetext.Below(b.Text))
	if why := breaksOf(b.Invariant); why != "" {
		fmt.Fprintf(&text, "    Where it does not hold, %s\n", why)
	}
	for i, line := range b.Story {
		fmt.Fprintf(&text, "    %d. %s\n", i+1, line)
	}
	if b.Schedules > 1 {
		fmt.Fprintf(&text, "    %s show it\n", safetext.Counted(b.Schedules, "schedule"))
	}
	for _, line := range b.Journal {
		fmt.Fprintf(&text, "      %s\n", line)
	}
	fmt.Fprintf(&text, "    %s\n", b.Test)
	return text.String()
}

func breaksOf(name string) string {
	for _, i := range Invariants() {
		if i.Name == name {
			return i.Breaks
		}
	}
	return ""
}

// GoTest returns a Go test that fails until the violation is fixed, with what happens in it as its
// comment. The test refers to the subject as subject, so it belongs in a file where that is
// defined.
func (b Breach) GoTest() string {
	var text strings.Builder
	name := "Test" + safetext.CamelCase(b.Invariant) + safetext.CamelCase(b.Schedule.String())
	fmt.Fprintf(&text, "// %s: %s: %s\n//\n", name, b.Invariant, first(b.Text))
	for _, line := range append(slices.Clone(b.Story), b.Journal...) {
		text.WriteString(strings.TrimRight("//\t"+line, " \t") + "\n")
	}
	fmt.Fprintf(&text, "func %s(t *testing.T) {\n\t%s\n}\n", name, b.Test)
	return text.String()
}
