package explore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/beside"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/internal/columns"
	"github.com/adkreplay/adkreplay/property/internal/oracle"
	"github.com/adkreplay/adkreplay/property/internal/strays"
	"github.com/adkreplay/adkreplay/property/internal/subtests"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// candidate is a schedule to run, with what is known about it.
type candidate struct {
	input  turn.Input
	script *script // the answers of the world, if some are left out
	faults []planned
	picks  []turn.Decision
	// pickedAt holds, for each of picks, the number of the crossing that was to come at that
	// decision.
	pickedAt []int
	// from is the first crossing at which a further fault may be added. Faults are added in the
	// order of time, so that each schedule is made once.
	from int
	cost int
	// orders asks for the orders of the strands of this schedule, instead of the schedule itself,
	// which has already been run.
	orders bool
	// counts makes the table count the last fault.
	counts bool
	// free asks for a run with free strands.
	free bool
	// again asks for a second run, which must do the same.
	again bool
	// random is the seed of a random order of strands; 0 means none.
	random uint64
	// askers asks for a record of which goroutines ask. That takes as long as the rest of the run.
	askers bool
	// plain replaces the odd texts of the schedule by harmless ones.
	plain bool
	// lines are the crossings whose place in user code is wanted.
	lines []int
	// opened asks where package sql opened what stays open. That takes a look at all goroutines at
	// every crossing.
	opened bool
	// number is the number of the schedule among those that were run.
	number int
}

// oddity says how far the faults are from what programs meet every day. Panics come after errors.
// Code that is broken off comes last, since later runs may need what it leaves locked.
func (n *candidate) oddity() (sum int) {
	for i := range n.faults {
		switch f := &n.faults[i]; {
		case f.moment == amidBody:
			sum += 100
		case f.Kind == turn.Panic:
			sum++
		}
	}
	return sum
}

// usualFirst returns the schedules sorted by oddity; those of equal oddity keep their order. It
// sorts indexes, since a candidate is large.
func usualFirst(level []candidate) []candidate {
	places := make([]int, len(level))
	for i := range level {
		places[i] = level[i].oddity()*len(level) + i
	}
	slices.Sort(places)
	sorted := make([]candidate, len(level))
	for i, place := range places {
		sorted[i] = level[place%len(level)]
	}
	return sorted
}

func (n candidate) schedule() turn.Schedule {
	s := turn.Schedule{Input: n.input, Without: n.script.without(), Order: n.picks}
	for _, f := range n.faults {
		s.Faults = append(s.Faults, f.Fault)
	}
	return s
}

// tried is the result of a run.
type tried struct {
	candidate  candidate
	violations []property.Violation
	hints      []property.Violation // what is legal and may be intended
	before     []property.Violation // violations that occurred before any fault came
	waited     bool
	// The faults that can be added from here on, and those that cannot. They are set only if the
	// bound allows another fault.
	more    []planned
	refused []untriable
	choices bool     // strands could go on in another order
	hits    int      // how often the last fault happened, or what it broke was asked for again
	same    int      // how often the last fault happened to calls for the same as the first
	shown   *display // set for a run that did not end, since it cannot be run again
}

// display is what shows a violation to a reader.
type display struct {
	where   []string
	stretch string
	run     *trace.Trace
}

// untriable says why a fault cannot be tried at a place.
type untriable struct {
	cell cell
	why  string
}

// exploring is the exploration of one subject.
type exploring struct {
	ctx     context.Context
	subject turn.Subject
	options Options
	begun   time.Time
	strays  strays.Watch
	workers []*worker
	watcher *watcher
	stalls  stalls
	limit   *watchdog.Limit // bounds code of the subject that the watcher does not watch
	// undisturbed is the turn in which nothing goes wrong; nil if it does not end.
	undisturbed *oracle.Run
	choices     int // choices of the scheduler in the undisturbed turn
	strands     int // strands that had such choices
	others      []turn.Input
	answers     []answer        // answers of the world in the undisturbed turn
	unanswered  []string        // the gates that nobody settled in the undisturbed turn
	met         map[string]bool // the random orders that were run, as schedules
	result      *Exploration
	table       *tally
	known       int // schedules that are still to be run

	reproducing bool

	leftover int         // schedules that were known and will not be run
	lost     bool        // goroutines stayed behind, and that has been reported
	left     atomic.Bool // a check or a Close was left behind
	unfound  bool        // there was no time to find which schedule leaves goroutines behind
	unsteady bool        // the undisturbed turn differs each time, and that has been reported
	first    string      // what only its first run did; empty if the next run did the same
	loose    atomic.Bool // several goroutines ask in one call (attempt.loose)
	// ownAsks is set when a goroutine that user code started asks. It may have been the only one in
	// its call, and in the next run there may be another.
	ownAsks atomic.Bool
	looseAt atomic.Pointer[string]
	outside atomic.Int64 // runs in which others went on while a strand waited by the machine's time
	looseIn sync.Map     // the seams of calls in which several goroutines ask
	beside  []string     // whom the undisturbed turn asks with a context that belongs to no call
	astray  bool         // some of that is asked within a call, which is a hint
	swayed  int          // schedules of which a run differed from the run that they were derived from
	once    int          // violations that only one run of their schedule showed
	stopped string
}

func newExplorer(ctx context.Context, subject turn.Subject, options Options) *exploring {
	e := &exploring{ctx: ctx, subject: subject, options: options, begun: options.Now(), table: newTally(options.Faults),
		result: &Exploration{Subject: subject.Name, Bound: options.Bound, Violations: []Breach{}, command: options.Command, test: options.test}}
	e.limit = watchdog.NewLimit(ctx, options.realBudget(), overtimeGrace)
	for range options.Workers {
		e.workers = append(e.workers, newWorker(e.closing(subject), &e.loose))
	}
	e.strays = strays.Watch{Labels: e.labels, Background: options.Background, Over: e.over}
	e.watcher = watch(ctx, e.workers, options.realBudget())
	return e
}

// labels returns the labels of the goroutines of all runs that were not given up.
func (e *exploring) labels() []watchdog.Label {
	return safetext.Each(e.workers, func(w *worker) watchdog.Label { return w.attempt.Load().label })
}

// close stops the watcher and the workers. It may be called twice.
func (e *exploring) close() {
	e.limit.Close()
	e.watcher.close()
	for _, w := range e.workers {
		w.close()
	}
}

// explore runs all schedules, those with the fewest faults first.
func (e *exploring) explore() {
	level := e.runLevel([]candidate{{again: true}})
	e.runFree()
	if random := e.randoms(); e.stopped == "" && len(random) > 0 {
		e.runLevel(random)
		if e.choices >= randomChoices {
			e.result.Random = e.randomCover()
		}
	}
	if e.stopped == "" {
		level = append(level, e.inputs()...)
	}
	for len(level) > 0 && e.stopped == "" {
		level = e.runLevel(level)
	}
	e.leftover += len(level)
	e.conclude()
}

// reproduce runs one schedule. If code asks from goroutines of its own, the schedule is run until
// it shows a violation, at most mostByChance times more.
func (e *exploring) reproduce(n candidate) {
	e.reproducing = true
	results := e.parallel([]candidate{n})
	for again := 0; again < mostByChance && e.loose.Load() && results[0] != nil && len(results[0][0].violations) == 0 && !e.over(); again++ {
		if other, err := e.resolve(n.schedule()); err == nil { // in another run calls may have other numbers
			other.again = true
			results = e.parallel([]candidate{other})
		}
	}
	e.lookBehind(results)
	if results[0] == nil {
		e.leftover++
		e.stop(e.whyOver())
	} else {
		e.commit(&results[0][0])
	}
	e.conclude()
}

// mostShown is how many violations, and how many hints, are run again to be shown.
const mostShown = 12

// show runs the schedule of each violation and hint once more and fills in what shows it.
func (e *exploring) show() {
	for _, list := range [][]Breach{e.result.Violations, e.result.Hints} {
		e.showAll(list[:min(mostShown, len(list))])
	}
}

func (e *exploring) showAll(list []Breach) {
	for i := range list {
		b := &list[i]
		if b.Invariant == hangs { // what shows it was kept when it hung
			b.Strands = e.strandsOf(b.from, b.crossings(), append(relatedTo(b.Violation), b.Crossing))
			continue
		}
		if e.over() {
			return
		}
		n := b.from
		n.lines, n.opened = []int{b.Crossing}, b.Invariant == leftBehind
		for _, f := range n.faults {
			n.lines = append(n.lines, f.At)
		}
		a, s := e.runShowing(n, &b.Violation)
		if s == nil || s.kind == crashed {
			b.Where, b.Stretch = a.shown(n, b.Violation)
			b.Code = a.codeOf(n, b.Crossing)
			if n.opened {
				b.Code = append(b.Code, a.leftOpen()...)
			}
			around := append(relatedTo(b.Violation), b.Crossing)
			for _, f := range n.faults {
				around = append(around, a.cameAt(f))
			}
			b.Strands = e.strandsOf(b.from, a.crossings, around)
			b.Run = a.recorded()
		}
	}
}

// strandsOf returns the strands of a run side by side if their order is not the usual one, and an
// empty string otherwise. If they are long, it returns the parts around the given crossings.
func (e *exploring) strandsOf(n candidate, ordered []adk.Crossing, around []int) string {
	if len(n.picks) == 0 {
		return ""
	}
	n.picks, n.pickedAt = nil, nil
	if e.undisturbed != nil && len(n.faults) == 0 && n.input.IsZero() && n.script == nil {
		return columns.Of(e.undisturbed.Crossings, ordered, reportColumns-len(setIn), around...)
	}
	if e.over() {
		return ""
	}
	ordered = slices.Clone(ordered)
	usual, _ := e.workers[0].run(n, false, false)
	return columns.Of(usual.crossings, ordered, reportColumns-len(setIn), around...)
}

// shown describes the faults of a run, and returns the stretch of its transcript that shows v.
func (a *attempt) shown(n candidate, v property.Violation) (where []string, stretch string) {
	if len(a.crossings) == 0 {
		return nil, ""
	}
	if !n.input.IsZero() {
		where = append(where, inputText(n.input))
	}
	if n.script != nil {
		where = append(where, n.script.String())
	}
	related := relatedTo(v)
	for _, f := range n.faults {
		where = append(where, a.says(f))
		if at := a.cameAt(f); at > 0 {
			related = append(related, at)
		}
	}
	if len(n.picks) > 0 {
		where = append(where, turn.Schedule{Order: n.picks}.String()+": the strands go on in another order than the usual one")
	}
	if v.Invariant == checkGiven {
		related = append(related, a.story(n)...)
	}
	shows := max(1, min(v.Crossing, len(a.crossings)))
	last := slices.Max(append(related, shows))
	stretch = property.Excerpt(a.all(), shows, related)
	for _, f := range n.faults {
		if at := a.cameAt(f); at > 0 {
			line, _, _ := strings.Cut(property.Excerpt(a.all(), last, []int{at}), "\n")
			instead := ""
			if f.moment == amidBody { // what was to come never did: another crossing has its number
				instead = f.place.String()
			}
			stretch = marked(stretch, line, instead, "← "+f.Kind.String())
		}
	}
	return where, stretch
}

// marked appends a mark to a line of stretch, however far that line is indented. If instead is not
// empty, it inserts instead with the mark above the line: that is what was to come there.
func marked(stretch, line, instead, mark string) string {
	lines := strings.Split(stretch, "\n")
	at := slices.IndexFunc(lines, func(one string) bool { return strings.TrimSpace(one) == strings.TrimSpace(line) })
	switch {
	case at < 0:
	case instead != "":
		indent := lines[at][:len(lines[at])-len(strings.TrimLeft(lines[at], " "))]
		lines = slices.Insert(lines, at, indent+instead+"  "+mark)
	default:
		lines[at] += "  " + mark
	}
	return strings.Join(lines, "\n")
}

// crossingNamed matches a crossing that a text mentions.
var crossingNamed = regexp.MustCompile(`\bcrossing (\d+)\b`)

// relatedTo returns the earlier crossings that are needed to understand a violation, including
// those that its text mentions.
func relatedTo(v property.Violation) []int {
	all := slices.Clone(v.Related)
	for _, named := range crossingNamed.FindAllStringSubmatch(v.Text, -1) {
		if at, err := strconv.Atoi(named[1]); err == nil && 0 < at && at < v.Crossing {
			all = append(all, at)
		}
	}
	return all
}

// mostTold is how many operations are shown of a run that a check rejects.
const mostTold = 6

// story guesses which crossings a check may mean, as a check only says that the run is wrong in the
// end. First come the writes of the whole run, those nearest to the last fault first. If there is
// room, what others could see after the last fault follows. Log lines count only if nothing was
// written. Without a fault or another input there is no story.
func (a *attempt) story(n candidate) (all []int) {
	from := 0
	for _, f := range n.faults {
		from = max(from, f.At)
	}
	if from == 0 && n.input.IsZero() {
		return nil
	}
	away := func(seq int) int { return max(seq-from, from-seq) }
	var told [untold][]int
	for x := range a.all() {
		if as := tellingOf(x); as < wasSeen || as < untold && x.Seq > from {
			told[as] = append(told[as], x.Seq)
		}
	}
	if len(told[wroteWorld])+len(told[wroteStorage]) > 0 {
		told[wasLogged] = nil
	}
	for as := range told {
		slices.SortStableFunc(told[as], func(x, y int) int { return away(x) - away(y) })
		all = append(all, told[as]...)
	}
	return all[:min(mostTold, len(all))]
}

// telling says how much an operation tells about the outcome of a run.
type telling int

const (
	wroteWorld telling = iota
	wroteStorage
	wasSeen // others see it: listeners observe it, or it says how everything ends
	wasLogged
	untold
)

// tellingOf returns how much an operation tells. An HTTP request with unknown effect is taken to
// write unless its method is GET or POST: a POST may be a request to a model.
func tellingOf(x *adk.Crossing) telling {
	k := x.Kind
	switch method, _, _ := httpform.RequestLine(x.JSON); {
	case k.Class() != adk.ClassOperation || x.Phase == adk.Done:
	case wire.IsLog(x):
		return wasLogged
	case wire.Asks(x) && (x.Status == string(adk.EffectReads) || method == http.MethodGet || strings.HasPrefix(x.Name, adk.FaultPoints)):
	case wire.Asks(x) && (x.Status == string(adk.EffectWrites) || method != "" && method != http.MethodPost):
		return wroteWorld
	case k.Touches() == adk.TouchWriting:
		return wroteStorage
	case k.Touches() == adk.TouchSeam, len(k.Causes()) > 0, k.LeadsTo() == adk.LabelOnAck, k.Uses(adk.FieldCause):
		return wasSeen
	}
	return untold
}

// recorded returns the run as a trace, nil if nothing of the run was observed.
func (a *attempt) recorded() *trace.Trace {
	if len(a.crossings) == 0 {
		return nil
	}
	lines := make([]trace.Line, len(a.crossings))
	for i, x := range a.crossings { // the next run overwrites a.crossings
		lines[i].Crossing = x
	}
	run := trace.New(trace.Header{Info: a.info, Start: a.crossings[0].At}, lines)
	run.Sealed = !a.crashed.Load()
	return run
}

// faultWords say what a fault does; the place of the fault follows.
var faultWords = [turn.FaultKindEnd]string{
	turn.Cancel: "the caller cancels before", turn.CancelAfter: "the caller cancels behind", turn.Deadline: "the deadline passes before",
	turn.Fail: "user code fails at", turn.Panic: "user code panics at", turn.Cut: "the stream breaks off before",
	turn.StorageBefore: "the storage fails at", turn.StorageAfter: "the storage has written and fails at",
	turn.LateTool: "the caller cancels, and the tool does not notice, at", turn.GateEarly: "somebody settles the gate with a no at",
	turn.Down: "from here on it fails each time:", turn.Flaky: "it fails, and then no more:",
	turn.DownOne: "from here on it fails for this one, each time:", turn.Crash: "the program crashes before",
	turn.AskRefused: "nobody takes the call of", turn.AskTimeout: "the time runs out before an answer to", turn.AskStalled: "the time runs out before",
	turn.AskBusy: "429 is what answers", turn.AskFailed: "500 is what answers", turn.AskUnavailable: "503 is what answers", turn.AskUnauthorized: "401 is what answers",
	turn.AskCut: "the connection breaks before", turn.AskCutWithin: "the connection breaks within", turn.AskTwice: "it comes twice:",
	turn.AskEmpty: "nothing is what answers", turn.AskShort: "the answer ends, in the middle of its JSON, within", turn.AskOther: "the answer to another one answers",
	turn.AskSlow: "the answer takes an hour to", turn.ChatArguments: "arguments that are no JSON come of", turn.ChatTool: "a tool that there is not is wanted by",
	turn.ChatSeveral: "the same tool is wanted twice at once by", turn.AskDown: "from here on nobody takes the call of", turn.AskDownOne: "from here on nobody takes this call, each time, of", turn.AskLost: "it is done, and the answer is lost, of",
	turn.AskBare: "an object or a list of nothing is what answers", turn.AskAgain: "from here on the same answer comes, each time, to",
	turn.ChatTwins: "two calls of one id come of", turn.ChatLength: "the model is out of tokens in", turn.ChatRefusal: "the model refuses",
	turn.MediaFails: "the reader fails in the middle of", turn.MediaShort: "the reader ends early in", turn.MediaOther: "the reader gives other bytes in",
	turn.ResultEmpty: "the tool gives nothing at", turn.ResultCut: "the tool gives half a text at",
	turn.ResultLong: "the tool gives far more at", turn.ResultOdd: "the tool gives something odd behind it at",
	turn.GateLate: "somebody settles the gate with a no, too late, at", turn.GateTwice: "somebody settles the gate again, with a no, at", turn.GateUnanswered: "nobody answers the gate in its time at",
}

// conclude completes the result and closes the exploration.
func (e *exploring) conclude() {
	e.result.withoutEchoes()
	if e.loose.Load() && e.looseAt.Load() != nil && !e.reproducing { // NotCovered says it, with the line of code
		e.result.Hints = slices.DeleteFunc(e.result.Hints, func(b Breach) bool { return b.Invariant == unsteadyRun && strings.HasSuffix(b.Text, looseOrder) })
	}
	e.doubtChecks()
	e.shorten()
	e.show()
	e.result.withoutTwins()
	e.close()
	e.result.Table = e.table.table()
	e.result.NotCovered = e.notCovered()
	e.result.Elapsed = e.options.Now().Sub(e.begun)
}

// chunk and firstChunk are how many schedules are run between two checks of the exploration as a
// whole: at most, and at first. They are small enough to report progress of slow turns, and to
// notice what schedules leave behind before time is up. They are large enough to keep the checks
// cheap.
const (
	chunk      = 1024
	firstChunk = 64
)

// runLevel runs the schedules of one cost and returns those with one more thing wrong.
func (e *exploring) runLevel(level []candidate) (next []candidate) {
	level = usualFirst(level)
	for len(level) > 0 && e.stopped == "" {
		size := min(chunk, max(firstChunk, e.result.Schedules), len(level), e.remaining())
		results := e.parallel(level[:size])
		e.lookBehind(results)
		level = level[size:]
		next = slices.Grow(next, follow(results))
		for _, all := range results {
			if all == nil {
				e.leftover++
				continue
			}
			for i := range all {
				t := &all[i]
				if !e.isNew(&t.candidate) {
					continue
				}
				if e.remaining() == 0 {
					e.stop(e.scheduleLimit())
					e.leftover++
					continue
				}
				e.commit(t)
				next = e.children(next, t)
				level = append(level, e.longer(t)...)
			}
		}
		e.known = len(level) + len(next)
		if e.options.Progress != nil {
			e.options.Progress(e.result.Schedules, e.result.Schedules+e.known)
		}
		switch {
		case e.over():
			e.stop(e.whyOver())
		case e.remaining() == 0 && e.known > 0:
			e.stop(e.scheduleLimit())
		}
	}
	e.leftover += len(level)
	return next
}

func (e *exploring) stop(why string) {
	if e.stopped == "" {
		e.stopped = why
	}
}

// remaining returns how many schedules may still be run.
func (e *exploring) remaining() int {
	if e.options.Schedules <= 0 {
		return int(^uint(0) >> 1)
	}
	return max(0, e.options.Schedules-e.result.Schedules)
}

func (e *exploring) scheduleLimit() string {
	return fmt.Sprintf("the limit of %s was reached", inWords(e.options.Schedules, "schedule"))
}

// over reports whether time is up.
func (e *exploring) over() bool {
	return e.ctx.Err() != nil || e.stalls.over() != "" || (e.options.Budget > 0 && e.options.Now().Sub(e.begun) >= e.options.Budget)
}

func (e *exploring) whyOver() string {
	switch cause := context.Cause(e.ctx); {
	case errors.Is(cause, subtests.ErrTimeout):
		return cause.Error()
	case cause != nil:
		return "the exploration was interrupted"
	}
	if why := e.stalls.over(); why != "" {
		return why
	}
	return fmt.Sprintf("the budget of %s was used up", e.options.Budget)
}

// parallel runs schedules on all workers. Results are in the order of nodes, and nil for those for
// which there was no time.
func (e *exploring) parallel(nodes []candidate) [][]tried {
	all := &share{e: e, nodes: nodes, results: make([][]tried, len(nodes)), singles: make([]tried, len(nodes))}
	var group sync.WaitGroup
	for _, w := range e.workers[1:min(len(e.workers), len(nodes))] {
		group.Go(func() { all.work(w) })
	}
	all.work(e.workers[0])
	group.Wait()
	return all.results
}

// share is a list of schedules that workers take from.
type share struct {
	e       *exploring
	nodes   []candidate
	results [][]tried
	singles []tried // storage for the results that consist of one run, allocated at once
	taken   atomic.Int64
}

// work runs schedules until none is left, or time is up.
func (s *share) work(w *worker) {
	p := part{share: s, worker: w}
	w.each(p.next, p.ran)
}

// part is the work of one worker on a share.
type part struct {
	*share
	worker *worker
	at     int                  // index of the schedule that is under way
	again  int                  // how often it is still to be run again
	first  []adk.Crossing       // the crossings of its first run
	doubt  []property.Violation // how a second run differed; a third run then records who asks
	orders *orderSearch         // the search for orders that is under way
}

// next prepares an attempt for the next run: a repetition, a run of the search for orders, or a
// schedule that no worker has taken.
func (p *part) next(a *attempt) bool {
	if p.again > 0 && (p.doubt != nil || !p.e.over()) {
		n := p.nodes[p.at]
		n.askers = p.doubt != nil
		a.reset(n, nil, false, false)
		return true
	}
	for p.orders == nil || !p.orders.next(a) {
		if p.orders != nil {
			p.results[p.at], p.orders = p.orders.all, nil
		}
		p.at = int(p.taken.Add(1)) - 1
		if p.at >= len(p.nodes) || p.e.over() {
			return false
		}
		n := p.nodes[p.at]
		if !n.orders {
			further := n.cost < p.e.options.Bound && n.random == 0
			a.reset(n, nil, further, further || n.random > 0)
			if n.random > 0 {
				a.order.random = newPriorities(n.random, p.e.choices)
			}
			return true
		}
		p.orders = searchOrders(p.e, n)
	}
	return true
}

// ran judges a run, or compares a repetition with the first run.
func (p *part) ran(a *attempt, s *stall) {
	if s != nil {
		defer p.e.gaveUp(p.worker, p.nodes[p.at], s)
	}
	if p.orders != nil {
		p.orders.ran(a, s)
		return
	}
	if p.again > 0 {
		p.again--
		p.ranAgain(a, s)
		return
	}
	n := p.nodes[p.at]
	if n.random > 0 {
		n.picks, n.pickedAt = decisions(a.order.choices)
	}
	p.e.notFirst(n, a, s)
	p.singles[p.at] = p.e.judge(a, n, s)
	p.results[p.at] = p.singles[p.at : p.at+1 : p.at+1]
	if n.again && s == nil && a.after == nil && !a.passed() {
		p.again = p.e.repeats(n)
		p.first, a.crossings = a.crossings, p.first
	}
}

// ranAgain compares a repetition with the first run. If they differ, it asks for a third run, which
// records whether goroutines of user code ask.
func (p *part) ranAgain(a *attempt, s *stall) {
	p.judgeAgain(a, s)
	if a.cut.Load() || p.e.over() { // it was broken off with the exploration, and proves nothing
		p.doubt = nil
		return
	}
	if p.doubt == nil {
		if p.doubt = sameAgain(p.first, a, s); len(p.doubt) > 0 {
			p.again = 1
		}
		return
	}
	p.e.isLoose(a)
	t := &p.results[p.at][0]
	t.violations, p.doubt = append(t.violations, p.doubt...), nil
	p.e.loosen(t)
}

// judgeAgain judges one more run of the undisturbed turn, or of a schedule that is reproduced. A
// violation that the first run did not show is marked as nondeterministic.
func (p *part) judgeAgain(a *attempt, s *stall) {
	n, t := p.nodes[p.at], &p.results[p.at][0]
	if s != nil || a.passed() || n.cost > 0 && !p.e.reproducing {
		return
	}
	for _, v := range p.e.judge(a, n, nil).violations {
		if !slices.ContainsFunc(t.violations, func(o property.Violation) bool { return groupOf(o) == groupOf(v) }) {
			v.Text += "\n" + byChance
			t.violations = append(t.violations, v)
		}
	}
}

// manyTimes is how often the undisturbed turn, and a schedule that is reproduced, is run again. Two
// runs may agree by accident, for example in the order of a map.
const manyTimes = 4

// repeats returns how often a schedule is run again.
func (e *exploring) repeats(n candidate) int {
	if n.cost == 0 || e.reproducing {
		return manyTimes
	}
	return 1
}

// lookBehind looks for goroutines that were started in a turn and are still there. It runs the
// schedules again to find the first one that leaves such a goroutine. It does so once only: a
// goroutine that stayed behind earlier cannot be told from a new one.
func (e *exploring) lookBehind(results [][]tried) {
	if e.lost || len(e.strays.Beyond(e.strays.OfClients(e.brokenClients()))) == 0 {
		return
	}
	e.lost = true
	for _, all := range results {
		for i := range all {
			if slices.ContainsFunc(all[i].violations, func(v property.Violation) bool { return v.Invariant == hangs }) {
				return // a turn that hangs leaves all its goroutines behind
			}
			if e.over() {
				e.unfound = true
				return
			}
			before, broken := e.strays.Now(), e.brokenClients()
			e.workers[0].run(all[i].candidate, false, false)
			before = append(before, e.strays.OfClients(e.brokenClients()-broken)...)
			if left := e.strays.Beyond(before); len(left) > 0 {
				all[i].violations = append(all[i].violations, property.Violation{Invariant: leftBehind, Seam: adk.LabelRun, Text: strays.Text(left)})
				return
			}
		}
	}
}

// brokenClients returns how many clients of net/http were broken off.
func (e *exploring) brokenClients() (count int) {
	for _, w := range e.workers {
		count += int(w.attempt.Load().clients.Load())
	}
	return count
}

// follow returns how many schedules with one more fault follow from runs.
func follow(results [][]tried) (count int) {
	for _, all := range results {
		for i := range all {
			count += len(all[i].more)
		}
	}
	return count
}

// children appends the schedules with one more thing wrong that follow from a run.
func (e *exploring) children(next []candidate, t *tried) []candidate {
	if t.candidate.cost >= e.options.Bound || t.candidate.random > 0 {
		return next
	}
	for i := range t.more {
		next = append(next, t.candidate.with(t.more[i:i+1:i+1], e.table.first(t.more[i].cell()) && !e.unsteady))
	}
	if t.choices && len(t.candidate.picks) == 0 {
		orders := t.candidate
		orders.orders = true
		next = append(next, orders)
	}
	return next
}

// with returns the schedule with one more fault, the only element of one. Picks after the new fault
// are dropped: strands proceed as usual there.
func (n candidate) with(one []planned, again bool) candidate {
	at, picks, faults := one[0].At, n.picks, one
	for len(picks) > 0 && n.pickedAt[len(picks)-1] > at {
		picks = picks[:len(picks)-1]
	}
	if len(n.faults) > 0 {
		faults = slices.Concat(n.faults, one)
	}
	return candidate{input: n.input, script: n.script, faults: faults, picks: picks, pickedAt: n.pickedAt[:len(picks)],
		from: at + 1, cost: n.cost + 1, counts: true, again: again}
}

// commit adds a run to the result.
func (e *exploring) commit(t *tried) {
	e.result.Schedules++
	if t.waited {
		e.result.Waited++
	}
	t.candidate.number = e.result.Schedules
	e.doubt(t)
	for _, v := range t.violations {
		if b := e.result.add(&e.result.Violations, t.candidate, v); b != nil && t.shown != nil {
			b.Where, b.Stretch, b.Run = t.shown.where, t.shown.stretch, t.shown.run
		}
		e.unsteady = e.unsteady || t.candidate.cost == 0 && v.Invariant == unsteadyRun
	}
	for _, v := range t.hints {
		e.result.add(&e.result.Hints, t.candidate, v)
	}
	for _, v := range t.before {
		e.result.add(&e.result.Hints, candidate{number: t.candidate.number}, v)
	}
	e.table.commit(t)
}

// besideCall is the invariant that a call breaks by asking with a context other than its own.
// seamCall is the function of the engine that calls user code.
const (
	besideCall = "a call asks with its context"
	seamCall   = "github.com/adkreplay/adkreplay/adk.(*call).invoke"
)

// measure runs the undisturbed turn and records its length, its answers, and what it asks with
// foreign contexts.
func (e *exploring) measure() error {
	asked, astray := map[string]string{}, map[string]bool{} // who is asked, and where; who is asked within a call
	besides := beside.Begin(func(of string) bool {
		if asked[of] == "" { // looking at the stack is expensive
			asked[of] = of
			if where := watchdog.Here().Where(); where != "" {
				asked[of] += ", in " + where + ","
			}
		}
		astray[of] = astray[of] || watchdog.Within(seamCall)
		return true
	})
	defer besides.End() // if user code ends the test
	a, s := e.workers[0].run(candidate{askers: true}, false, true)
	besides.End()
	for _, of := range slices.Sorted(maps.Keys(asked)) {
		if !astray[of] {
			e.beside = append(e.beside, asked[of])
			continue
		}
		e.astray = true
		e.result.add(&e.result.Hints, candidate{}, property.Violation{Invariant: besideCall, Seam: adk.LabelRun,
			Text: asked[of] + " is asked with a context that is no call's: nothing of that crosses, and nothing breaks it. Hand on the call's"})
	}
	e.isLoose(a)
	e.unanswered = a.unanswered()
	if s != nil { // it may still be running
		return nil
	}
	e.choices, e.strands = len(a.order.choices), strandsOf(a.order.choices)
	if !e.subject.Scripted && !e.options.UsualInput {
		e.others = a.history.others()
	}
	if !e.subject.Scripted {
		e.undisturbed, a.oracles = a.read(), oracle.Reader{} // the undisturbed run is kept, so the attempt gets a new reader
		e.undisturbed.Hints, e.undisturbed.Askers = property.Hints(a.info, a.all()), a.countAskers()
		e.undisturbed.Crossings = slices.Clone(a.crossings)
		e.answers = answersOf(e.undisturbed.Crossings, a.played)
		e.undisturbed.Keep()
	}
	if len(a.crossings) >= longestTurn {
		return fmt.Errorf("%s: the turn has not ended after %s, with nothing gone wrong: does anybody signal?", e.subject.Name, inWords(longestTurn, "crossing"))
	}
	for _, w := range e.workers {
		w.usual, w.holding = a.extent, a.holding
	}
	return nil
}

// strandsOf returns how many strands have choices.
func strandsOf(choices []choice) int {
	seen := map[int]bool{}
	for _, c := range choices {
		for _, strand := range c.runnable {
			seen[strand] = true
		}
	}
	return len(seen)
}

// resolve finds out how to make the faults of a schedule. Each fault is resolved in a run that has
// the faults before it.
func (e *exploring) resolve(s turn.Schedule) (candidate, error) {
	n := candidate{input: s.Input, picks: s.Order, cost: len(s.Faults), from: 1}
	if len(s.Without) > 0 {
		if last := s.Without[len(s.Without)-1]; last > len(e.answers) {
			return candidate{}, fmt.Errorf("without@%d cannot happen: the undisturbed turn is given %s", last, inWords(len(e.answers), "answer"))
		}
		n.script = &script{e.answers, s.Without}
	}
	if !s.Input.IsZero() {
		n.cost++
		if a, _ := e.workers[0].run(candidate{}, false, false); !a.history.allows(s.Input) {
			return candidate{}, fmt.Errorf("%s cannot happen: %s", s.Input, a.history.why(s.Input))
		}
	}
	if len(s.Order) > 0 {
		n.cost++
	}
	for _, f := range s.Faults {
		found, err := e.resolveFault(n, f)
		if err != nil {
			return candidate{}, err
		}
		n.faults = append(n.faults, found)
	}
	if len(s.Order) == 0 {
		return n, nil
	}
	a, _ := e.workers[0].run(n, false, true)
	for _, p := range s.Order {
		if p.Choice > len(a.order.choices) {
			return candidate{}, fmt.Errorf("%s: strands had a choice %d times only", p, len(a.order.choices))
		}
		if c := a.order.choices[p.Choice-1]; c.chosen != p.Strand {
			return candidate{}, fmt.Errorf("%s: the strands that could go on were %v", p, c.runnable)
		}
	}
	return n, nil
}

// resolve finds the crossing of a fault in the run that has the faults before it.
func (a *attempt) resolve(f turn.Fault) (planned, error) {
	for s := range a.spots(f.At) {
		if why := s.refuses(f.Kind); why != "" {
			return planned{}, fmt.Errorf("%s@%d cannot happen: crossing %d is %q, and %s", f.Kind, f.At, f.At, s.place(), why)
		}
		p := s.plan(f)
		if f.Member != "" && p.one == "" {
			return planned{}, fmt.Errorf("%s cannot happen: there is no member %q", f, f.Member)
		}
		return p, nil
	}
	return planned{}, fmt.Errorf("%s@%d cannot happen: the turn has %s only", f.Kind, f.At, inWords(len(a.crossings), "crossing"))
}
