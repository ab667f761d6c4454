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

// Exploration is the result of exploring a subject.
type Exploration struct {
	Subject string `json:"subject"`
	Bound   int    `json:"bound"`
	// Schedules is how many schedules were run.
	Schedules int `json:"schedules"`
	// Random is a lower bound of the probability that the random orders have met a bug which needs
	// one strand to be overtaken at one choice. It is 0 if there were no random orders.
	Random float64 `json:"random,omitempty"`
	// Free is how many additional runs had free strands, for the race detector.
	Free int `json:"free,omitempty"`
	// Waited is in how many of the runs everything stood still until the caller cancelled, for
	// example because of a gate that nobody answers or a sleep without end. That is no violation.
	Waited int `json:"waited,omitempty"`
	// Violations are in the order in which schedules are tried: those with the fewest faults first.
	Violations []Breach `json:"violations"`
	// Hints are findings that are legal and may be intended.
	Hints []Breach `json:"hints,omitempty"`
	Table Table    `json:"table"`
	// NotCovered says in words what was known to follow and was not run.
	NotCovered []string `json:"notCovered,omitempty"`
	// Elapsed is how long the exploration took, measured by Options.Now.
	Elapsed time.Duration `json:"elapsedNanoseconds"`

	command string
	test    string
	groups  map[string]int // index in Violations or Hints, by groupOf
}

// Breach is a violation, and how to see it again. Violations that say the same of the same user
// code are one Breach, however many schedules show them.
type Breach struct {
	// Schedule is the simplest schedule that shows the violation: the one with the fewest faults.
	Schedule turn.Schedule `json:"schedule"`
	// Found is the number of that schedule among those that were run.
	Found int `json:"found"`
	// Schedules is how many schedules show the violation.
	Schedules int `json:"schedules"`
	property.Violation
	// Where says what the schedule does, in a line for each fault.
	Where []string `json:"where,omitempty"`
	// Code says where in user code faults were met, and where the violation shows: functions and
	// lines, the innermost first.
	Code []string `json:"code,omitempty"`
	// Strands shows the operations of the strands side by side, from where their order differs from
	// the usual one or, if that is long, around the violation. It is empty if the order is the
	// usual one.
	Strands string `json:"strands,omitempty"`
	// Command reproduces the violation at a terminal; it is empty if there is no command for the
	// subject. Test is the line of Go that reproduces it in go test, given the subject with its
	// check.
	Command string `json:"command,omitempty"`
	Test    string `json:"test"`
	// Stretch is the part of the run's transcript that shows the violation. Crossings at which
	// something goes wrong are marked with an arrow and the kind of fault.
	Stretch string `json:"stretch,omitempty"`
	// Run is the whole run of the schedule; nil if Stretch is empty.
	Run *trace.Trace `json:"-"`

	from    candidate // the schedule that shows it first
	numbers []int     // the numbers of the schedules that show it, in ascending order
}

// shownBy counts schedules that show the violation, each once.
func (f *Breach) shownBy(numbers ...int) {
	for _, number := range numbers {
		if at, known := slices.BinarySearch(f.numbers, number); !known {
			f.numbers = slices.Insert(f.numbers, at, number)
		}
	}
	f.Schedules = len(f.numbers)
}

// reportColumns is the line length of reports, as far as lines can be folded. go test indents them
// by eight more columns.
const reportColumns = 72

// shownBreaches is how many violations String shows.
const shownBreaches = 10

// add adds a violation or a hint to list. It returns the entry if that is new, and nil otherwise.
func (x *Exploration) add(list *[]Breach, n candidate, v property.Violation) *Breach {
	key := groupOf(v)
	if list == &x.Hints {
		key = "hint\n" + key
	}
	if at, known := x.groups[key]; known {
		b := &(*list)[at]
		b.shownBy(n.number)
		return nil
	}
	if x.groups == nil {
		x.groups = map[string]int{}
	}
	x.groups[key] = len(*list)
	*list = append(*list, x.breach(n, v))
	return &(*list)[len(*list)-1]
}

// withoutEchoes removes hints that say the same as a violation.
func (x *Exploration) withoutEchoes() {
	x.Hints = slices.DeleteFunc(x.Hints, func(h Breach) bool {
		return slices.ContainsFunc(x.Violations, func(b Breach) bool { return groupOf(b.Violation) == groupOf(h.Violation) })
	})
}

// withoutTwins removes entries that say the same of the same line of user code as an earlier entry,
// up to names and numbers: a helper that writes three records incorrectly is one bug, and so is one
// that runs three tools, which are then named in the entry. Hangs and unbounded loops are all kept.
// An answer that is not closed counts by the innermost function that asked for it.
func (x *Exploration) withoutTwins() {
	for _, list := range []*[]Breach{&x.Violations, &x.Hints} {
		tools := map[string][]string{} // tools of which the same is said, by what is said; the first is that of the entry
		keyOf := func(b Breach) (key, tool string) {
			if len(b.Code) == 0 || b.Invariant == hangs || b.Invariant == unbounded {
				return "", ""
			}
			code := b.Code
			if last := code[len(code)-1]; strings.HasPrefix(last, showsIn) {
				code = []string{last}
			}
			if b.Invariant == unclosedAnswer { // the asking function must close it, whatever called that
				innermost, _, _ := strings.Cut(code[0], calledBy)
				code = []string{innermost}
			}
			said, _, _ := strings.Cut(b.Text, "\n")
			tool = toolSeam.FindString(said)
			said = toolSeam.ReplaceAllString(quoted.ReplaceAllString(said, "#"), "tool")
			return b.Invariant + "\n" + numbers.ReplaceAllString(said, "#") + "\n" + strings.Join(code, "\n"), tool
		}
		kept := (*list)[:0]    // not nil if the list was empty: JSON tells the two apart
		at := map[string]int{} // the kept entries, by key
		for _, b := range *list {
			key, tool := keyOf(b)
			if i, had := at[key]; had && key != "" {
				kept[i].shownBy(b.numbers...)
			} else {
				at[key] = len(kept)
				kept = append(kept, b)
			}
			if key != "" && !slices.Contains(tools[key], tool) {
				tools[key] = append(tools[key], tool)
			}
		}
		*list = kept
		for i := range *list {
			b := &(*list)[i]
			if key, _ := keyOf(*b); len(tools[key]) > 1 {
				b.Text += "\nso it is with " + strings.Join(tools[key][1:], ", ")
			}
		}
	}
}

// toolSeam matches the seam of a tool.
var toolSeam = regexp.MustCompile(`\btool/[^\s#]+`)

// calledBy separates a function of user code from the one that called it.
const calledBy = ", called by "

// crossings returns the crossings of the run; none if the run was not kept.
func (f *Breach) crossings() (all []adk.Crossing) {
	if f.Run != nil {
		for _, line := range f.Run.All() {
			all = append(all, line.Crossing)
		}
	}
	return all
}

// breach returns the entry for a violation by a schedule, with how to see it again.
func (x *Exploration) breach(n candidate, v property.Violation) Breach {
	s := n.schedule()
	f := Breach{Schedule: s, Found: n.number, Schedules: 1, Violation: v, from: n, numbers: []int{n.number},
		Test: fmt.Sprintf(x.test, s)}
	if x.command != "" {
		f.Command = x.command + " --only '" + s.String() + "'"
	}
	return f
}

// groupOf returns a key that is equal for violations that count as one: the invariant, the first
// line of the text without its numbers, and the seam. A hang is identified by the second line,
// which names the first line of user code. A check's text also loses its names and what it quotes.
func groupOf(v property.Violation) string {
	said, more, _ := strings.Cut(v.Text, "\n")
	switch v.Invariant {
	case unsteadyRun:
		said = ""
	case hangs:
		said, _, _ = strings.Cut(more, "\n")
	case unbounded:
		_, said, _ = strings.Cut(said, ": in ")
	case checkGiven: // the author's text, which holds data of the run
		said = named.ReplaceAllString(quoted.ReplaceAllString(said, "#"), "#")
	}
	return v.Invariant + "\n" + numbers.ReplaceAllString(said+"\n"+v.Seam, "#")
}

// bug returns a key that is equal for violations of several subjects that are one bug: the
// invariant, the seam and the lines of code. The text may hold data of a subject, so it counts only
// if no line of code is known.
func (f Breach) bug() string {
	if len(f.Code) == 0 {
		return groupOf(f.Violation)
	}
	return f.Invariant + "\n" + numbers.ReplaceAllString(f.Seam, "#") + "\n" + strings.Join(f.Code, "\n")
}

// numbers, quoted and named match what differs in texts that say the same.
var (
	numbers = regexp.MustCompile(`\d+`)
	quoted  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	named   = regexp.MustCompile(`\b\p{Lu}\p{Ll}+\b(?:,\s*\p{Lu}\p{Ll}+\b)*`)
)

// Summary returns one line that can be quoted, such as hello: 412 schedules, bound 2, 0 violations,
// 0.04 s.
func (x *Exploration) Summary() string {
	line := fmt.Sprintf("%s: %s, bound %d, %s, %.2f s", x.Subject, inWords(x.Schedules, "schedule"), x.Bound,
		inWords(len(x.Violations), "violation"), x.Elapsed.Seconds())
	if len(x.NotCovered) > 0 {
		line += ", not all of it"
	}
	return line
}

// String returns the summary, followed by the violations, the hints and what was not covered. Table
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

// brief returns the summary and what was not covered.
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

// shownHints is how many hints the log of a test shows.
const shownHints = 5

// logged returns brief and a line for each hint. The log of a passing test has no more.
func (x *Exploration) logged() string {
	var b strings.Builder
	b.WriteString(x.brief())
	for i, f := range x.Hints {
		if i == shownHints {
			fmt.Fprintf(&b, "  and %s more: see Exploration.Hints\n", inWords(len(x.Hints)-i, "hint"))
			break
		}
		text, more, _ := strings.Cut(f.Text, "\n")
		for _, why := range []string{looseOrder, anyCase} { // these do not depend on the run
			if strings.HasSuffix(more, why) {
				text += ": " + why
			}
		}
		if f.Invariant == oracle.Stands { // the lines that follow say what stands there
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
	if f.Crossing > 0 { // what is left behind has no crossing
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
		if len(left) > 2 { // the table lists the kinds that were tried
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

// Table says what was tried at which kind of crossing, and why the rest was not.
type Table struct {
	// Faults are the columns.
	Faults []turn.FaultKind `json:"faults"`
	Rows   []TableRow       `json:"rows"`
	// Orders is how many orders of strands other than the usual one were tried, alone and with
	// faults.
	Orders int `json:"orders"`
	// Inputs is in how many schedules the turn began with another conversation, or another system
	// prompt.
	Inputs int `json:"inputs,omitempty"`
}

// TableRow is one kind of crossing.
type TableRow struct {
	Crossing string `json:"crossing"`
	// Cells are in the order of Table.Faults.
	Cells []TableCell `json:"cells"`
}

// TableCell is one kind of fault at one kind of crossing.
type TableCell struct {
	// Tried is the number of schedules of which this was the last fault.
	Tried int `json:"tried"`
	// Why says why the fault was not tried; empty if it could be tried.
	Why string `json:"why,omitempty"`
}

// cell is a place in the table.
type cell struct {
	place place
	fault turn.FaultKind
}

// cell returns the cell in which the table counts the fault.
func (p *planned) cell() cell { return cell{p.place, p.Kind} }

// tally counts what the table shows.
type tally struct {
	kinds  []turn.FaultKind
	rows   map[place]*tallyRow
	orders int
	inputs int
	// last is the place that was looked up last, and lastRow its row: most places are looked up
	// several times in a row.
	last    place
	lastRow *tallyRow
}

// tallyRow holds the counts of a place, by the kind of fault.
type tallyRow [turn.FaultKindEnd]struct {
	tried   int
	refused string
	planned bool
}

func newTally(kinds []turn.FaultKind) *tally {
	return &tally{kinds: kinds, rows: map[place]*tallyRow{}}
}

// first marks a fault as planned for a cell, and reports whether it is the first one.
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

// table returns the table to show; rows are in the order of the kinds of crossings.
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

// String returns the table with one line for each kind of crossing. A line has the kinds of faults
// that were tried, with counts, and letters for the reasons why others were not. The reasons are
// listed below, with the kinds of faults to which they apply.
func (t Table) String() string {
	var b strings.Builder
	width := 0
	for _, row := range t.Rows {
		width = max(width, len(row.Crossing))
	}
	margin := strings.Repeat(" ", width+2*len("  "))
	var reasons []string
	kinds := map[string][]string{} // the kinds that were not tried, by reason
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

// reasonLetter returns the letter of the reason with number n.
func reasonLetter(n int) string { return string(reasonLetters[n%len(reasonLetters)]) }

// reasonLetters are the letters for the reasons why something was not tried.
const reasonLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// shows reports whether a kind of fault has a column. Faults of the world, of media and of tool
// results have one if any fault of that group was tried.
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

// setIn is the indentation of what is below a line.
const setIn = "    "
