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

// history is one turn as far as it has been observed: the state that several checkers need, and
// what they found. A place is the number of a crossing; zero means no place.
//
// It does not use calls.Tree. Checkers look on while a turn runs; they look for lines that are
// linked to no call or to the wrong one; and an exploration makes a history for each of its
// thousands of runs, in the memory of the run before. The rules that say which call belongs to
// which operation are those of package calls.
type history struct {
	info       adk.RunInfo
	invariants []Invariant
	watchers   []checker  // by index of their invariant; nil until needed
	used       []checker  // the checkers of earlier turns, by the same index
	remaking   []remaking // the elements of used that implement it; nil for the others
	present    int        // index of the invariant or advice whose checker is running
	found      []Violation
	advisers   []checker // checkers that look for hints
	hinted     []Hint

	n       int // the number of the present crossing
	fold    *state.Fold
	lineErr error // what the fold finds wrong in the present event
	foldErr error // why the fold could not apply the present crossing

	root   *seamCall
	calls  []*seamCall       // by id, as long as there are no gaps
	strays map[int]*seamCall // calls whose ids are not in sequence
	// Calls and operations are allocated many at a time and reused for the next turn.
	spare     []seamCall
	spareOps  []openOp
	opened    int // how many operations were used
	madeCalls []seamCall
	madeOps   []openOp

	open []*seamCall // calls that have not returned, in the order in which they began
	ops  []*openOp   // operations that are not done, in the order in which they began

	// at is the call to which the present crossing belongs. For a call and its return, at is the
	// caller and called is the call itself. op is the operation that begins or ends with the
	// crossing, or that made the call. An unknown call is represented by stranger, an unknown
	// operation by nil.
	at, called, stranger *seamCall
	op                   *openOp

	cancelled     int
	goexited      bool // user code ended a goroutine (PIP-11)
	instructions  []string
	input, output stageFailures  // failures in the turn's pipelines
	lastFailure   *stageFailures // where the last failure was counted
	mirror        mirror
}

// seamCall is one seam call.
type seamCall struct {
	id, strand   int
	seam         adk.Seam
	parent       *seamCall
	dispatch     *dispatching // in which it takes place
	op           *openOp      // the operation that made it
	began, ended int
	outcome      adk.Outcome

	index   int    // of a middleware: its index in the pipeline
	next    int    // place where it called next
	entered int    // place of the middleware that its next entered
	untold  [4]int // events still to come from its reports and emits

	below   []*seamCall // calls it made that have not returned, in the order they began
	running []*openOp   // its operations that are not done, in the order they began
}

// dispatching is one run of the dispatch loop.
type dispatching struct {
	call       *seamCall
	above      *dispatching // the dispatch from which it was called
	refused    bool         // its own context was done when it was called
	names      *adk.RunInfo // names of its pipelines' middlewares
	phase      phase
	started    int   // how many iterations have started
	iterating  int   // place where the present iteration began
	inputs     int   // place of the first middleware of the input pipeline in this iteration
	iterated   int   // place where the last iteration ended
	signalling phase // the phase in which the first signal was given
	acked      int
	ackOp      int // the operation of the accepted ack
	nacked     int
	nackInVain bool // the run was already aborted at the nack
	failures   stageFailures
	errors     int // how many error events there were
	ended      int
	// unexplained is set if the dispatch ended as aborted although nothing aborted it.
	unexplained bool
	queue       []delta // changes that wait for the flush
	unkept      []delta // those of them that still wait for the storage (DEL-6)
}

// phase is how far an iteration has come.
type phase int

const (
	phaseNone     phase = iota
	phaseBegun          // dispatchStart was emitted
	phaseInput          // iterationStart was emitted
	phaseState          // the state before the executor was recorded
	phaseExecutor       // the executor was called
	phaseOutput         // the output pipeline was entered
	phaseIterated       // iterationEnd was emitted
	phaseFailed         // the error event was emitted
	phaseEnded          // dispatchEnd was emitted
)

// stageFailures counts the failures of one pipeline pass, or of all stages of a dispatch. Once the
// run is aborted, an error that a stage returns does not count (ABT-13), but a panic does.
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
	open    int       // how many of its calls have not returned
	timer   int
	goexits bool // a call that it made ended its goroutine by Goexit
}

// delta is a change of a set or of a collection.
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

// begins resets the history for another turn, and reuses its memory.
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

// holds checks the crossings of the turn against all invariants. If whole is set, the crossings are
// all of the turn, and holds also reports what is missing at its end.
func (s *history) holds(crossings iter.Seq[*adk.Crossing], whole bool) []Violation {
	for x := range crossings {
		s.tell(x)
	}
	if whole {
		s.end()
	}
	return s.inOrder()
}

// tell processes the next crossing.
func (s *history) tell(x *adk.Crossing) {
	s.n++
	s.begin(x)
	s.lineErr = nil
	if x.Kind == adk.KindToolCallEvent && s.at.untold[toolCallEvent] > 0 {
		line := *x
		line.Payload = nil // the line alone is checked
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

// look passes the crossing to the checkers that want its kind.
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

// watcher makes the checker of an invariant, and reuses the one of an earlier turn if there is one.
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

// end tells the checkers that the turn is over.
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

// begin finds the calls and the operation that the crossing is about.
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

// exchange corrects a wrong guess of maker. If goroutines share a context, two equal operations may
// be open, and only their end shows which call belongs to which. If the operation that is done does
// not fit its call, but fits the call of another equal operation, the two swap calls.
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

// fits reports whether an operation can end as x says, after it made the given call or, if made is
// nil, no call. A tool is not called if its arguments are refused or if the run is aborted.
func (op *openOp) fits(made *seamCall, x *adk.Crossing, aborted bool) bool {
	if made == nil {
		return op.kind == adk.KindExecute && (errors.Is(x.Err, adk.E_INVALID_TOOL_ARGS) || aborted && x.Err != nil)
	}
	return made.ended > 0 && (made.outcome == adk.OutcomeOK) == (x.Err == nil)
}

// like reports whether two operations have equal kinds and arguments.
func (c delta) like(other delta) bool {
	return c.kind == other.kind && c.of == other.of && c.key == other.key && c.record == other.record
}

// opens registers an operation that begins.
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

// call returns the call with that id, or stranger.
func (s *history) call(id int) *seamCall {
	if id > 0 && id <= len(s.calls) {
		return s.calls[id-1]
	}
	return cmp.Or(s.strays[id], s.stranger)
}

// known reports whether the call has begun.
func (c *seamCall) known() bool { return c.began > 0 }

// openOp returns the operation with that number that is not done, or nil. A damaged trace may have
// several; openOp then returns the last.
func (s *history) openOp(number int) *openOp {
	for _, op := range slices.Backward(s.ops) {
		if op.number == number {
			return op
		}
	}
	return nil
}

// madeAtOnce is how many calls or operations are allocated at a time.
const madeAtOnce = 8

// enter registers a call that begins.
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

// maker returns the open operation that makes a call, or nil, because the engine makes some calls
// by itself. If several operations can have made it, since goroutines share a context, maker
// returns the first one with the same arguments.
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

// makes reports whether the operation can have made the call that begins with x.
func (op *openOp) makes(c *seamCall, x *adk.Crossing) bool {
	switch {
	case c.seam.Label == adk.LabelOnAck: // one ack calls all handlers
		return op.kind.LeadsTo() == adk.LabelOnAck
	case c.isMiddleware():
		return op.made == nil && op.kind == adk.KindNext
	}
	return op.made == nil && calls.LeadsTo(&adk.Crossing{Kind: op.kind, Collection: op.delta.of, Record: op.delta.record}, x)
}

func (c *seamCall) isMiddleware() bool { return wire.IsPipeline(c.seam) }

// isLoop reports whether the call is the run or a dispatch, that is, the engine's own code.
func (c *seamCall) isLoop() bool { return wire.ByEngine(c.seam) }

// inTurn reports whether the call is one of the turn's own stages.
func (s *history) inTurn(c *seamCall) bool {
	return s.root != nil && c.parent == s.root && s.root.seam.Label == adk.LabelRun
}

// ownDispatch reports whether the call is the dispatch of the turn itself.
func (c *seamCall) ownDispatch() bool {
	return c.seam.Label == adk.LabelDispatch && c.seam.Name == ""
}

// byUser reports whether user code made the call at a time that it chose: by an operation, or by
// calling a dispatch. If user code did so on a plain goroutine, nothing waits for the call
// (RUN-11).
func (c *seamCall) byUser() bool {
	switch c.seam.Label {
	case adk.LabelTool, adk.LabelOnAck:
		return true
	case adk.LabelStorage:
		return c.parent.seam.Label != adk.LabelDispatch // otherwise it is a flush (DEL-6)
	case adk.LabelDispatch:
		return c.seam.Name != "" && c.parent.known()
	}
	return false
}

// forsaken reports whether nothing waits for the call any more: the call, or one above it, was made
// on a plain goroutine by a seam call that has returned.
func (c *seamCall) forsaken() bool {
	for ; c.parent != nil; c = c.parent {
		if c.byUser() && c.parent.ended > 0 {
			return true
		}
	}
	return false
}

// does reports whether c is the call of the dispatch itself.
func (d *dispatching) does(c *seamCall) bool { return d != nil && d.call == c }

func (d *dispatching) signalled() int { return max(d.acked, d.nacked) }

// take applies what the crossing changes.
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

// failuresOf returns where a failure of the call counts, or nil if the call is not a stage.
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

// judge counts the call if it is a failed stage: one that returned an error, panicked, or
// short-circuited (PIP-5, PIP-7, DSP-6).
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

// takeCancel records that the run is aborted. If the abort error of a stage did it, that error was
// counted as a failure before, although it is none (ABT-3).
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

// put puts a value into a map, and makes the map first if it is nil: few turns need one.
func put[K comparable, V any](into *map[K]V, key K, value V) {
	if *into == nil {
		*into = map[K]V{}
	}
	(*into)[key] = value
}

// without removes the element that began at a place from a list in the order of beginnings.
func without[T comparable](list []T, one T, began int, beginning func(T) int) []T {
	if last := len(list) - 1; last >= 0 && list[last] == one { // the usual case
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

// breaks reports that the present crossing violates the present invariant.
func (s *history) breaks(related []int, format string, args ...any) {
	s.breaksAt(s.n, s.place(), related, format, args...)
}

// mostOfOne is how many violations of one invariant are kept: after one breach, all that follows
// often seems to break the invariant too.
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

// earlier returns the places before n without zeros and duplicates, sorted.
func earlier(n int, places []int) (known []int) {
	for _, place := range places {
		if place > 0 && place < n {
			known = append(known, place)
		}
	}
	slices.Sort(known)
	return slices.Compact(known)
}

// place returns the call to which a violation at the present crossing is attributed.
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

// inOrder returns the violations in the order of their crossings.
func (s *history) inOrder() []Violation {
	slices.SortStableFunc(s.found, func(a, b Violation) int { return a.Crossing - b.Crossing })
	return s.found
}

// since lists the places that are related to a violation.
func since(places ...int) []int { return places }
