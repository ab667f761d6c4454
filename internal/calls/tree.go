package calls

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Tree is a whole run as the tree of its seam calls.
type Tree struct {
	Info    adk.RunInfo
	Lines   []*adk.Crossing // all of them, in order; crossing n is at n-1
	Calls   map[int]*Call
	Root    *Call          // nil if there are no crossings
	Strands map[int]string // their paths
	Opens   map[int]*Step  // the openings of media, by their operations
	Media   *wire.Openings // what they gave; nil where the run is not run again
	// Order is the place of each crossing, by its number, in the order in which the
	// strands take their steps when it is run again, but for what they share, which
	// stays as it is; nil where they run freely.
	Order []int
	// Mixed says that goroutines of live code's own made crossings, which Order may put otherwise
	// than their numbers do, within one strand too.
	Mixed bool
	// Cancels are made behind the crossings of their numbers although they were
	// not recorded.
	Cancels []*adk.Crossing
	// Cut says that the recording was cut short, or cannot be read to its end: what came behind is
	// not known.
	Cut     bool
	version int // of the format that the run was recorded in
}

// Call is one call of a seam.
type Call struct {
	Begin  *adk.Crossing
	Return *adk.Crossing // nil if the run ends within
	Parent *Call         // the caller; nil for the run
	Owner  *Call         // the nearest run or dispatch above; nil for the run
	Strand string        // the path of its strand
	// Steps are what belongs to it, in order: its operations, the calls below it,
	// events, facts. Middlewares belong to their run or dispatch, and not to the
	// middleware above, so that one more or less moves nobody.
	Steps []*Step
	// Script is what its user code did, in order: its operations, also those made
	// through a handle that was passed on to it.
	Script []*Step

	forks map[string]int // how often each name of a strand was used
}

// Step is one thing that happened in a call.
type Step struct {
	In   *Call
	X    *adk.Crossing // the line; of a spanning operation the first, of a call the call's
	Done *adk.Crossing // the second line of a spanning operation
	// Call is set where the step is a call of a seam below.
	Call *Call
	// Of an operation: the seam calls that it led to, and the events and facts.
	Calls []*Call
	Notes []*adk.Crossing

	rare *rare // nil for most: nearly every crossing is a step
}

// rare is what few steps have.
type rare struct {
	script []*Step
	waits  string
	beside bool
}

// Script is what the reader of an opening did, in order.
func (s *Step) Script() []*Step {
	if s.rare == nil {
		return nil
	}
	return s.rare.script
}

// IsBesideOthers reports whether the call of an operation had another one open meanwhile in its
// strand, as goroutines of user code have.
func (s *Step) IsBesideOthers() bool { return s.rare != nil && s.rare.beside }

// Failed reports whether an operation ended with an error, as a sleep does whose context has ended.
// No operation did not.
func (s *Step) Failed() bool { return s != nil && s.Done != nil && s.Done.Err != nil }

// MadeBefore are the steps before this one in which its call made an id, for nothing but to have it.
func (s *Step) MadeBefore() (made []*Step) {
	for _, other := range s.In.Steps {
		if other.X.Seq < s.X.Seq && wire.OnlyMakes(other.X) && wire.MadeID(other.X) != "" {
			made = append(made, other)
		}
	}
	return made
}

// KeyOf is the key of what code goes on with in a call by a name: the tool, say, of a call of one that it
// reports. It is that of the first crossing of that kind and name which has one; empty where none has.
func (c *Call) KeyOf(x *adk.Crossing) string {
	if x == nil {
		return ""
	}
	for _, s := range c.Steps {
		if s.X.Kind == x.Kind && s.X.Name == x.Name && s.X.Key != "" {
			return s.X.Key
		}
	}
	return ""
}

// Waits is the path of the strand that a step waits for; empty where it waits for none.
func (s *Step) Waits() string {
	if s.rare == nil {
		return ""
	}
	return s.rare.waits
}

// Crossings are those of lines, which they point into.
func Crossings(lines []trace.Line) []*adk.Crossing {
	all := make([]*adk.Crossing, len(lines))
	for i := range lines {
		all[i] = &lines[i].Crossing
	}
	return all
}

// Durations are how long the operations of a run wait, by their numbers.
func Durations(lines []*adk.Crossing) map[int]time.Duration {
	all := map[int]time.Duration{}
	for _, x := range lines {
		if x.Phase == adk.Begin && x.Kind.Uses(adk.FieldDuration) {
			all[x.Op] = x.Duration
		}
	}
	return all
}

// New makes the tree of a run that was recorded in a version of the format,
// or that is held against one.
func New(version int, info adk.RunInfo, lines []trace.Line) *Tree {
	return NewOf(version, info, Crossings(lines))
}

// NewOf is New for crossings that need not stand in one piece of memory. The tree keeps
// the slice.
func NewOf(version int, info adk.RunInfo, crossings []*adk.Crossing) *Tree {
	t := &Tree{Info: info, Lines: crossings, version: version, Calls: map[int]*Call{}, Strands: map[int]string{0: ""}, Opens: map[int]*Step{}}
	b := treeBuilder{Tree: t, ops: map[int]*Step{}, open: map[*Call][]*Step{}, gates: map[string]*Step{}, forks: map[int]*Step{}, stacks: map[int][]*Call{}}
	for _, x := range crossings {
		b.add(x)
	}
	return t
}

// Of is the run of a trace that was read, to be run again: it has what the
// openings of media gave.
func Of(recorded *trace.Trace) *Tree {
	t := New(recorded.Version, recorded.Info, recorded.Lines())
	t.Media = recorded.Openings()
	return t
}

// Version is that of the format which the run was recorded in, or is held against.
func (t *Tree) Version() int { return t.version }

// Last is the last line of a step. What follows a middleware in its pipeline
// begins within it.
func (s *Step) Last() *adk.Crossing {
	switch {
	case s.Done != nil:
		return s.Done
	case s.Call != nil && s.Call.Return != nil && !wire.IsPipeline(s.X.Seam):
		return s.Call.Return
	}
	return s.X
}

// SeamOf is the seam call that a crossing belongs to.
func (t *Tree) SeamOf(x *adk.Crossing) adk.Seam {
	if c := t.Calls[wire.CallOf(x)]; c != nil {
		return c.Begin.Seam
	}
	return x.Seam
}

// inCalledDispatch reports whether a call is of a middleware or an executor of a
// dispatch that user code called, and not of the one of the turn.
func (c *Call) inCalledDispatch() bool {
	return (wire.IsPipeline(c.Begin.Seam) || c.Begin.Seam.Label == adk.LabelExecutor) && c.Owner.Called()
}

// Called reports whether user code called a run or dispatch.
func (c *Call) Called() bool {
	return c != nil && c.Parent != nil && !wire.ByEngine(c.Parent.Begin.Seam)
}

// IsOf reports whether a call is of a seam that is chosen. The middlewares and the
// executor of a dispatch that user code calls are none: they are that code's.
func (c *Call) IsOf(chosen func(adk.Seam) bool) bool {
	return !wire.ByEngine(c.Begin.Seam) && !c.inCalledDispatch() && chosen(c.Begin.Seam)
}

// IsUnder reports whether a call is of a seam that is chosen, or of what such a seam
// brings.
func (c *Call) IsUnder(chosen func(adk.Seam) bool) bool {
	for c != nil && !c.IsOf(chosen) {
		c = c.broughtBy()
	}
	return c != nil
}

// Choice answers IsUnder for all the calls of a run: it looks at each once, however deep
// they are nested. It is not safe for concurrent use.
type Choice struct {
	chosen func(adk.Seam) bool
	known  map[*Call]bool
}

// NewChoice is the choice of the seams that are chosen.
func NewChoice(chosen func(adk.Seam) bool) *Choice { return &Choice{chosen, map[*Call]bool{}} }

// Takes is IsUnder.
func (o *Choice) Takes(c *Call) bool {
	if c == nil {
		return false
	}
	takes, known := o.known[c]
	if !known {
		takes = c.IsOf(o.chosen) || o.Takes(c.broughtBy())
		o.known[c] = takes
	}
	return takes
}

// broughtBy is the call whose code brings the code of this one; nil where that is of a
// seam of its own.
func (c *Call) broughtBy() *Call {
	switch label := c.Begin.Seam.Label; {
	case label == adk.LabelStrand || label == adk.LabelOnAck || label == adk.LabelDispatch:
		return c.Parent
	case c.inCalledDispatch():
		return c.Owner
	}
	return nil
}

// StateBefore is the state that was told before an executor call.
func (t *Tree) StateBefore(call *adk.Crossing) *adk.Crossing {
	for _, x := range slices.Backward(t.Lines[:call.Seq-1]) {
		if wire.TellsState(x) && x.Call == call.Call {
			return x
		}
	}
	return nil
}

// CancelsBefore reports whether a run was cancelled before a crossing.
func (t *Tree) CancelsBefore(seq int) bool {
	return slices.ContainsFunc(t.Lines[:seq-1], wire.IsCancel)
}

// treeBuilder adds the lines one after the other.
type treeBuilder struct {
	*Tree
	ops    map[int]*Step            // the open spanning operations
	open   map[*Call][]*Step        // and the last of those of each call, in the order in which they began
	spare  [][]*Step                // room for such
	reads  []*Step                  // the openings of media that are under way
	ids    map[*adk.Crossing]string // the ids of calls of tools that were asked for
	gates  map[string]*Step         // the waits for the gates that are open
	forks  map[int]*Step            // by the strand
	stacks map[int][]*Call          // the open calls of user code, by strand
	room   []Step                   // for the steps to come
}

func (b *treeBuilder) add(x *adk.Crossing) {
	switch {
	case x.Kind == adk.KindCall:
		b.enter(x)
		return
	case x.Kind == adk.KindReturn:
		b.leave(x)
		return
	}
	c := b.Calls[x.Call]
	if c == nil {
		c = b.Root // a cancel may come before the run's call, and belongs to it
	}
	if c == nil {
		return
	}
	switch x.Kind.Class() {
	case adk.ClassOperation:
		b.operation(c, x)
	case adk.ClassEvent:
		b.event(c, x)
	default:
		b.fact(c, x)
	}
}

func (b *treeBuilder) enter(x *adk.Crossing) {
	parent := b.Calls[x.Call]
	c := &Call{Begin: x, Parent: parent, Strand: b.Strands[x.Strand]}
	b.Calls[x.ID] = c
	if parent == nil {
		b.Root = c
	} else {
		c.Owner = parent
		if !wire.ByEngine(parent.Begin.Seam) {
			c.Owner = parent.Owner
		}
		b.place(c)
	}
	if !wire.ByEngine(x.Seam) {
		b.stacks[x.Strand] = append(b.stacks[x.Strand], c)
	}
}

// place puts a call below what led to it: the owner for middlewares, the
// operation for what an operation calls, the caller for all others.
func (b *treeBuilder) place(c *Call) {
	s := b.step(c.Parent, c.Begin)
	s.Call = c
	switch label := c.Begin.Seam.Label; {
	case wire.IsPipeline(c.Begin.Seam) && c.Owner != nil: // in a damaged trace there may be none
		s.In = c.Owner
	case label == adk.LabelStrand:
		if fork := b.forks[c.Begin.Strand]; fork != nil {
			fork.Calls = append(fork.Calls, c)
			return
		}
	case wire.IsLedTo(c.Begin.Seam):
		if op := b.cause(c); op != nil {
			op.Calls = append(op.Calls, c)
			return
		}
	case label == adk.LabelDispatch && !wire.ByEngine(c.Parent.Begin.Seam):
		b.performed(s)
	}
	s.In.Steps = append(s.In.Steps, s)
}

// cause is the open operation of the caller that led to a call: of several that goroutines
// have begun at once that of its arguments.
func (b *treeBuilder) cause(c *Call) *Step {
	return explains(b.open[c.Parent], func(s *Step) bool {
		return s.X.Strand == c.Begin.Strand && LeadsTo(s.X, c.Begin)
	}, func(s *Step) bool {
		return len(s.Calls) == 0 && (!wire.RunsTool(s.X) || s.told(wire.ToolBegins) != nil) // which is told before
	}, func(s *Step) bool {
		if wire.RunsTool(s.X) {
			return b.haveOneID(s.X, c.Begin)
		}
		return HasArguments(s.X, c.Begin)
	})
}

// explains picks the step that a call belongs to: of those that may, those for which the most
// hints hold, and of these the last; nil if none may.
func explains(steps []*Step, may func(*Step) bool, says ...func(*Step) bool) (best *Step) {
	var room [4]*Step
	able := room[:0]
	for _, s := range steps {
		if may(s) {
			able = append(able, s)
		}
	}
	for _, is := range says {
		if len(able) < 2 {
			break
		}
		if some := slices.DeleteFunc(slices.Clone(able), func(s *Step) bool { return !is(s) }); len(some) > 0 {
			able = some
		}
	}
	if len(able) == 0 {
		return nil
	}
	return able[len(able)-1]
}

// LeadsTo reports whether an operation can call a seam.
func LeadsTo(op, call *adk.Crossing) bool {
	label := op.Kind.LeadsTo()
	switch {
	case label != call.Seam.Label:
		return false
	case label == adk.LabelTool:
		return call.Seam.Name == safetext.ToolName(op.Record)
	case label == adk.LabelStorage:
		return call.Seam.Name == string(op.Collection)+"."+op.Kind.String()
	}
	return true
}

// HasArguments reports whether a call is made with what the operation was that leads to it.
func HasArguments(op, call *adk.Crossing) bool {
	return op.Key == call.Key && (op.Record == nil || call.Record == nil || wire.SameRecord(op.Record, call.Record)) && sameArgs(op, call)
}

// AreEqual reports whether two operations that lead to calls do the same.
func AreEqual(a, b *adk.Crossing) bool {
	return a.Kind == b.Kind && a.Collection == b.Collection && a.Key == b.Key && wire.SameRecord(a.Record, b.Record) && sameArgs(a, b)
}

// sameArgs reports whether two crossings have the same arguments, as data or as the text of it.
func sameArgs(a, b *adk.Crossing) bool {
	if a.Args == nil || b.Args == nil {
		return a.Args == nil && b.Args == nil
	}
	one, err := asObject(a.Args)
	other, otherErr := asObject(b.Args)
	return err == nil && otherErr == nil && plain.Equal(one, other)
}

func asObject(args any) (map[string]any, error) {
	if object, ok := args.(map[string]any); ok {
		return object, nil
	}
	return canonical.Object(args)
}

// step makes a step, one of many that are made at once.
func (b *treeBuilder) step(in *Call, x *adk.Crossing) *Step {
	if len(b.room) == 0 {
		b.room = make([]Step, min(stepsAtOnce, len(b.Lines)))
	}
	s := &b.room[0]
	b.room = b.room[1:]
	s.In, s.X = in, x
	return s
}

// stepsAtOnce is how many steps are made at a time: nearly every crossing is one.
const stepsAtOnce = 32

// performed adds a step to the script of the user code that is running in its strand. That
// is who was called last, also where it has the handle of somebody above. Who is not above it
// runs beside it, on a goroutine that user code has begun; so does who calls a sub-agent while
// another one of its own is at work.
func (b *treeBuilder) performed(s *Step) {
	stack := b.stacks[s.X.Strand]
	if len(stack) == 0 { // the handle of a strand that has ended, or never began
		if s.In != nil && !wire.ByEngine(s.In.Begin.Seam) {
			s.In.Script = append(s.In.Script, s)
		}
		return
	}
	by := stack[len(stack)-1]
	if own := b.Calls[s.X.Call]; own != by && slices.Contains(stack, own) && (wire.IsDispatched(s.X) || !by.isBelow(own)) {
		by = own
	}
	if open := b.reading(by); open != nil {
		if open.rare == nil {
			open.rare = &rare{}
		}
		open.rare.script = append(open.rare.script, s)
		return
	}
	by.Script = append(by.Script, s)
}

// isBelow reports whether a call is made within another.
func (c *Call) isBelow(above *Call) bool {
	for c != nil && c != above {
		c = c.Parent
	}
	return c != nil
}

// reading is the innermost opening of a media that is under way since a call
// began: what happens in its strand is the reader's doing.
func (b *treeBuilder) reading(since *Call) (innermost *Step) {
	for _, s := range b.reads {
		if s.X.Strand == since.Begin.Strand && s.X.Seq > since.Begin.Seq &&
			(innermost == nil || s.X.Seq > innermost.X.Seq) {
			innermost = s
		}
	}
	return innermost
}

func (b *treeBuilder) leave(x *adk.Crossing) {
	c := b.Calls[x.ID]
	if c == nil {
		return
	}
	c.Return = x
	delete(b.ids, c.Begin)
	stack := b.stacks[x.Strand]
	for i := len(stack) - 1; i >= 0; i-- {
		if stack[i] == c {
			b.stacks[x.Strand] = append(stack[:i:i], stack[i+1:]...)
			break
		}
	}
}

func (b *treeBuilder) operation(c *Call, x *adk.Crossing) {
	if wire.Awaits(x) && b.version < wire.VersionOfWait { // it is no step where that is told all the same
		return
	}
	if x.Phase == adk.Done {
		if s := b.ops[x.Op]; s != nil {
			b.ends(s, x)
			if wire.EndsAsk(x) {
				b.performed(b.step(c, x))
			}
		}
		return
	}
	s := b.step(c, x)
	c.Steps = append(c.Steps, s)
	b.performed(s)
	if x.Phase == adk.Begin {
		b.begins(s)
	}
	switch {
	case wire.OpensMedia(x):
		b.Opens[x.Op] = s
	case wire.AsksForGate(x):
		if b.gates[x.Name] == nil { // a second one of the id does not open (GAT-5)
			b.gates[x.Name] = s
		}
	case wire.Awaits(x):
		s.rare = &rare{waits: b.Strands[x.ID]}
	case wire.Forks(x):
		b.forks[x.ID] = s
		path := x.Name
		if above := c.Strand; above != "" {
			path = above + "/" + x.Name
		}
		if n := c.forks[x.Name]; n > 0 {
			path += "#" + strconv.Itoa(n)
		}
		if c.forks == nil {
			c.forks = map[string]int{}
		}
		c.forks[x.Name]++
		b.Strands[x.ID] = path
	}
}

// near is among how many what an event or a call is of is looked for.
const near = 32

func (b *treeBuilder) begins(s *Step) {
	b.ops[s.X.Op] = s
	if wire.OpensMedia(s.X) {
		b.reads = append(b.reads, s)
	}
	of, ok := b.open[s.In]
	if n := len(b.spare); !ok && n > 0 {
		of, b.spare = b.spare[n-1], b.spare[:n-1]
	}
	if len(of) == near {
		of = slices.Delete(of, 0, 1)
	}
	b.open[s.In] = append(of, s)
}

// besideOthers notes of an operation and of those that are open as it ends that goroutines were at
// work: one of them blocked whoever began it as the other began.
func besideOthers(s *Step, open []*Step) {
	for _, other := range open {
		first, second := other, s
		if s.X.Seq < other.X.Seq {
			first, second = s, other
		}
		if other == s || first.X.Strand != second.X.Strand || !first.blocksUntil(second.X.Seq) {
			continue
		}
		for _, one := range []*Step{s, other} {
			if one.rare == nil {
				one.rare = &rare{}
			}
			one.rare.beside = true
		}
	}
}

// blocksUntil reports whether whoever began an operation can have done nothing else before a
// crossing: one that leads to a call, or of whose answer there is a piece, goes on in user code.
func (s *Step) blocksUntil(seq int) bool {
	return wire.IsPause(s.X) || s.IsAsk() && (len(s.Notes) == 0 || s.Notes[0].Seq > seq)
}

// ends ends an operation. Which of several that go on at once an event or a call is of is not
// told: the one that is over now is one that can be.
func (b *treeBuilder) ends(s *Step, done *adk.Crossing) {
	s.Done = done
	delete(b.ops, done.Op)
	b.reads = state.Without(b.reads, s)
	of := b.open[s.In]
	besideOthers(s, of)
	if label := s.X.Kind.LeadsTo(); len(of) > 1 && (label == adk.LabelTool || label == adk.LabelStorage) {
		b.exchange(s, of)
	}
	delete(b.ids, s.X)
	at := slices.Index(of, s)
	if at < 0 {
		return // many began behind it
	}
	if of = slices.Delete(of, at, at+1); len(of) > 0 {
		b.open[s.In] = of
		return
	}
	delete(b.open, s.In)
	b.spare = append(b.spare, of)
}

// exchange swaps what two equal operations were thought to have led to, where this one cannot
// have ended so: all of that of an equal one, and of one that came back as well
// the event of that.
func (b *treeBuilder) exchange(s *Step, open []*Step) {
	if !s.cameBack(s.Done) {
		for _, other := range open {
			if other != s && other.cameBack(s.Done) && b.areEqual(s, other) {
				s.Calls, other.Calls = other.Calls, s.Calls
				s.Notes, other.Notes = other.Notes, s.Notes
				break
			}
		}
	}
	if !wire.RunsTool(s.X) || !s.hasReturned() || s.told(wire.ToolEnds) != nil {
		return
	}
	for _, other := range open {
		if told := other.told(wire.ToolEnds); told != nil && other.hasReturned() {
			other.Notes = state.Without(other.Notes, told)
			s.Notes = append(s.Notes, told)
			return
		}
	}
}

// cameBack reports whether what an operation led to returned, and failed if the operation
// did; one that led to nothing has failed.
func (s *Step) cameBack(done *adk.Crossing) bool {
	if len(s.Calls) == 0 {
		return done.Err != nil
	}
	return s.hasReturned() && s.hasFailed() == (done.Err != nil)
}

func (s *Step) hasReturned() bool { return len(s.Calls) > 0 && s.Calls[0].Return != nil }

func (s *Step) hasFailed() bool { return s.Calls[0].Return.Outcome != adk.OutcomeOK }

func (b *treeBuilder) areEqual(s, other *Step) bool {
	if wire.RunsTool(s.X) && wire.RunsTool(other.X) {
		return b.haveOneID(s.X, other.X)
	}
	return AreEqual(s.X, other.X)
}

func (b *treeBuilder) haveOneID(one, other *adk.Crossing) bool {
	id := b.callID(one)
	return id != "" && id == b.callID(other)
}

// callID is that of an execution, or of the call of a tool; empty where its arguments are
// refused. It is made once: the arguments may be long.
func (b *treeBuilder) callID(x *adk.Crossing) string {
	id, known := b.ids[x]
	if known {
		return id
	}
	tool := x.Seam.Name
	if wire.RunsTool(x) {
		tool = safetext.ToolName(x.Record)
	}
	if args, err := canonical.Object(x.Args); err == nil {
		id, _ = canonical.Checksum(tool, args)
	}
	if b.ids == nil {
		b.ids = map[*adk.Crossing]string{}
	}
	b.ids[x] = id
	return id
}

// caused are the kinds of events that operations cause; the engine tells the others of
// its own course.
var caused = causedEvents()

func causedEvents() map[adk.Kind]bool {
	events := map[adk.Kind]bool{}
	for _, kind := range adk.Kinds() {
		for _, event := range kind.Causes() {
			events[event] = true
		}
	}
	return events
}

// event adds an event to the operation that caused it: the last of its strand, or another one
// where goroutines have begun several at once.
func (b *treeBuilder) event(c *Call, x *adk.Crossing) {
	if caused[x.Kind] {
		for i := len(c.Steps) - 1; i >= 0; i-- {
			s := c.Steps[i]
			if s.X.Kind.Class() != adk.ClassOperation || s.X.Strand != x.Strand {
				continue
			}
			if !s.causes(x) || len(b.open[c]) > 1 {
				s = cmp.Or(b.causeOf(x, c.Steps[:i+1]), s)
			}
			s.Notes = append(s.Notes, x)
			return
		}
	}
	c.Steps = append(c.Steps, b.step(c, x))
}

// causes reports whether an operation may cause an event.
func (s *Step) causes(x *adk.Crossing) bool {
	return s.X.Strand == x.Strand && slices.Contains(s.X.Kind.Causes(), x.Kind) &&
		s.told(func(told *adk.Crossing) bool { return told.Kind == x.Kind }) == nil
}

// told is the first of the notes of a step that is of a kind: a step of a good run has few.
func (s *Step) told(is func(*adk.Crossing) bool) *adk.Crossing {
	for _, x := range s.Notes[:min(len(s.Notes), near)] {
		if is(x) {
			return x
		}
	}
	return nil
}

// causeOf is the operation that caused an event, of those that are open, or are told in one
// line and were made just before; nil if none can have.
func (b *treeBuilder) causeOf(x *adk.Crossing, before []*Step) *Step {
	for _, s := range slices.Backward(before[max(0, len(before)-near):]) {
		if !s.X.Kind.Spanning() && s.causes(x) {
			return s
		}
	}
	return explains(b.open[before[0].In], func(s *Step) bool { return s.causes(x) },
		func(s *Step) bool { return x.Name == s.X.Name },
		func(s *Step) bool {
			if wire.ToolBegins(x) {
				return wire.RunsTool(s.X) && b.callID(s.X) == x.Key
			}
			return s.hasReturned()
		},
		func(s *Step) bool { return !wire.ToolEnds(x) || s.hasReturned() && s.hasFailed() == x.IsError })
}

func (b *treeBuilder) fact(c *Call, x *adk.Crossing) {
	switch {
	case wire.IsSettlement(x):
		if s := b.gates[x.Name]; s != nil {
			s.Notes = append(s.Notes, x)
			if wire.Settles(x) {
				delete(b.gates, x.Name)
			}
			return
		}
	case wire.IsPiece(x):
		if s := b.ops[x.Op]; s != nil {
			s.Notes = append(s.Notes, x)
			b.performed(b.step(c, x))
			return
		}
	case wire.IsTimer(x):
		if s := b.ops[x.N]; s != nil {
			s.Notes = append(s.Notes, x)
			return
		}
	}
	s := b.step(c, x)
	c.Steps = append(c.Steps, s)
	if wire.IsMisuse(x) {
		b.performed(s)
	}
}

// IsShared reports whether a step changes or uses what strands share: these keep
// the recorded order, so that a turn is the same whichever strand is faster.
func IsShared(kind adk.Kind) bool {
	if kind.Class() != adk.ClassOperation {
		return false
	}
	switch kind.Touches() {
	case adk.TouchHandles, adk.TouchReading, adk.TouchWriting, adk.TouchStream:
		return true
	}
	return false
}

// Shares is IsShared for a recorded crossing; so does a dispatch that user code
// calls: it begins with copies of what its caller sees, and flushes to it (DSP-9,
// DEL-2).
func (t *Tree) Shares(x *adk.Crossing) bool {
	if x.Kind == adk.KindCall || wire.EndsIteration(x) || wire.EndsDispatch(x) {
		c := t.Calls[wire.CallOf(x)]
		return c != nil && c.Begin.Seam.Label == adk.LabelDispatch && c.Called()
	}
	return IsShared(x.Kind)
}

// GateID is the id of the gate that a recorded crossing may take or give free: a wait
// asks for it, and a settlement lets the next one have it (GAT-5). Of others it is empty.
func GateID(x *adk.Crossing) string {
	if wire.AsksForGate(x) || wire.Settles(x) {
		return x.Name
	}
	return ""
}

// Settlement is the last settlement of the gate that a step waited for; nil if there is
// none, or no step.
func (s *Step) Settlement() *adk.Crossing { return s.note(wire.IsSettlement) }

// Timer is the timer that woke a step; nil if none did, or there is no step.
func (s *Step) Timer() *adk.Crossing { return s.note(wire.IsTimer) }

func (s *Step) note(is func(*adk.Crossing) bool) (last *adk.Crossing) {
	if s != nil {
		for _, x := range s.Notes {
			if is(x) {
				last = x
			}
		}
	}
	return last
}

// IsAsk reports whether a step asks the world.
func (s *Step) IsAsk() bool { return wire.Asks(s.X) }

// LeftOpen reports whether a step is an ask that nobody had ended when its seam call
// returned.
func (s *Step) LeftOpen() bool {
	return s.IsAsk() && s.Done != nil && errors.Is(s.Done.Err, adk.E_CONTEXT_ENDED)
}

// LeftBehind reports whether two asks were handed as much of their answers, and one of
// them was over because its seam call was. Clients read on goroutines of their own: that
// the end was still read in the one run, and not in the other, is nobody's deed.
func LeftBehind(a, b *Step) bool {
	return a.Done != nil && b.Done != nil && (a.LeftOpen() || b.LeftOpen()) && len(a.Notes) == len(b.Notes)
}

// Unanswered reports whether a step is a call without an answer, or led to one.
func (s *Step) Unanswered(missed map[int]bool) bool {
	if s.Call != nil {
		return missed[s.Call.Begin.ID]
	}
	return slices.ContainsFunc(s.Calls, func(c *Call) bool { return missed[c.Begin.ID] })
}

// Size is how many crossings a step and what is below it are.
func (s *Step) Size() int {
	if s.Call != nil {
		return s.Call.Size()
	}
	n := 1 + len(s.Notes)
	if s.Done != nil {
		n++
	}
	for _, c := range s.Calls {
		n += c.Size()
	}
	return n
}

// Size is how many lines a call has, with all below it.
func (c *Call) Size() int {
	n := 1
	if c.Return != nil {
		n++
	}
	for _, s := range c.Steps {
		n += s.Size()
	}
	return n
}

// AckHandler is a recorded on-ack handler, by the call that registered it, which also
// takes it off: each dispatch numbers its own.
type AckHandler struct{ Call, ID int }

// AckHandlerOf is the handler that a crossing registers or takes off.
func AckHandlerOf(x *adk.Crossing) AckHandler { return AckHandler{x.Call, x.ID} }

// RunCall is the number of the call that is the run itself.
const (
	RunCall      = 1
	LineOfHeader = 1
	LineOfFirst  = 2
)

// StepOf is the operation of which a crossing is a line; nil if it is of none.
func (t *Tree) StepOf(x *adk.Crossing) *Step {
	c := t.Calls[x.Call]
	if c == nil || x.Kind.Class() != adk.ClassOperation {
		return nil
	}
	if x.Phase == adk.Done {
		if at := slices.IndexFunc(c.Steps, func(s *Step) bool { return s.Done == x }); at >= 0 {
			return c.Steps[at]
		}
		return nil
	}
	at, found := slices.BinarySearchFunc(c.Steps, x.Seq, func(s *Step, seq int) int { return s.X.Seq - seq })
	if !found {
		return nil
	}
	return c.Steps[at]
}

// Next is what user code did next in a call behind a crossing, but for what makes an id or a time
// and pieces of an answer, or how the call ended; nil where there is neither.
func (c *Call) Next(behind int) *adk.Crossing {
	for _, s := range c.Script {
		if s.X.Seq > behind && s.X.Phase != adk.Done && !wire.OnlyMakes(s.X) && !wire.IsPiece(s.X) {
			return s.X
		}
	}
	return c.Return
}

// OperationOf is the operation that a crossing of the tree is of, or came of; nil where there is
// none.
func (t *Tree) OperationOf(x *adk.Crossing) *adk.Crossing {
	if s := t.StepOf(x); s != nil {
		return s.X
	}
	call := t.Calls[x.Call]
	switch {
	case wire.IsDispatched(x):
		return x
	case call == nil || x.Kind == adk.KindReturn:
		return nil
	}
	for _, s := range call.Steps {
		if slices.Contains(s.Notes, x) || slices.ContainsFunc(s.Calls, func(c *Call) bool { return c.Begin == x }) {
			return s.X
		}
	}
	return nil
}
