package property

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// history is one turn as far as it has been told: what several watchers have to
// know, and what they found. A place in it is the number of a crossing; zero is
// nowhere.
//
// It is no calls.Tree: watchers look on while a turn runs, what they look for is that
// a line is linked to none, or wrongly, and an exploration makes a history for each of
// its thousands of runs, in the memory of the one before. The rules by which a call is
// an operation's are those of that package.
type history struct {
	info       adk.RunInfo
	invariants []Invariant
	watchers   []checker  // by the place of their invariant; nil until they are needed
	used       []checker  // those of earlier turns
	remaking   []remaking // those of used that are; nil for the others
	present    int        // the place of the invariant that is looked at
	found      []Violation
	advisers   []checker // who look for hints
	hinted     []Hint

	n       int // the present crossing
	fold    *state.Fold
	lineErr error // what the fold has against the event that crosses
	foldErr error // why the fold could not take the crossing in

	root   *seamCall
	calls  []*seamCall       // by number, as long as none is missing
	strays map[int]*seamCall // the others
	// Calls and operations to be given out, made many at a time, and used again
	// for the next turn.
	spare     []seamCall
	spareOps  []openOp
	opened    int // how many operations were given out
	madeCalls []seamCall
	madeOps   []openOp

	open []*seamCall // those that have not returned, in the order they began
	ops  []*openOp   // in the order in which they began

	// at is the call that the present crossing belongs to; for a call and its
	// return, that is the caller, and called is the call itself. op is the
	// operation that begins or is done with it, or that the call is part of.
	// Unknown calls are strangers, unknown operations nil.
	at, called, stranger *seamCall
	op                   *openOp

	cancelled     int
	goexited      bool // user code ended a goroutine (PIP-11)
	instructions  []string
	input, output stageFailures  // of the turn's pipelines
	lastFailure   *stageFailures // where the last failure was counted
	mirror        mirror
}

// seamCall is one seam call.
type seamCall struct {
	id, strand   int
	seam         adk.Seam
	parent       *seamCall
	dispatch     *dispatching // that it is part of
	op           *openOp      // that made it
	began, ended int
	outcome      adk.Outcome

	index   int    // of a middleware in its pipeline
	next    int    // where it called next
	entered int    // the middleware that its next entered
	untold  [4]int // events to come from its reports and emits

	below   []*seamCall // the calls it made that have not returned, and
	running []*openOp   // its operations that are not done, in the order they began
}

// dispatching is one run of the dispatch loop.
type dispatching struct {
	call       *seamCall
	above      *dispatching // that it was called from
	refused    bool         // its own context was done when it was called
	names      *adk.RunInfo // of its pipelines
	phase      phase
	started    int   // how many iterations were
	iterating  int   // where the present one began
	inputs     int   // the first middleware of its input pipeline
	iterated   int   // where the last one ended
	signalling phase // when the first signal was given
	acked      int
	ackOp      int // the operation of the accepted ack
	nacked     int
	nackInVain bool // the run was aborted when the nack came
	failures   stageFailures
	errors     int // error events
	ended      int
	// unexplained tells that it ended as aborted, and nothing was.
	unexplained bool
	queue       []delta // what waits for the flush
	unkept      []delta // what of it waits for the storage, too (DEL-6)
}

// phase is how far an iteration has come.
type phase int

const (
	phaseNone     phase = iota
	phaseBegun          // dispatchStart was told
	phaseInput          // iterationStart was told
	phaseState          // the state before the executor was told
	phaseExecutor       // the executor was called
	phaseOutput         // the output pipeline was entered
	phaseIterated       // iterationEnd was told
	phaseFailed         // the error was told
	phaseEnded          // dispatchEnd was told
)

// stageFailures are those of one pipeline pass, or of all stages of a dispatch. What
// a stage returns once the run is aborted is none (ABT-13), but for a panic.
type stageFailures struct {
	first, count, panics int
}

// openOp is a spanning operation that has begun and is not done.
type openOp struct {
	number  int
	kind    adk.Kind
	call    *seamCall
	began   int
	delta   delta
	made    *seamCall // the last call it made
	open    int       // how many of those are open
	timer   int
	goexits bool // a call that it made ended its goroutine
}

// delta is one change of a set.
type delta struct {
	kind   adk.Kind
	of     adk.CollectionName
	record adk.Record
	key    string
	at     int
}

func newStory(info adk.RunInfo) *history {
	s := &history{watchers: make([]checker, len(invariants)), used: make([]checker, len(invariants)), remaking: make([]remaking, len(invariants)), fold: state.New(), stranger: &seamCall{}}
	s.begins(info)
	return s
}

// begins makes the story that of another turn, with the memory that it has.
func (s *history) begins(info adk.RunInfo) {
	clear(s.watchers)
	s.fold.Reset()
	*s.stranger = seamCall{}
	if len(s.madeCalls) < len(s.calls) {
		s.madeCalls = make([]seamCall, len(s.calls))
	}
	if len(s.madeOps) < s.opened {
		s.madeOps = make([]openOp, s.opened)
	}
	*s = history{info: info, invariants: invariants, watchers: s.watchers, used: s.used, remaking: s.remaking, fold: s.fold, stranger: s.stranger,
		calls: s.calls[:0], open: s.open[:0], ops: s.ops[:0],
		spare: s.madeCalls, spareOps: s.madeOps, madeCalls: s.madeCalls, madeOps: s.madeOps}
}

// holds holds the crossings of the turn against all invariants. A whole turn has
// nothing missing at its end.
func (s *history) holds(crossings iter.Seq[*adk.Crossing], whole bool) []Violation {
	for x := range crossings {
		s.tell(x)
	}
	if whole {
		s.end()
	}
	return s.inOrder()
}

// tell takes in the next crossing.
func (s *history) tell(x *adk.Crossing) {
	s.n++
	s.begin(x)
	s.lineErr = nil
	if x.Kind == adk.KindToolCallEvent && s.at.untold[toolCallEvent] > 0 {
		line := *x
		line.Payload = nil // its line is enough
		s.lineErr = s.fold.CheckPayload(&line)
	}
	s.foldErr = s.fold.Apply(x)
	s.look(x)
	for i, a := range s.advisers {
		s.present = i
		a.see(s, x)
	}
	s.take(x)
}

// look lets those look at the crossing who wait for its kind.
func (s *history) look(x *adk.Crossing) {
	if s.watchers == nil {
		return
	}
	for _, i := range watching[x.Kind] {
		w := s.watchers[i]
		if w == nil {
			w = s.watcher(i)
		}
		s.present = int(i)
		w.see(s, x)
	}
}

// watcher makes the watcher of an invariant, of that of an earlier turn if there was one.
func (s *history) watcher(i uint8) checker {
	w := s.used[i]
	if known := s.remaking[i]; known != nil {
		known.remake()
	} else {
		w = s.invariants[i].watch(w)
		s.used[i] = w
		s.remaking[i], _ = w.(remaking)
	}
	s.watchers[i] = w
	return w
}

// end tells that nothing follows.
func (s *history) end() {
	s.n++
	s.at, s.called, s.op = s.stranger, s.stranger, nil
	for _, all := range [][]checker{s.watchers, s.advisers} {
		for i, w := range all {
			if w, ends := w.(ender); ends {
				s.present = i
				w.end(s)
			}
		}
	}
}

// begin finds what the crossing is about.
func (s *history) begin(x *adk.Crossing) {
	s.at, s.called, s.op = s.call(x.Call), s.stranger, nil
	switch {
	case x.Kind == adk.KindCall:
		s.enter(x)
	case x.Kind == adk.KindReturn:
		s.called = s.call(x.ID)
		s.op = s.called.op
	case x.Phase == adk.Begin:
		s.opens(x)
	case x.Phase == adk.Done:
		s.op = s.openOp(x.Op)
		s.exchange(x)
	}
}

// exchange gives an operation that is done the call that another one like it seemed
// to have made. Where goroutines share a context, only the end tells whose it was.
func (s *history) exchange(x *adk.Crossing) {
	op := s.op
	if op == nil || op.kind != x.Kind || op.kind == adk.KindNext || op.fits(op.made, x, s.cancelled > 0) {
		return
	}
	for _, other := range op.call.running {
		if other != op && other.delta.like(op.delta) && op.fits(other.made, x, s.cancelled > 0) {
			op.made, other.made = other.made, op.made
			op.open, other.open = other.open, op.open
			op.goexits, other.goexits = other.goexits, op.goexits
			for _, one := range []*openOp{op, other} {
				if one.made != nil {
					one.made.op = one
				}
			}
			return
		}
	}
}

// fits reports whether an operation can be done so after the call that it made, or
// after none: a tool whose arguments are refused is not called, nor is one in an
// aborted run.
func (op *openOp) fits(made *seamCall, x *adk.Crossing, aborted bool) bool {
	if made == nil {
		return op.kind == adk.KindExecute && (errors.Is(x.Err, adk.E_INVALID_TOOL_ARGS) || aborted && x.Err != nil)
	}
	return made.ended > 0 && (made.outcome == adk.OutcomeOK) == (x.Err == nil)
}

// like reports whether two operations are given the same.
func (c delta) like(other delta) bool {
	return c.kind == other.kind && c.of == other.of && c.key == other.key && c.record == other.record
}

// opens makes an operation.
func (s *history) opens(x *adk.Crossing) {
	if len(s.spareOps) == 0 {
		s.spareOps = make([]openOp, madeAtOnce)
	}
	s.op = &s.spareOps[0]
	s.spareOps = s.spareOps[1:]
	s.opened++
	*s.op = openOp{number: x.Op, kind: x.Kind, call: s.at, began: s.n, delta: deltaOf(x, s.n)}
	s.ops = append(s.ops, s.op)
	s.at.running = append(s.at.running, s.op)
}

func deltaOf(x *adk.Crossing, at int) delta {
	return delta{x.Kind, x.Collection, x.Record, x.Key, at}
}

// call is a call by its number.
func (s *history) call(id int) *seamCall {
	if id > 0 && id <= len(s.calls) {
		return s.calls[id-1]
	}
	return cmp.Or(s.strays[id], s.stranger)
}

// known tells that a call has begun.
func (c *seamCall) known() bool { return c.began > 0 }

// openOp is an operation that is not done, by its number: the last one of it, where a
// damaged trace has several.
func (s *history) openOp(number int) *openOp {
	for _, op := range slices.Backward(s.ops) {
		if op.number == number {
			return op
		}
	}
	return nil
}

// madeAtOnce is how many calls, or operations, are made at a time.
const madeAtOnce = 8

// enter makes a call.
func (s *history) enter(x *adk.Crossing) {
	if len(s.spare) == 0 {
		s.spare = make([]seamCall, madeAtOnce)
	}
	c := &s.spare[0]
	s.spare = s.spare[1:]
	*c = seamCall{id: x.ID, strand: x.Strand, seam: x.Seam, parent: s.at, dispatch: s.at.dispatch, began: s.n,
		below: c.below[:0], running: c.running[:0]}
	s.called = c
	if s.root == nil {
		s.root, s.instructions = c, slices.Clone(x.Texts)
	}
	switch {
	case x.ID == len(s.calls)+1:
		s.calls = append(s.calls, c)
	case s.call(x.ID) == s.stranger:
		put(&s.strays, x.ID, c)
	}
	if c.seam.Label == adk.LabelDispatch {
		s.dispatch(c, x)
	}
	if s.op = s.maker(c, x); s.op != nil {
		c.op = s.op
	}
}

func (s *history) dispatch(c *seamCall, x *adk.Crossing) {
	c.dispatch = &dispatching{call: c, above: c.dispatch, names: x.Seams, refused: x.Cause != nil}
	if x.Seams == nil {
		c.dispatch.names = &s.info
	}
}

// maker is the open operation that makes a call, nil if there is none: the
// engine makes some by itself. Of several that can have made it, as where
// goroutines share a context, it is the first that was given the same.
func (s *history) maker(c *seamCall, x *adk.Crossing) *openOp {
	var first *openOp
	for _, op := range c.parent.running {
		if !op.makes(c, x) {
			continue
		}
		if c.seam.Label != adk.LabelStorage || op.delta.carries(x) {
			return op
		}
		if first == nil {
			first = op
		}
	}
	return first
}

// makes reports whether the operation can have made a call, which x begins.
func (op *openOp) makes(c *seamCall, x *adk.Crossing) bool {
	switch {
	case c.seam.Label == adk.LabelOnAck: // one ack calls them all
		return op.kind.LeadsTo() == adk.LabelOnAck
	case c.isMiddleware():
		return op.made == nil && op.kind == adk.KindNext
	}
	return op.made == nil && calls.LeadsTo(&adk.Crossing{Kind: op.kind, Collection: op.delta.of, Record: op.delta.record}, x)
}

func (c *seamCall) isMiddleware() bool { return wire.IsPipeline(c.seam) }

// isLoop tells that the call is the run or a dispatch: the engine's own steps.
func (c *seamCall) isLoop() bool { return wire.ByEngine(c.seam) }

// inTurn tells that the call is one of the turn's own stages.
func (s *history) inTurn(c *seamCall) bool {
	return s.root != nil && c.parent == s.root && s.root.seam.Label == adk.LabelRun
}

// ownDispatch tells that the call is the dispatch of the turn itself.
func (c *seamCall) ownDispatch() bool {
	return c.seam.Label == adk.LabelDispatch && c.seam.Name == ""
}

// byUser tells that user code made the call, at a time of its own choice: by an
// operation, or as a dispatch that it called. Where it did so on a plain
// goroutine nothing waits for it (RUN-11).
func (c *seamCall) byUser() bool {
	switch c.seam.Label {
	case adk.LabelTool, adk.LabelOnAck:
		return true
	case adk.LabelStorage:
		return c.parent.seam.Label != adk.LabelDispatch // that is a flush (DEL-6)
	case adk.LabelDispatch:
		return c.seam.Name != "" && c.parent.known()
	}
	return false
}

// forsaken tells that nothing waits for the call any more: it, or one above it,
// was made on a plain goroutine by a seam call that has returned.
func (c *seamCall) forsaken() bool {
	for ; c.parent != nil; c = c.parent {
		if c.byUser() && c.parent.ended > 0 {
			return true
		}
	}
	return false
}

// does tells that the call is the loop of the dispatch itself.
func (d *dispatching) does(c *seamCall) bool { return d != nil && d.call == c }

func (d *dispatching) signalled() int { return max(d.acked, d.nacked) }

// take takes in what the crossing changes.
func (s *history) take(x *adk.Crossing) {
	switch x.Kind {
	case adk.KindCall:
		s.takeCall()
	case adk.KindReturn:
		s.takeReturn(x)
	case adk.KindAck:
		if d := s.at.dispatch; d != nil && x.Phase == adk.Begin && d.signalled() == 0 {
			d.acked, d.ackOp, d.signalling = s.n, x.Op, d.phase
		}
	case adk.KindNack:
		if d := s.at.dispatch; d != nil && d.signalled() == 0 {
			d.nacked, d.nackInVain, d.signalling = s.n, s.cancelled > 0, d.phase
		}
	case adk.KindNext:
		if x.Phase == adk.Begin && s.at.next == 0 {
			s.at.next = s.n
		}
	case adk.KindCancel:
		s.takeCancel(x)
	case adk.KindTimer:
		if op := s.openOp(x.N); op != nil {
			op.timer = s.n
		}
	case adk.KindState:
		if d := s.at.dispatch; d.does(s.at) {
			d.phase = phaseState
		}
	case adk.KindAdd, adk.KindRemove:
		if s.at.dispatch == nil && x.Err == nil {
			s.mirror.byHand(deltaOf(x, s.n))
		}
	default:
		s.takeEvent(x)
	}
	if x.Phase == adk.Done {
		s.takeDone(x)
	}
}

func (s *history) takeCall() {
	c, d := s.called, s.called.dispatch
	s.open = append(s.open, c)
	c.parent.below = append(c.parent.below, c)
	if op := c.op; op != nil {
		op.made = c
		op.open++
		if op.kind == adk.KindNext {
			op.call.entered = s.n
		}
	}
	switch {
	case !d.does(c.parent):
	case c.seam.Label == adk.LabelDispatchInput:
		d.inputs = s.n
	case c.seam.Label == adk.LabelExecutor:
		d.phase = phaseExecutor
	case c.seam.Label == adk.LabelDispatchOutput:
		d.phase = phaseOutput
	}
}

func (s *history) takeReturn(x *adk.Crossing) {
	c := s.called
	if !c.known() || c.ended > 0 {
		return
	}
	c.ended, c.outcome = s.n, x.Outcome
	s.goexited = s.goexited || x.Outcome == adk.OutcomeGoexit
	s.open = without(s.open, c, c.began, (*seamCall).beginning)
	c.parent.below = without(c.parent.below, c, c.began, (*seamCall).beginning)
	if op := c.op; op != nil {
		op.open--
		op.goexits = op.goexits || x.Outcome == adk.OutcomeGoexit
	}
	if f := s.failuresOf(c); f != nil {
		s.judge(f, c)
	}
}

// failuresOf is where a failure of the call counts, nil if it is no stage.
func (s *history) failuresOf(c *seamCall) *stageFailures {
	switch c.seam.Label {
	case adk.LabelTurnInput:
		return &s.input
	case adk.LabelTurnOutput:
		return &s.output
	case adk.LabelDispatchInput, adk.LabelDispatchOutput, adk.LabelExecutor:
	case adk.LabelStorage:
		if c.byUser() {
			return nil
		}
	default:
		return nil
	}
	if c.dispatch == nil {
		return nil
	}
	return &c.dispatch.failures
}

// judge counts a failed stage: by an error, a panic, or a short-circuit (PIP-5,
// PIP-7, DSP-6).
func (s *history) judge(f *stageFailures, c *seamCall) {
	signalled := c.dispatch != nil && c.dispatch.signalled() > 0
	switch {
	case c.outcome == adk.OutcomePanic:
		f.panics++
	case s.cancelled > 0:
		return
	case c.outcome == adk.OutcomeError:
	case c.outcome == adk.OutcomeOK && c.isMiddleware() && c.next == 0 && !signalled:
	default:
		return
	}
	f.count++
	f.first = cmp.Or(f.first, s.n)
	s.lastFailure = f
}

// takeCancel takes in that the run is aborted. Where a stage's abort error did
// it, that was no failure (ABT-3).
func (s *history) takeCancel(x *adk.Crossing) {
	s.cancelled = cmp.Or(s.cancelled, s.n)
	if f := s.lastFailure; x.Key == wire.CancelStage && f != nil && f.count > f.panics {
		f.count--
	}
}

func (s *history) takeEvent(x *adk.Crossing) {
	d := s.at.dispatch
	if !d.does(s.at) {
		return
	}
	switch x.Kind {
	case adk.KindDispatchStart:
		d.phase = phaseBegun
	case adk.KindIterationStart:
		d.phase, d.iterating, d.inputs = phaseInput, s.n, 0
		d.started++
	case adk.KindIterationEnd:
		d.phase, d.iterated = phaseIterated, s.n
		s.mirror.flush(d, d.nacked == 0 && s.cancelled == 0)
	case adk.KindErrorEvent:
		d.phase = phaseFailed
		d.errors++
	case adk.KindDispatchEnd:
		d.phase, d.ended = phaseEnded, s.n
		s.mirror.flush(d, x.Status == adk.StatusAck)
	}
}

func (s *history) takeDone(x *adk.Crossing) {
	op := s.op
	if op == nil {
		return
	}
	s.ops = without(s.ops, op, op.began, (*openOp).beginning)
	op.call.running = without(op.call.running, op, op.began, (*openOp).beginning)
	if d := op.call.dispatch; d != nil && x.Err == nil && op.kind == x.Kind && op.writes() {
		d.queue = append(d.queue, op.delta)
	}
}

func (c *seamCall) beginning() int { return c.began }
func (op *openOp) beginning() int  { return op.began }

// put puts a value into a map, which is made where there is none yet: few turns need one.
func put[K comparable, V any](into *map[K]V, key K, value V) {
	if *into == nil {
		*into = map[K]V{}
	}
	(*into)[key] = value
}

// without takes what began at a place out of a list in the order of beginnings.
func without[T comparable](list []T, one T, began int, beginning func(T) int) []T {
	if last := len(list) - 1; last >= 0 && list[last] == one { // as most are
		var none T
		list[last] = none
		return list[:last]
	}
	i, found := position(list, began, beginning)
	if !found || list[i] != one {
		return list
	}
	return slices.Delete(list, i, i+1)
}

func position[T any](list []T, began int, beginning func(T) int) (int, bool) {
	return slices.BinarySearchFunc(list, began, func(at T, began int) int { return beginning(at) - began })
}

func (op *openOp) writes() bool {
	return op.kind.Touches() == adk.TouchWriting
}

// breaks reports that the present crossing breaks the present invariant.
func (s *history) breaks(related []int, format string, args ...any) {
	s.breaksAt(s.n, s.place(), related, format, args...)
}

// mostOfOne is how many violations of one invariant are kept: what is broken in
// one place often seems to be in all that follow.
const mostOfOne = 10

func (s *history) breaksAt(n int, at *seamCall, related []int, format string, args ...any) {
	invariant := s.invariants[s.present]
	already := 0
	for _, v := range s.found {
		if v.Invariant == invariant.Name {
			already++
		}
	}
	if already == mostOfOne {
		return
	}
	v := Violation{Invariant: invariant.Name, Rule: invariant.Rule, Crossing: n, Text: safetext.Line(fmt.Sprintf(format, args...)), Related: earlier(n, related)}
	if at.known() {
		v.Seam = safetext.Line(at.seam.String())
	}
	s.found = append(s.found, v)
}

// earlier are the places before n that are known, each once, in order.
func earlier(n int, places []int) (known []int) {
	for _, place := range places {
		if place > 0 && place < n {
			known = append(known, place)
		}
	}
	slices.Sort(known)
	return slices.Compact(known)
}

// place is the call in which a violation is.
func (s *history) place() *seamCall {
	switch {
	case s.called.known():
		return s.called
	case s.at.known():
		return s.at
	case s.root != nil:
		return s.root
	}
	return s.stranger
}

// inOrder are the violations in the order of their crossings.
func (s *history) inOrder() []Violation {
	slices.SortStableFunc(s.found, func(a, b Violation) int { return a.Crossing - b.Crossing })
	return s.found
}

// since are places as they are related to a violation.
func since(places ...int) []int { return places }
