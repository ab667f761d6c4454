package explore

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/internal/oracle"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Exploration is what was tried with a subject, and what came of it.
type Exploration struct {
	Subject string `json:"subject"`
	Bound   int    `json:"bound"`
	// Schedules is how many were run.
	Schedules int `json:"schedules"`
	// Random is the probability, or more, with which the random orders have met a bug
	// that one strand shows which is overtaken at one choice; 0 where there were none.
	Random float64 `json:"random,omitempty"`
	// Free is how many runs beside these had free strands, for the race detector.
	Free int `json:"free,omitempty"`
	// Waited is in how many of them everything stood still until the caller
	// cancelled: a gate that nobody answers, a sleep without end. That is no
	// violation.
	Waited int `json:"waited,omitempty"`
	// Violations are in the order in which schedules are tried: those with less
	// wrong first.
	Violations []Breach `json:"violations"`
	// Hints are of what is legal, and may well be what is meant.
	Hints []Breach `json:"hints,omitempty"`
	Table Table    `json:"table"`
	// NotCovered says in words what was known to follow and was not run.
	NotCovered []string `json:"notCovered,omitempty"`
	// Elapsed is how long it took, by Options.Now.
	Elapsed time.Duration `json:"elapsedNanoseconds"`

	command string
	test    string
	groups  map[string]int // by what violations have in common, their place in Violations
}

// Breach is what runs violate, and how to see it again. What says the same of the same
// user code is one, however many schedules show it.
type Breach struct {
	// Schedule is the simplest that shows it: the one with the least wrong.
	Schedule turn.Schedule `json:"schedule"`
	// Found is the number of that one among those that were run.
	Found int `json:"found"`
	// Schedules is how many show it.
	Schedules int `json:"schedules"`
	property.Violation
	// Where says what the schedule does, in a line for each fault.
	Where []string `json:"where,omitempty"`
	// Code says where in user code it went wrong, and where it shows: functions and lines,
	// the innermost first.
	Code []string `json:"code,omitempty"`
	// Strands are the operations of the strands side by side, from where their order is not
	// the usual one, and around what is violated where these are many; empty where it is.
	Strands string `json:"strands,omitempty"`
	// Command reproduces it at a terminal, where there is a command for the
	// subject; Test in go test, given the subject, which has its check.
	Command string `json:"command,omitempty"`
	Test    string `json:"test"`
	// Stretch is the stretch of the run's transcript that shows it, with the
	// crossings at which something goes wrong: each has the kind of fault behind an arrow.
	Stretch string `json:"stretch,omitempty"`
	// Run is the whole run that the schedule makes; nil where Stretch is empty.
	Run *trace.Trace `json:"-"`

	from candidate // that shows it first
	last int       // the number of the last one that does
}

// reportColumns is how long lines are that say what is violated, where they can be folded: go
// test sets them in by eight more.
const reportColumns = 72

// shownBreaches is how many violations String shows.
const shownBreaches = 10

// add takes a violation in, or a hint. It gives the entry if that is a new one.
func (x *Exploration) add(list *[]Breach, n candidate, v property.Violation) *Breach {
	key := groupOf(v)
	if list == &x.Hints {
		key = "hint\n" + key
	}
	if at, known := x.groups[key]; known {
		b := &(*list)[at]
		if b.last != n.number {
			b.Schedules++
		}
		b.last = n.number
		return nil
	}
	if x.groups == nil {
		x.groups = map[string]int{}
	}
	x.groups[key] = len(*list)
	*list = append(*list, x.breach(n, v))
	return &(*list)[len(*list)-1]
}

// withoutEchoes takes out hints that say what a violation says too.
func (x *Exploration) withoutEchoes() {
	x.Hints = slices.DeleteFunc(x.Hints, func(h Breach) bool {
		return slices.ContainsFunc(x.Violations, func(b Breach) bool { return groupOf(b.Violation) == groupOf(h.Violation) })
	})
}

// withoutTwins takes out what says the same of the same line of user code as an entry before
// it, but for names and numbers: a helper that writes three records is wrong once, and so is one that runs three
// tools, which are named. What a run
// was doing that does not end is told by more than that line, and a body that nobody closes by no more
// than where it was asked for.
func (x *Exploration) withoutTwins() {
	for _, list := range []*[]Breach{&x.Violations, &x.Hints} {
		tools := map[string][]string{} // that are the same, by what is said; the first is that of the entry
		keyOf := func(b Breach) (key, tool string) {
			if len(b.Code) == 0 || b.Invariant == hangs || b.Invariant == unbounded {
				return "", ""
			}
			code := b.Code
			if last := code[len(code)-1]; strings.HasPrefix(last, showsIn) {
				code = []string{last}
			}
			if b.Invariant == unclosedAnswer { // it is who asks that closes, whoever called that
				innermost, _, _ := strings.Cut(code[0], calledBy)
				code = []string{innermost}
			}
			said, _, _ := strings.Cut(b.Text, "\n")
			tool = toolSeam.FindString(said)
			said = toolSeam.ReplaceAllString(quoted.ReplaceAllString(said, "#"), "tool")
			return b.Invariant + "\n" + numbers.ReplaceAllString(said, "#") + "\n" + strings.Join(code, "\n"), tool
		}
		*list = slices.DeleteFunc(*list, func(b Breach) bool {
			key, tool := keyOf(b)
			had := tools[key] != nil
			if key != "" && !slices.Contains(tools[key], tool) {
				tools[key] = append(tools[key], tool)
			}
			return had
		})
		for i := range *list {
			b := &(*list)[i]
			if key, _ := keyOf(*b); len(tools[key]) > 1 {
				b.Text += "\nso it is with " + strings.Join(tools[key][1:], ", ")
			}
		}
	}
}

// toolSeam is a tool as a seam.
var toolSeam = regexp.MustCompile(`\btool/[^\s#]+`)

// calledBy stands between a function of user code and the one that called it.
const calledBy = ", called by "

// crossings are those of the run; none where that is not kept.
func (f *Breach) crossings() (all []adk.Crossing) {
	if f.Run != nil {
		for _, line := range f.Run.All() {
			all = append(all, line.Crossing)
		}
	}
	return all
}

// breach is a violation by a schedule, with how to see it again.
func (x *Exploration) breach(n candidate, v property.Violation) Breach {
	s := n.schedule()
	f := Breach{Schedule: s, Found: n.number, Schedules: 1, Violation: v, from: n, last: n.number,
		Test: fmt.Sprintf(x.test, s)}
	if x.command != "" {
		f.Command = x.command + " --only '" + s.String() + "'"
	}
	return f
}

// groupOf is what violations have in common that are one: the invariant, what is said
// but for numbers, and where. What a run was doing that does not end is told by its
// first line of user code.
func groupOf(v property.Violation) string {
	said, more, _ := strings.Cut(v.Text, "\n")
	switch v.Invariant {
	case unsteadyRun:
		said = ""
	case hangs:
		said, _, _ = strings.Cut(more, "\n")
	case unbounded:
		_, said, _ = strings.Cut(said, ": in ")
	case checkGiven: // which says what it has seen
		said = named.ReplaceAllString(quoted.ReplaceAllString(said, "#"), "#")
	}
	return v.Invariant + "\n" + numbers.ReplaceAllString(said+"\n"+v.Seam, "#")
}

// bug is what violations of several subjects have in common that are of one bug: what is violated
// where, and in which lines of code. What is said may have the data of a subject in it, and counts
// where no line is known.
func (f Breach) bug() string {
	if len(f.Code) == 0 {
		return groupOf(f.Violation)
	}
	return f.Invariant + "\n" + numbers.ReplaceAllString(f.Seam, "#") + "\n" + strings.Join(f.Code, "\n")
}

// numbers, what is quoted, and names, are what differs in texts that say the same.
var (
	numbers = regexp.MustCompile(`\d+`)
	quoted  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	named   = regexp.MustCompile(`\b\p{Lu}\p{Ll}+\b(?:,\s*\p{Lu}\p{Ll}+\b)*`)
)

// Summary is the line that can be quoted, such as
// hello: 412 schedules, bound 2, 0 violations, 0.04 s.
func (x *Exploration) Summary() string {
	line := fmt.Sprintf("%s: %s, bound %d, %s, %.2f s", x.Subject, inWords(x.Schedules, "schedule"), x.Bound,
		inWords(len(x.Violations), "violation"), x.Elapsed.Seconds())
	if len(x.NotCovered) > 0 {
		line += ", not all of it"
	}
	return line
}

// String is the summary and, below it, the violations and what was not covered; Table
// has what was tried in full.
func (x *Exploration) String() string {
	var b strings.Builder
	b.WriteString(x.brief())
	for i, f := range x.Violations {
		if i == shownBreaches {
			fmt.Fprintf(&b, "  and %s more\n", inWords(len(x.Violations)-i, "violation"))
			break
		}
		f.write(&b)
	}
	for i, f := range x.Hints {
		if i == 0 {
			b.WriteString("  hints, of what is legal and may well be meant:\n")
		}
		f.write(&b)
	}
	return b.String()
}

// brief is the summary, with what was not covered.
func (x *Exploration) brief() string {
	text := x.Summary() + "\n"
	if x.Waited > 0 {
		text += fmt.Sprintf("  %s stood still until the caller cancelled\n", inWords(x.Waited, "schedule"))
	}
	if x.Random > 0 && len(x.NotCovered) > 0 {
		text += fmt.Sprintf("  random orders of strands meet a bug that needs one to be overtaken once with a probability of %.0f %%\n", 100*x.Random)
	}
	for _, what := range x.NotCovered {
		text += fmt.Sprintf("  not covered: %s\n", what)
	}
	return safetext.Folded(text, reportColumns)
}

// shownHints is how many hints the log of a test has.
const shownHints = 5

// logged is brief, with a line for each hint: the log of a test that passes has no more.
func (x *Exploration) logged() string {
	var b strings.Builder
	b.WriteString(x.brief())
	for i, f := range x.Hints {
		if i == shownHints {
			fmt.Fprintf(&b, "  and %s more: see Exploration.Hints\n", inWords(len(x.Hints)-i, "hint"))
			break
		}
		text, more, _ := strings.Cut(f.Text, "\n")
		for _, why := range []string{looseOrder, anyCase} { // which is no matter of the run
			if strings.HasSuffix(more, why) {
				text += ": " + why
			}
		}
		if f.Invariant == oracle.Stands { // what stands is what follows
			text = safetext.Below(f.Text)
		}
		if n := len(f.Code); n > 0 && f.Invariant == lateUse {
			text += "\n" + setIn + f.Code[n-1]
		}
		b.WriteString(safetext.Folded(fmt.Sprintf("  hint: %s: %s: %s\n", f.Schedule, f.Invariant, text), reportColumns))
	}
	return b.String()
}

// String says what is violated, by which schedule, where, and how to see it again.
func (f Breach) String() string {
	var b strings.Builder
	f.write(&b)
	return b.String()
}

func (f Breach) write(b *strings.Builder) {
	rule := ""
	if f.Rule != "" {
		rule = " (" + f.Rule + ")"
	}
	at := ""
	if f.Crossing > 0 { // what is left behind shows at none
		at = fmt.Sprintf("crossing %d: ", f.Crossing)
	}
	said := []string{fmt.Sprintf("  %s: %s%s%s: %s", f.Schedule, at, f.Invariant, rule, safetext.Below(f.Text))}
	for _, line := range slices.Concat(f.Where, f.Code) {
		said = append(said, setIn+line)
	}
	if f.Schedules > 1 {
		said = append(said, setIn+inWords(f.Schedules, "schedule")+" show it; this is the simplest")
	}
	again := f.Test
	if f.Command != "" {
		again = "next: " + f.Command
	}
	for _, text := range []string{f.Strands, f.Stretch, again} {
		if text != "" {
			said = append(said, safetext.Inset(text))
		}
	}
	b.WriteString(safetext.Folded(strings.Join(said, "\n"), reportColumns) + "\n")
}

// notCovered says what was known to follow and was not run.
func (e *exploring) notCovered() (all []string) {
	if left := slices.DeleteFunc(turn.FaultKinds(), func(k turn.FaultKind) bool { return slices.Contains(e.options.Faults, k) }); len(left) > 0 {
		what := fmt.Sprint(left)
		if len(left) > 2 { // the table has those that were
			what = fmt.Sprintf("%d of %d", len(left), len(turn.FaultKinds()))
		}
		all = append(all, "kinds of faults that Options.Faults leaves out: "+what)
	}
	if e.left.Load() {
		all = append(all, "what comes behind a check or a Close of the subject's that had not returned: "+e.whyOver())
	}
	if e.unfound {
		all = append(all, "which schedule leaves goroutines behind, as one of those tried does: "+e.whyOver())
	}
	if len(e.unanswered) > 0 {
		all = append(all, fmt.Sprintf("what comes behind an answer to gate %s: nobody settled it in the undisturbed run. Give the turn somebody who does, and at once, as nobody waits for a goroutine that sleeps: "+
			"Observability.TurnGateOpen of its RawTurn, or what session.Config.Listen gives", strings.Join(e.unanswered, ", ")))
	}
	if len(e.beside) > 0 {
		all = append(all, fmt.Sprintf("what %s is asked with a context that is no call's: nothing of that crosses, and nothing breaks it. Hand on the call's", strings.Join(e.beside, ", ")))
	}
	if e.astray {
		all = append(all, "what is asked with a context that is no call's: see the hints")
	}
	if e.first != "" && !e.unsteady && !e.loose.Load() && !e.ownAsks.Load() {
		all = append(all, "what the first run alone did, which left something to all others, as in a variable of a package: have Open make what a run changes\n"+e.first)
	}
	if n := e.outside.Load(); n > 0 {
		all = append(all, fmt.Sprintf("what %s do otherwise than the undisturbed turn: a strand waits there outside the engine, for another one or for the machine's time, and others go on "+
			"meanwhile. What waits for time is better off with Sleep of a handle, or adk.Sleep", inWords(int(n), "run")))
	}
	all = append(all, e.looseness()...)
	if e.stopped == "" {
		return all
	}
	what := "at least " + inWords(e.leftover, "schedule") + " that follow from those tried, and all that follow from these"
	switch e.leftover {
	case 0:
		what = "schedules that follow from those tried, and all that follow from these"
	case 1:
		what = "at least 1 schedule that follows from those tried, and all that follow from it"
	}
	return append(all, what+": "+e.stopped)
}

func inWords(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text + " " + what + "s"
}

// Table says what was tried at which kind of crossing, and why not.
type Table struct {
	// Faults are the columns.
	Faults []turn.FaultKind `json:"faults"`
	Rows   []TableRow       `json:"rows"`
	// Orders is how many orders of strands were tried beside the usual one, alone
	// and with faults.
	Orders int `json:"orders"`
	// Inputs is in how many schedules the turn began with another conversation, or another
	// system prompt.
	Inputs int `json:"inputs,omitempty"`
}

// TableRow is one kind of crossing.
type TableRow struct {
	Crossing string `json:"crossing"`
	// Cells are in the order of the faults.
	Cells []TableCell `json:"cells"`
}

// TableCell is one kind of fault at one kind of crossing.
type TableCell struct {
	// Tried is in how many schedules it was the last fault.
	Tried int `json:"tried"`
	// Why says why it was not, if there was no place for it; empty if there was.
	Why string `json:"why,omitempty"`
}

// cell is a place in the table.
type cell struct {
	place place
	fault turn.FaultKind
}

// cell is where the table counts the fault.
func (p *planned) cell() cell { return cell{p.place, p.Kind} }

// tally counts what the table shows.
type tally struct {
	kinds  []turn.FaultKind
	rows   map[place]*tallyRow
	orders int
	inputs int
	// The place that was asked for last, and its row: most are asked for several times in
	// a row.
	last    place
	lastRow *tallyRow
}

// tallyRow is what it knows of a place, by the kind of fault.
type tallyRow [turn.FaultKindEnd]struct {
	tried   int
	refused string
	planned bool
}

func newTally(kinds []turn.FaultKind) *tally {
	return &tally{kinds: kinds, rows: map[place]*tallyRow{}}
}

// first tells, once, that a fault is planned for a cell.
func (t *tally) first(c cell) bool {
	one := &t.row(c.place)[c.fault]
	first := !one.planned
	one.planned = true
	return first
}

func (t *tally) row(p place) *tallyRow {
	if t.lastRow != nil && t.last == p {
		return t.lastRow
	}
	row := t.rows[p]
	if row == nil {
		row = &tallyRow{}
		t.rows[p] = row
	}
	t.last, t.lastRow = p, row
	return row
}

// commit counts a run.
func (t *tally) commit(r *tried) {
	if len(r.candidate.picks) > 0 {
		t.orders++
	}
	if !r.candidate.input.IsZero() {
		t.inputs++
	}
	if n := &r.candidate; n.counts {
		last := &n.faults[len(n.faults)-1]
		t.row(last.place)[last.Kind].tried++
	}
	for _, one := range r.refused {
		if known := &t.row(one.cell.place)[one.cell.fault]; known.refused == "" {
			known.refused = one.why
		}
	}
}

// table is the tally as it is shown: rows in the order of the kinds of crossings.
func (t *tally) table() Table {
	table := Table{Faults: t.kinds, Orders: t.orders, Inputs: t.inputs}
	for _, p := range sortedPlaces(t.rows) {
		row := TableRow{Crossing: p.String()}
		for _, k := range table.Faults {
			known := t.rows[p][k]
			one := TableCell{Tried: known.tried}
			if known.tried == 0 && !known.planned {
				one.Why = known.refused
			}
			row.Cells = append(row.Cells, one)
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

func sortedPlaces(places map[place]*tallyRow) []place {
	return slices.SortedFunc(maps.Keys(places), func(a, b place) int {
		switch {
		case a.kind != b.kind:
			return int(a.kind) - int(b.kind)
		case a.label != b.label:
			return strings.Compare(a.label, b.label)
		case a.done == b.done:
			return 0
		case b.done:
			return -1
		}
		return 1
	})
}

// String is the table, in a line for each kind of crossing: the kinds of faults that were tried,
// with numbers, and letters for the reasons why others were not, which stand below with the kinds
// that they are of.
func (t Table) String() string {
	var b strings.Builder
	width := 0
	for _, row := range t.Rows {
		width = max(width, len(row.Crossing))
	}
	margin := strings.Repeat(" ", width+2*len("  "))
	var reasons []string
	kinds := map[string][]string{} // by the reason why they were not tried
	for _, row := range t.Rows {
		var tried, letters []string
		for i, c := range row.Cells {
			kind := t.Faults[i].String()
			switch {
			case !t.shows(t.Faults[i]):
				continue
			case c.Why == "":
				tried = append(tried, kind+" "+strconv.Itoa(c.Tried))
				continue
			case !slices.Contains(reasons, c.Why):
				reasons = append(reasons, c.Why)
			}
			if !slices.Contains(kinds[c.Why], kind) {
				kinds[c.Why] = append(kinds[c.Why], kind)
			}
			if letter := reasonLetter(slices.Index(reasons, c.Why)); !slices.Contains(letters, letter) {
				letters = append(letters, letter)
			}
		}
		cells := strings.Join(tried, ", ")
		if len(letters) > 0 {
			slices.Sort(letters)
			cells += "; not " + strings.Join(letters, "")
		}
		cells = safetext.Wrapped(strings.TrimPrefix(cells, "; "), reportColumns-len(margin), "")
		fmt.Fprintf(&b, "  %-*s  %s\n", width, row.Crossing, strings.ReplaceAll(cells, "\n", "\n"+margin))
	}
	if t.Orders > 0 {
		fmt.Fprintf(&b, "  %s of strands beside the usual one\n", inWords(t.Orders, "order"))
	}
	if t.Inputs > 0 {
		fmt.Fprintf(&b, "  %s with another conversation or prompt\n", inWords(t.Inputs, "schedule"))
	}
	for i, why := range reasons {
		line := strings.Join(kinds[why], ", ") + ": " + why
		line = safetext.Wrapped(line, reportColumns-len("  a  "), "")
		fmt.Fprintf(&b, "  %s  %s\n", reasonLetter(i), strings.ReplaceAll(line, "\n", "\n     "))
	}
	return b.String()
}

// reasonLetter stands for the reason of a number.
func reasonLetter(n int) string { return string(reasonLetters[n%len(reasonLetters)]) }

// reasonLetters stand for the reasons why something was not tried.
const reasonLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// shows reports whether a kind of fault has a column: those of the world have one where
// any of them was tried, which is where the world is asked, and so have those of media and
// of what tools give.
func (t Table) shows(k turn.FaultKind) bool {
	like := turn.FaultKind.OfWorld
	if k.OfMedia() {
		like = turn.FaultKind.OfMedia
	}
	if k.OfResult() {
		like = turn.FaultKind.OfResult
	}
	return !like(k) || slices.ContainsFunc(t.Rows, func(r TableRow) bool {
		for i, c := range r.Cells {
			if c.Tried > 0 && like(t.Faults[i]) {
				return true
			}
		}
		return false
	})
}

// setIn is how far to the right stands what is below a line.
const setIn = "    "
